package tool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publicDirs are the directories of this module whose packages others import.
func publicDirs(t *testing.T) []string {
	var dirs []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case path == ".":
		case name == "internal" || name == "examples" || name == "testdata" || name == "docs" || name == "js" || strings.HasPrefix(name, "."):
			return fs.SkipDir
		default:
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		dirs = append(dirs, path)
		return nil
	}))
	return dirs
}

// TestEveryExportedIdentifierIsDocumented keeps the promise of the contributing guide.
func TestEveryExportedIdentifierIsDocumented(t *testing.T) {
	for _, dir := range publicDirs(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, decl := range f.Decls {
				for _, name := range undocumented(decl) {
					t.Errorf("%s: %s is exported and has no comment", file, name)
				}
			}
		}
	}
}

// undocumented returns the exported names that decl declares without a comment.
func undocumented(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// exportedReceiver reports whether a function has no receiver, or one that others can name.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// TestReadmeTellsTheTruth looks at what a reader would try: the links lead
// somewhere, and the code uses names that exist.
func TestReadmeTellsTheTruth(t *testing.T) {
	b, err := os.ReadFile("README.md")
	require.NoError(t, err)
	text := string(b)
	for _, m := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(text, -1) {
		assert.FileExists(t, m[1])
	}
	for _, m := range regexp.MustCompile(`go run (\./[\w/]+)`).FindAllStringSubmatch(text, -1) {
		assert.DirExists(t, m[1])
	}
	exported := make(map[string]bool)
	for _, dir := range publicDirs(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			for _, decl := range f.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil {
						exported[f.Name.Name+"."+d.Name.Name] = true
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						switch s := spec.(type) {
						case *ast.TypeSpec:
							exported[f.Name.Name+"."+s.Name.Name] = true
						case *ast.ValueSpec:
							for _, n := range s.Names {
								exported[f.Name.Name+"."+n.Name] = true
							}
						}
					}
				}
			}
		}
	}
	for _, m := range regexp.MustCompile(`\b(tool|schema|permission|truncate|builtin|tooltest|clienttool|discover)\.([A-Z]\w*)`).FindAllStringSubmatch(text, -1) {
		assert.True(t, exported[m[1]+"."+m[2]], "the README names %s", m[0])
	}
}
