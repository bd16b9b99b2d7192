package textfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/agenttool/tool/internal/fsroot"
)

// tree unpacks a txtar archive into a new directory and opens it.
func tree(t testing.TB, archive string) (dir string, root *fsroot.Root) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, f.Data, 0o644))
	}
	root, err = fsroot.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func resolve(t testing.TB, root *fsroot.Root, name string) *fsroot.Path {
	t.Helper()
	p, err := root.Resolve(name)
	require.NoError(t, err)
	return p
}

func TestReadSettings(t *testing.T) {
	_, root := tree(t, `
-- .editorconfig --
root = true
[*]
end_of_line = lf
[*.{bat,cmd}]
end_of_line = crlf
charset = latin1
[doc/**.txt]
charset = utf-8-bom
[{1..3}.num]
end_of_line = crlf
[a[!b]c]
end_of_line = crlf
-- sub/.editorconfig --
[*.txt]
end_of_line = CRLF
-- other/.editorconfig --
root = true
-- other/.gitattributes --
*.ps1 text eol=crlf
*.bin binary
-- .gitattributes --
*.sh eol=crlf
other/** eol=crlf
"sp ace" eol=crlf
`)
	for name, want := range map[string]Settings{
		"a.go":           {EOL: EOLLF},
		"x.bat":          {EOL: EOLCRLF, Charset: "latin1"},
		"deep/er/x.cmd":  {EOL: EOLCRLF, Charset: "latin1"},
		"doc/a/b.txt":    {EOL: EOLLF, Charset: "utf-8-bom"},
		"sub/x.txt":      {EOL: EOLCRLF},
		"sub/x.go":       {EOL: EOLLF},
		"2.num":          {EOL: EOLCRLF},
		"4.num":          {EOL: EOLLF},
		"axc":            {EOL: EOLCRLF},
		"abc":            {EOL: EOLLF},
		"x.sh":           {EOL: EOLLF},
		"other/x.ps1":    {EOL: EOLCRLF},
		"other/x.bin":    {},
		"other/x":        {EOL: EOLCRLF},
		"other/new/x.sh": {EOL: EOLCRLF},
	} {
		assert.Equal(t, want, ReadSettings(root, resolve(t, root, name)), name)
	}
}

func TestGlobRegexp(t *testing.T) {
	for _, tt := range []struct {
		glob   string
		braces bool
		name   string
		want   bool
	}{
		{"*.go", true, "a.go", true}, {"*.go", true, "d/a.go", true}, {"/*.go", true, "d/a.go", false}, {"d/*.go", true, "d/e/a.go", false},
		{"d/**/a", true, "d/a", true}, {"d/**/a", true, "d/x/y/a", true}, {"**/a", false, "a", true}, {"a?c", true, "a/c", false}, {"[ab", true, "[ab", true},
		{"{a,b,{c,d}}e", true, "de", true}, {"{a", true, "{a", true}, {"{single}", true, "single", true}, {"\\*", true, "*", true}, {"\\*", true, "x", false},
		{"ä*", true, "äx", true}, {"{a,b}", false, "{a,b}", true}, {"a.b", true, "axb", false}, {"{-1..1}", true, "-1", true}, {"{1..9999}", true, "12", true},
	} {
		re, err := globRegexp(tt.glob, tt.braces)
		require.NoError(t, err, tt.glob)
		assert.Equal(t, tt.want, re.MatchString(tt.name), "%s %s", tt.glob, tt.name)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("root=true\n[*.{a,b}]\nend_of_line=crlf\n", "x.a")
	f.Add("[[!a]\n*.x eol=lf", "[")
	f.Fuzz(func(t *testing.T, text, name string) {
		mergeEditorConfig(text, name, Settings{})
		attributeEOL(text, name)
	})
}

func ExampleReadSettings() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("*.bat eol=crlf\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	root, err := fsroot.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	p, err := root.Resolve("run.bat")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := ReadSettings(root, p)
	out, err := EncodeNew("echo hi\n", s)
	fmt.Printf("%s %q %v\n", s.EOL, out, err)
	// Output: crlf "echo hi\r\n" <nil>
}
