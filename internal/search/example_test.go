package search_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/agenttool/tool/internal/search"
)

func sample() (*os.Root, func()) {
	dir, err := os.MkdirTemp("", "search")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go":     "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n",
		"doc/read.md": "# hello\n",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	return root, func() { root.Close(); os.RemoveAll(dir) }
}

func ExampleEngine_Grep() {
	root, done := sample()
	defer done()
	r, err := search.New(search.Options{}).Grep(context.Background(), root, search.Query{
		Pattern: `hel+o`,
		Scope:   search.Scope{Types: []string{"go"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Files {
		for _, l := range f.Lines {
			fmt.Printf("%s:%d:%s\n", f.Path, l.Number, l.Text)
		}
	}
	fmt.Println(r.Matches, "of", r.Stats.Searched, "files searched, exact:", r.Exact)
	// Output:
	// main.go:4:	println("hello")
	// 1 of 1 files searched, exact: true
}

func ExampleEngine_Glob() {
	root, done := sample()
	defer done()
	r, err := search.New(search.Options{}).Glob(context.Background(), root, search.GlobQuery{Pattern: "**/*.{md,txt}"})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range r.Entries {
		fmt.Println(e.Path)
	}
	// Output: doc/read.md
}

func ExampleEngine_Files() {
	root, done := sample()
	defer done()
	l, err := search.New(search.Options{}).Files(context.Background(), root, search.Scope{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Paths)
	// Output: [doc/read.md main.go]
}

func ExampleEngine_List() {
	root, done := sample()
	defer done()
	l, err := search.New(search.Options{}).List(context.Background(), root, search.ListQuery{Depth: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range l.Dirs {
		for _, e := range d.Entries {
			fmt.Println(filepath.ToSlash(filepath.Join(d.Path, e.Path)), e.Dir)
		}
	}
	// Output:
	// doc true
	// main.go false
	// doc/read.md false
}
