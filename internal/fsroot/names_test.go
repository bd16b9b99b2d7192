package fsroot

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckName(t *testing.T) {
	for _, tt := range []struct {
		goos, name string
		ok         bool
	}{
		{"linux", "a/b", true}, {"linux", "", false}, {"linux", "a\x00", false}, {"linux", strings.Repeat("a/", 2049), false},
		{"linux", strings.Repeat("a", 255), true}, {"linux", strings.Repeat("a", 256), false}, {"linux", "\xff", true}, {"darwin", "\xff", false},
		{"linux", `C:x`, true}, {"linux", "con", true}, {"linux", "a.", true}, {"linux", "x/" + strings.Repeat("b", 256) + "/y", false},
		{"windows", `C:\a\b.txt`, true}, {"windows", "C:/a", true}, {"windows", `a\b`, true}, {"windows", `..\b`, true}, {"windows", `\rooted`, true},
		{"windows", "C:x", false}, {"windows", "C:", false}, {"windows", `\\srv\share\x`, false}, {"windows", "//srv/share", false},
		{"windows", `\\?\C:\x`, false}, {"windows", `\\.\pipe\x`, false}, {"windows", "a.txt:x", false}, {"windows", `a\b.txt::$DATA`, false},
		{"windows", "con", false}, {"windows", "NUL.txt", false}, {"windows", `a\Aux\b`, false}, {"windows", "com1", false}, {"windows", "LPT9.log", false},
		{"windows", "com¹", false}, {"windows", "nul .txt", false}, {"windows", "CONOUT$", false}, {"windows", "console", true}, {"windows", "com", true},
		{"windows", "a.", false}, {"windows", "a ", false}, {"windows", `a.\b`, false}, {"windows", "a*b", false}, {"windows", "a?b", false},
		{"windows", "a\x01b", false}, {"windows", "\xff", false}, {"windows", strings.Repeat("é", 128), false},
	} {
		err := CheckName(tt.goos, tt.name)
		if tt.ok {
			assert.NoError(t, err, "%s %q", tt.goos, tt.name)
		} else {
			assert.ErrorIs(t, err, ErrBadPath, "%s %q", tt.goos, tt.name)
		}
	}
}

func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"", "a", `C:\x`, "C:", `\\?\x`, "con.", "a:b", "\x00", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, goos := range []string{"linux", "darwin", "windows"} {
			if err := CheckName(goos, name); err == nil {
				if name == "" || strings.Contains(name, "\x00") {
					t.Fatalf("%s accepted %q", goos, name)
				}
				if goos == "windows" && strings.Count(name, ":") > 0 && (len(name) < 3 || name[1] != ':' || strings.Contains(name[2:], ":")) {
					t.Fatalf("stream accepted: %q", name)
				}
			}
		}
		if Fold(Fold(name)) != Fold(name) {
			t.Fatalf("Fold is not stable on %q", name)
		}
		IsProtectedPath(name)
		IsSecretName(name)
	})
}

func TestIsSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, ".ENV": true, ".envrc": true, ".env.local": true, ".env-prod": true, ".env_x": true, "prod.env": true, "app.env.bak": true,
		".env.example": false, ".env.sample": false, ".env.template": false, ".env.dist": false, ".env.defaults": false, ".environment": false,
		"env": false, "env.go": false, ".env ": true, ".env.": true, ".env::$DATA": true, ".e\u200bnv": true, "id_rsa": true, "id_rsa.pub": false, "id_ed25519": true,
		"ſ.env": true, "environment.ts": false, "vite-env.d.ts": false,
	} {
		assert.Equal(t, want, IsSecretName(name), name)
	}
}

func TestIsProtectedPath(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".git/hooks/pre-commit": true, "sub/.git/config": true, ".GiT/config": true, ".g\u200cit/config": true, "git~1/config": true, ".git./x": true, ".git /x": true,
		".github/workflows/ci.yml": true, ".github/CODEOWNERS": false, ".github/workflows": false, ".vscode/tasks.json": true, ".vscode/extensions.json": false,
		".gitignore": false, ".gitattributes": true, ".gitmodules": true, ".husky/pre-commit": true, ".idea/x.xml": true, ".devcontainer/devcontainer.json": true,
		"home/.bashrc": true, ".zshrc": true, ".profile": true, ".ssh/config": true, ".config/fish/config.fish": true, "src/main.go": false, "": false, "git/x": false,
		".envrc": true,
	} {
		assert.Equal(t, want, IsProtectedPath(name), name)
	}
}

func TestSuggest(t *testing.T) {
	dir := tempDir(t)
	for _, f := range []string{
		"src/server.go", "src/handler.go", "src/handler_test.go", "lib/deep/config.yaml", "README.md", "src/Screen shot.png", "node_modules/x/config.yaml",
		"doc/cafe\u0301.txt", "two/a b", "two/a\u00a0b",
	} {
		write(t, filepath.Join(dir, f), "x")
	}
	r := newRoot(t, dir, nil)
	for _, tt := range []struct {
		name, first, same string
	}{
		{"src/sevrer.go", "src/server.go", ""},
		{"src/handlers.go", "src/handler.go", ""},
		{"src/handler.ts", "src/handler.go", ""},
		{"config.yaml", "lib/deep/config.yaml", ""},
		{"/wrong/prefix/src/server.go", "src/server.go", ""},
		{"readme.md", "README.md", ""},
		{"src/Screen\u202fshot.png", "src/Screen shot.png", "src/Screen shot.png"},
		{"doc/caf\u00e9.txt", "doc/cafe\u0301.txt", "doc/cafe\u0301.txt"},
		{"two/a\u2009b", "two/a b", ""},
	} {
		p, err := r.Resolve(tt.name)
		require.NoError(t, err)
		if p.Exists {
			require.NotEqual(t, "linux", runtime.GOOS, tt.name)
			continue
		}
		s := r.Suggest(context.Background(), p)
		require.NotEmpty(t, s.Paths, tt.name)
		assert.Equal(t, tt.first, s.Paths[0], tt.name)
		assert.Equal(t, tt.same, s.Same, tt.name)
		assert.LessOrEqual(t, len(s.Paths), 5)
	}
	p, err := r.Resolve("zzzzqqqq.nothing")
	require.NoError(t, err)
	assert.Empty(t, r.Suggest(context.Background(), p).Paths)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.True(t, r.Suggest(ctx, p).Partial)
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3}, {"abcdef", "uvwxyz", 4}} {
		assert.Equal(t, tt.want, distance([]rune(tt.a), []rune(tt.b), 3), "%s %s", tt.a, tt.b)
	}
}

func TestUnreadableDirectory(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("the superuser may read everything")
	}
	dir := tempDir(t)
	write(t, filepath.Join(dir, "d/f"), "x")
	require.NoError(t, os.Chmod(filepath.Join(dir, "d"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o755) })
	_, err := newRoot(t, dir, nil).Resolve("d/f")
	require.ErrorIs(t, err, os.ErrPermission)
}
