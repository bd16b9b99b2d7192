//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/truncate"
)

func TestFindShell(t *testing.T) {
	t.Setenv("SHELL", "/bin/fish")
	sh := shell(t)
	assert.True(t, filepath.IsAbs(sh.Path))
	assert.Contains(t, []Dialect{Bash, POSIX}, sh.Dialect)

	sh, err := FindShell("/bin/sh")
	require.NoError(t, err)
	assert.Equal(t, &Shell{Path: "/bin/sh", Dialect: POSIX}, sh)
	_, err = FindShell("/no/such/shell")
	require.ErrorIs(t, err, ErrNoShell)

	// No shell from a directory that PATH names relatively.
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bash"), []byte("#!/bin/sh\n"), 0o700))
	t.Chdir(dir)
	t.Setenv("PATH", ".")
	sh, err = FindShell("")
	if err == nil {
		assert.NotContains(t, sh.Path, dir)
	}
}

// Nothing that the environment of the host says changes what the shell runs.
func TestShellIgnoresEnvironment(t *testing.T) {
	sh := shell(t)
	if sh.Dialect != Bash {
		t.Skip("no bash")
	}
	rc := filepath.Join(t.TempDir(), "rc")
	require.NoError(t, os.WriteFile(rc, []byte("echo from rc\n"), 0o600))
	spec := command(t, "ls() { command ls \"$@\"; }; unset -f ls; cd / && type cd | head -n 1; echo ok")
	spec.Env = []string{"PATH=" + os.Getenv("PATH"), "BASH_ENV=" + rc, "ENV=" + rc, "BASH_FUNC_cd%%=() { echo evil; }", "CDPATH=/usr", "HOME=" + filepath.Dir(rc), "SHELLOPTS=xtrace"}
	assert.Equal(t, "cd is a shell builtin\nok\n", start(t, spec).Wait().Text)
}

func TestLongCommand(t *testing.T) {
	sh := shell(t)
	store, err := truncate.OpenStore(t.TempDir(), nil)
	require.NoError(t, err)
	defer store.Close()
	for n, inFile := range map[int]bool{10: false, MaxCommand - 8: false, MaxCommand - 7: true, 1 << 20: true} {
		text := "echo ok #" + strings.Repeat("x", n-1)
		path, args, remove, err := sh.Command(t.Context(), text, store)
		require.NoError(t, err)
		if inFile {
			fi, err := os.Stat(args[len(args)-1])
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
		} else {
			assert.Equal(t, text, args[len(args)-1])
		}
		assert.Equal(t, "ok\n", start(t, &Spec{Path: path, Args: args}).Wait().Text)
		remove()
		entries, err := os.ReadDir(store.Dir())
		require.NoError(t, err)
		assert.Empty(t, entries)
	}
	_, _, remove, err := sh.Command(t.Context(), strings.Repeat("x", 1<<20), nil)
	require.ErrorContains(t, err, "too long")
	remove()
	_, _, _, err = sh.Command(t.Context(), "echo a\x00b", nil)
	require.ErrorContains(t, err, "NUL")
}

func TestArgs(t *testing.T) {
	for d, want := range map[Dialect]string{
		Bash: "--noprofile --norc -p -c X Y", POSIX: "-c X Y", PowerShell: "-NoProfile -NonInteractive -Command X Y", Cmd: "/d /s /c X Y",
	} {
		sh := Shell{Dialect: d}
		args := sh.Args("X Y")
		assert.Equal(t, want, strings.Join(args, " "))
		assert.Equal(t, "X Y", args[len(args)-1])
	}
	for path, want := range map[string]Dialect{"/bin/bash": Bash, "/usr/bin/dash": POSIX, "/x/zsh": POSIX, "/x/pwsh": PowerShell, "/x/PowerShell.exe": PowerShell, "/x/cmd.exe": Cmd} {
		assert.Equal(t, want, dialectOf(path), path)
	}
}

func TestLooksLikePrompt(t *testing.T) {
	for line, want := range map[string]bool{
		"Proceed? [Y/n]": true, "Password:": true, "[sudo] password for me:": true, "Are you sure you want to continue connecting (yes/no/[fingerprint])?": true,
		">>> ": true, "Press any key to continue...": true, "Overwrite existing file?": true, "Enter passphrase for key '/k':": true, "Username for 'https://x':": true, "package name: (app)": false,
		"": false, "Downloading... 50%": false, "Compiling foo v1.2": false, "listening on port 8080": false, "error: bad password": false,
	} {
		assert.Equal(t, want, looksLikePrompt(line), line)
	}
}
