package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lookup(env []string, name string) (string, bool) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func TestEnviron(t *testing.T) {
	sep := string(os.PathListSeparator)
	abs := func(p string) string {
		if runtime.GOOS == "windows" {
			return `C:` + filepath.FromSlash(p)
		}
		return p
	}
	project := t.TempDir()
	base := []string{
		"HOME=/home/u", "GOCACHE=/c", "EDITOR=vim", "CI=true", "GIT_AUTHOR_NAME=Me", "GIT_CONFIG_GLOBAL=/g", "SSH_AUTH_SOCK=/s", "EMPTY=", "ODD", "=X",
		"PATH=" + strings.Join([]string{abs("/usr/bin"), "", ".", "rel/bin", filepath.Join(project, "bin"), abs("/bin")}, sep),
		"BASH_ENV=/x", "BASH_FUNC_ls%%=() { evil; }", "FN=() { evil; }", "LD_PRELOAD=/x.so", "PS4=$(evil)", "PYTHONSTARTUP=/x", "CDPATH=/", "IFS=x", "ENV=/x",
		"OPENAI_API_KEY=x", "GITHUB_TOKEN=x", "DB_PASSWORD=x", "AWS_SECRET_ACCESS_KEY=x", "DATABASE_URL=x", "GOOGLE_APPLICATION_CREDENTIALS=/x",
		"CUSTOM=sk-abcdefghijklmnopqrstuv", "MIRROR=https://user:secret@host/x", "DOCS=https://host:80/a@b", "JWT=eyJhbGci.eyJzdWIi.c2ln", "SK=sk-short",
		"GH_TOKEN=keep-me", "GIT_SSH_COMMAND=ssh -i k", "TERM=xterm", "no_color=0",
	}
	env, removed := Environ(&EnvOptions{Base: base, Keep: []string{"gh_token", "LD_PRELOAD"}, Drop: []string{"EDI*"}, Set: []string{"ADDED=1", "TERM=vt100", "ADDED=2"}, Roots: []string{project}})
	for name, want := range map[string]string{
		"HOME": "/home/u", "GOCACHE": "/c", "CI": "true", "GIT_AUTHOR_NAME": "Me", "GIT_CONFIG_GLOBAL": "/g", "SSH_AUTH_SOCK": "/s", "EMPTY": "",
		"PATH": abs("/usr/bin") + sep + abs("/bin"), "DOCS": "https://host:80/a@b", "SK": "sk-short", "GH_TOKEN": "keep-me",
		"GIT_SSH_COMMAND": "ssh -i k", "TERM": "vt100", "ADDED": "2", "NO_COLOR": "1", "PAGER": "cat", "SYSTEMD_PAGER": "", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false",
	} {
		got, ok := lookup(env, name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"BASH_ENV", "BASH_FUNC_ls%%", "FN", "LD_PRELOAD", "PS4", "PYTHONSTARTUP", "CDPATH", "IFS", "ENV", "OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY",
		"DATABASE_URL", "GOOGLE_APPLICATION_CREDENTIALS", "CUSTOM", "MIRROR", "JWT", "EDITOR"} {
		_, ok := lookup(env, name)
		assert.False(t, ok, name)
		assert.Contains(t, removed, name)
	}
	assert.NotContains(t, removed, "HOME")
	seen := map[string]bool{}
	for _, kv := range env {
		name, _, ok := cutVar(kv)
		require.True(t, ok, kv)
		require.False(t, seen[key(name)], "twice: %s", name)
		seen[key(name)] = true
	}

	env, _ = Environ(&EnvOptions{Base: base, Mode: EnvMinimal, KeepPath: true, Keep: []string{"EDITOR"}, Roots: []string{project}})
	path, _ := lookup(env, "PATH")
	assert.Contains(t, path, project)
	for name, there := range map[string]bool{"HOME": true, "GOCACHE": true, "EDITOR": true, "SSH_AUTH_SOCK": false, "DOCS": false, "TERM": true, "GIT_AUTHOR_NAME": true, "BASH_ENV": false} {
		_, ok := lookup(env, name)
		assert.Equal(t, there, ok, name)
	}
	env, _ = Environ(&EnvOptions{Base: []string{"A=1"}})
	ssh, _ := lookup(env, "GIT_SSH_COMMAND")
	assert.Equal(t, "ssh -o BatchMode=yes", ssh)
	env, _ = Environ(&EnvOptions{Base: []string{"A=1\x00B=2"}, Set: []string{"C=\x00", "bad"}})
	_, ok := lookup(env, "A")
	assert.False(t, ok, "the system refuses NUL")
}

// A directory of the project on PATH by another name is found as well.
func TestEnvironPathThroughLink(t *testing.T) {
	project := t.TempDir()
	bin := filepath.Join(project, "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(bin, link); err != nil {
		t.Skip(err)
	}
	env, _ := Environ(&EnvOptions{Base: []string{"PATH=" + link}, Roots: []string{project}})
	path, _ := lookup(env, "PATH")
	assert.Empty(t, path)
}

func TestWildcard(t *testing.T) {
	for _, tc := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"*", "", true}, {"A", "A", true}, {"A", "AB", false}, {"*_TOKEN", "GH_TOKEN", true}, {"*_TOKEN", "_TOKENS", false},
		{"A*B*C", "AxxBxxBC", true}, {"A*B", "A", false}, {"**", "x", true}, {"*A*A*A*", strings.Repeat("B", 1000), false},
	} {
		assert.Equal(t, tc.want, wildcard(tc.pattern, tc.s), "%s %s", tc.pattern, tc.s)
	}
}
