package tooltest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agenttool/tool"
	"golang.org/x/tools/txtar"
)

// NewCall returns a call of the named tool with ids filled in. input is the
// arguments: a string, []byte or json.RawMessage is taken as JSON text, anything
// else is marshalled. It panics if that fails.
func NewCall(name string, input any) *tool.Call {
	c := &tool.Call{ID: "call_1", Tool: name, SessionID: "session_1", MessageID: "message_1"}
	switch in := input.(type) {
	case nil:
	case string:
		c.Input = json.RawMessage(in)
	case []byte:
		c.Input = in
	case json.RawMessage:
		c.Input = in
	default:
		b, err := json.Marshal(in)
		if err != nil {
			panic(fmt.Sprintf("tooltest: input of %s: %v", name, err))
		}
		c.Input = b
	}
	return c
}

// Workspace writes the files of a txtar archive below a new temporary directory
// and returns it. The directory is removed when the test ends. An empty archive
// gives an empty directory.
func Workspace(tb testing.TB, archive string) string {
	tb.Helper()
	dir := tb.TempDir()
	// Symbolic links in the temporary directory's own path would make a
	// resolved name differ from the one that is returned.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	defer root.Close()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.FromSlash(f.Name)
		if d := filepath.Dir(name); d != "." {
			if err := root.MkdirAll(d, 0o777); err != nil {
				tb.Fatal(err)
			}
		}
		if err := root.WriteFile(name, f.Data, 0o666); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
