package builtin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSandbox(t *testing.T) {
	needShell(t)
	boxes := map[string]func() (Sandbox, error){
		"landlock":   Landlock,
		"bubblewrap": func() (Sandbox, error) { return Bubblewrap(t.Context(), "") },
	}
	for name, open := range boxes {
		t.Run(name, func(t *testing.T) {
			box, err := open()
			if err != nil {
				t.Skip(err)
			}
			testSandbox(t, name, box)
		})
	}
}

func testSandbox(t *testing.T, name string, box Sandbox) {
	// The directory for temporary files is open to commands, and tests live there.
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(filepath.Dir(os.Getenv("TMPDIR")), "out")
	require.NoError(t, os.Mkdir(out, 0o777))
	b := newBench(t, "-- a.txt --\nalpha\n", Config{Bash: BashConfig{Sandbox: box}})
	t.Setenv("OUT", out)

	res, err := b.run("bash", in{"command": "echo x > made && cat made a.txt && echo y > $TMPDIR/t"})
	require.NoError(t, err)
	assert.Equal(t, "x\nalpha", res.Metadata["output"])
	assert.Equal(t, name, res.Metadata["sandbox"].(map[string]any)["method"])
	assert.Equal(t, true, res.Metadata["sandbox"].(map[string]any)["write"])

	// A word that nobody knew before leads nowhere.
	res, err = b.run("bash", in{"command": `d=$(dirname "$TMPDIR")/out; echo x > "$d/f"`})
	require.NoError(t, err)
	assert.NotEqual(t, 0, res.Metadata["exit"])
	assert.NoFileExists(t, filepath.Join(out, "f"))

	// What was asked about and allowed may be written.
	b.ok("bash", in{"command": "echo x > " + out + "/f"})
	assert.FileExists(t, filepath.Join(out, "f"))

	// What is left running is known, and ends with the toolset.
	text := b.ok("bash", in{"command": "sleep 60 & echo hi"})
	assert.Contains(t, text, "hi\n[exit 0, ")
	assert.Contains(t, text, "left running as job_1")
	assert.Contains(t, b.ok("job_kill", in{"job": "job_1"}), "job_1: ")
	start := time.Now()
	assert.Contains(t, b.ok("bash", in{"command": "trap '' TERM; echo start; sleep 60", "timeout": 500}), "start\n[timed out after")
	assert.Less(t, time.Since(start), hang)

	// What cannot be enforced is not run.
	if name == "landlock" {
		b = newBench(t, "", Config{Bash: BashConfig{Sandbox: box, SandboxPolicy: SandboxPolicy{Network: NetworkNone}}})
		assert.Contains(t, b.fails("bash", in{"command": "touch made"}), "the network")
		assert.NoFileExists(t, b.path("made"))
	}
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
