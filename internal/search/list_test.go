package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func showList(t *testing.T, e *Engine, dir string, q ListQuery) string {
	l, err := e.List(t.Context(), openRoot(t, dir), q)
	require.NoError(t, err)
	var b strings.Builder
	for _, d := range l.Dirs {
		fmt.Fprintf(&b, "[%s]", d.Path)
		for _, x := range d.Entries {
			b.WriteString(" " + x.Path)
			if x.Dir {
				b.WriteString("/")
			}
			if x.Link {
				b.WriteString("->" + d.Target[x.Path])
			}
			if d.Broken[x.Path] {
				b.WriteString("!")
			}
			if x.Exec {
				b.WriteString("*")
			}
		}
		if d.More > 0 {
			fmt.Fprintf(&b, " +%d", d.More)
		}
		if d.Ignored > 0 {
			fmt.Fprintf(&b, " (%d ignored)", d.Ignored)
		}
		b.WriteString("\n")
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "+%d directories\n", l.More)
	}
	return b.String()
}

func TestList(t *testing.T) {
	dir := tree(t, project)
	require.NoError(t, os.Chmod(filepath.Join(dir, "a.go"), 0o755))
	symlink(t, "sub/c.ts", filepath.Join(dir, "link"))
	symlink(t, "nowhere", filepath.Join(dir, "gone"))
	each(t, Options{}, func(t *testing.T, e *Engine) {
		assert.Equal(t, "[] .gitignore .hidden/ a.go* gone->nowhere! link->sub/c.ts other/ sub/ (3 ignored)\n", showList(t, e, dir, ListQuery{}))
		assert.Equal(t, "[] .gitignore .hidden/ a.go* gone->nowhere! link->sub/c.ts other/ sub/ (3 ignored)\n[.hidden] x.txt\n[other] x.log\n[sub] .gitignore c.ts keep.log (1 ignored)\n",
			showList(t, e, dir, ListQuery{Depth: 2}))
		assert.Equal(t, "[sub] .gitignore c.ts keep.log secret/\n", showList(t, e, dir, ListQuery{Path: "sub", NoIgnore: true}))
		assert.Equal(t, "[sub] c.ts keep.log (1 ignored)\n", showList(t, e, dir, ListQuery{Path: "sub", Hidden: HiddenSkipped}))
		assert.Equal(t, "[] .gitignore .hidden/ +5 (3 ignored)\n+1 directories\n", showList(t, e, dir, ListQuery{Depth: 2, Limit: 2}))
		_, err := e.List(t.Context(), openRoot(t, dir), ListQuery{Path: "a.go"})
		require.ErrorContains(t, err, "not a directory")
		_, err = e.List(t.Context(), openRoot(t, dir), ListQuery{Path: "nowhere"})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// A wide directory hides no sibling.
func TestListSharesTheLimit(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, dir, fmt.Sprintf("a/f%02d", i), "")
	}
	write(t, dir, "b/one", "")
	write(t, dir, "c/two", "")
	each(t, Options{}, func(t *testing.T, e *Engine) {
		assert.Equal(t, "[] a/ b/ c/\n[a] f00 f01 f02 +47\n[b] one\n[c] two\n", showList(t, e, dir, ListQuery{Depth: 2, Limit: 10}))
	})
}
