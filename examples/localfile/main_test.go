package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), &out))
	assert.Equal(t, `> read_local_file notes.txt
read notes.txt? once
ok: milk
bread
> read_local_file ../secret.txt
error: ../secret.txt is not shared: only files of one directory are
> read_local_file none.txt
error: there is no file none.txt in the shared directory
> read_local_file diary.txt
read diary.txt? reject
error: Permission denied: read diary.txt. The user rejected this and said: Not my diary. Do not repeat the same call; choose another way or ask the user.
`, out.String())
}

// What the client does not give away.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	shared := filepath.Join(dir, "shared")
	require.NoError(t, os.Mkdir(shared, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "large"), []byte(strings.Repeat("x", maxFile+1)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "binary"), []byte("\xff\x00"), 0o600))
	names := []string{"large", "binary", "../secret", filepath.Join(dir, "secret"), ".", ""}
	if os.Symlink(filepath.Join(dir, "secret"), filepath.Join(shared, "link")) == nil {
		names = append(names, "link")
	}
	root, err := os.OpenRoot(shared)
	require.NoError(t, err)
	defer root.Close()
	for _, name := range names {
		call := tooltest.NewCall("read_local_file", map[string]string{"path": name})
		call.Bind(tool.Runtime{Approver: tooltest.AllowAll{}})
		res, err := readFile(root).Run(t.Context(), call)
		assert.Error(t, err, name)
		if res != nil {
			assert.NotContains(t, res.Text, "secret")
		}
	}
}
