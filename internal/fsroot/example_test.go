package fsroot_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/agenttool/tool/internal/fsroot"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	root, err := fsroot.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()

	for _, name := range []string{"sub/../main.go", "/etc/passwd", ".env", ".git/hooks/pre-commit"} {
		p, err := root.Resolve(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Display, p.Inside, p.Exists, p.Secret, p.Protected)
	}

	p, err := root.Resolve("main.go")
	if err != nil {
		log.Fatal(err)
	}
	f, info, err := root.Open(p)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	fmt.Printf("%d %q %v\n", info.Size(), text, err)
	// Output:
	// main.go true true false false
	// /etc/passwd false true false false
	// .env true false true false
	// .git/hooks/pre-commit true false false true
	// 13 "package main\n" <nil>
}
