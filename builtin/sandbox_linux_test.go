package builtin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSandbox(t *testing.T) {
	needShell(t)
	box, err := Landlock()
	if err != nil {
		t.Skip(err)
	}
	// The directory for temporary files is open to commands, and tests live there.
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(filepath.Dir(os.Getenv("TMPDIR")), "out")
	require.NoError(t, os.Mkdir(out, 0o777))
	b := newBench(t, "-- a.txt --\nalpha\n", Config{Bash: BashConfig{Sandbox: box}})
	t.Setenv("OUT", out)

	res, err := b.run("bash", in{"command": "echo x > made && cat made a.txt && echo y > $TMPDIR/t"})
	require.NoError(t, err)
	assert.Equal(t, "x\nalpha", res.Metadata["output"])
	assert.Equal(t, "landlock", res.Metadata["sandbox"].(map[string]any)["method"])
	assert.Equal(t, true, res.Metadata["sandbox"].(map[string]any)["write"])

	// A word that nobody knew before leads nowhere.
	res, err = b.run("bash", in{"command": `d=$(dirname "$TMPDIR")/out; echo x > "$d/f"`})
	require.NoError(t, err)
	assert.NotEqual(t, 0, res.Metadata["exit"])
	assert.NoFileExists(t, filepath.Join(out, "f"))

	// What was asked about and allowed may be written.
	b.ok("bash", in{"command": "echo x > " + out + "/f"})
	assert.FileExists(t, filepath.Join(out, "f"))

	// What cannot be enforced is not run.
	b = newBench(t, "", Config{Bash: BashConfig{Sandbox: box, SandboxPolicy: SandboxPolicy{Network: NetworkNone}}})
	assert.Contains(t, b.fails("bash", in{"command": "touch made"}), "the network")
	assert.NoFileExists(t, b.path("made"))
}

// noBox starts nothing.
type noBox struct{}

func (noBox) Start(context.Context, *exec.Cmd, *SandboxPolicy) (*SandboxEnforced, error) {
	return nil, ErrNoSandbox
}

func TestSandboxFails(t *testing.T) {
	needShell(t)
	b := newBench(t, "", Config{Bash: BashConfig{Sandbox: noBox{}}})
	assert.Contains(t, b.fails("bash", in{"command": "touch made"}), "sandbox: ")
	assert.NoFileExists(t, b.path("made"))
}
