//go:build unix

package shellscan

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Scripts of sed and awk that are taken for harmless run nothing and write nothing. SHELLSCAN_BASHDIFF is how long to try.
func TestNothingHiddenInScripts(t *testing.T) {
	limit, tries, seed := time.Minute, 1500, uint64(1)
	if env := os.Getenv("SHELLSCAN_BASHDIFF"); env != "" {
		if !sealed() {
			t.Skip("nothing here keeps random scripts from the rest of the system: run this as nobody, in a namespace")
		}
		d, err := time.ParseDuration(env)
		require.NoError(t, err)
		limit, tries, seed = d, 1<<40, uint64(time.Now().UnixNano())
	}
	base, err := os.MkdirTemp("", "shellscan")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	dir, bin := filepath.Join(base, "work"), filepath.Join(base, "bin")
	for _, d := range []string{dir, bin} {
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.Chmod(d, 0o777))
	}
	require.NoError(t, os.Chmod(base, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "marker"), []byte("#!/bin/sh\n: > "+dir+"/hit\n"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(bin, "marker"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "input"), []byte("marker\nmarker 2\n"), 0o644))

	pieces := map[string][]string{
		"sed": {"s", "/", "/", "/", "|", "e", "e", "w", "x", "p", "d", "1", ",", "$", "!", ";", "{", "}", "\n", "\\", "[", "]", "a", "marker", " ", "y", "r", "i", "c", "g", "I", "M", "2", "n", "N", "b", ":", "t", "#", "^", ".*", "s/x/y/", "1e marker", "w hit", "s/m/m/e", "&", "=", "~", "+", "-", "%", "z", "F", "W hit", "q", "0"},
		"awk": {"{", "}", "system(\"marker\")", "print", "|", "\"marker\"", ">", "\"hit\"", "/", "/", "(", ")", ";", "\n", "x", "=", "1", "getline", "\"", "\\", "[", "]", "BEGIN", "a", "+", " ", "if", ",", "$1", "&&", "||", "!", "~", "#", "?", ":", "function f()", "f()", "printf", "END", "-", "*", "^", "marker", "|&", ">>", "print > \"hit\"", "\"marker\" | getline"},
	}
	for _, tool := range []string{"sed", "awk"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Logf("no %s", tool)
			continue
		}
		start, ran, made := time.Now(), 0, 0
		for ; made < tries && time.Since(start) < limit; made++ {
			r := rand.New(rand.NewPCG(seed, uint64(made)))
			var b strings.Builder
			for range 1 + r.IntN(12) {
				b.WriteString(pieces[tool][r.IntN(len(pieces[tool]))])
			}
			script := b.String()
			harmlessOne := false
			if tool == "awk" {
				harmlessOne = harmlessAwk(script)
			} else {
				s := sedScanner{text: script}
				s.run()
				harmlessOne = !s.bad && len(s.files) == 0
			}
			if !harmlessOne || tool == "awk" && r.IntN(3) > 0 {
				continue
			}
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			cmd := exec.CommandContext(ctx, path, script, filepath.Join(base, "input"))
			cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{"PATH=" + bin}, 100*time.Millisecond
			harmless(cmd)
			_ = cmd.Run()
			cancel()
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, f := range left {
				t.Errorf("%s %q makes %s (seed %d, %d)", tool, script, f.Name(), seed, made)
				require.NoError(t, os.RemoveAll(filepath.Join(dir, f.Name())))
			}
		}
		t.Logf("%s: %d scripts, %d run", tool, made, ran)
	}
}
