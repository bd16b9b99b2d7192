//go:build ignore

// Mutate takes guards out of the code, one at a time, and demands that a test fails
// without each. What is taken out is in a txtar file: the name of every entry is a
// guard's, and its text says
//
//	file: PATH, from the root of the repository
//	test: PACKAGE REGEXP, of the tests that must notice
//	--- the text to replace, up to
//	+++ what stands there instead, up to the end
//
// It changes nothing on disk: the compiler gets the changed files as an overlay.
//
//	go run .ci/mutate.go [-run REGEXP] clienttool/testdata/mutants.txtar
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

func main() {
	only := flag.String("run", "", "only guards whose name matches")
	flag.Parse()
	ok := true
	for _, name := range flag.Args() {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			fatal(err)
		}
		for _, f := range ar.Files {
			if *only != "" && !regexp.MustCompile(*only).MatchString(f.Name) {
				continue
			}
			begin := time.Now()
			verdict, err := try(f)
			if err != nil {
				verdict, ok = "ERROR: "+err.Error(), false
			}
			fmt.Printf("%-55s %s (%.0fs)\n", f.Name, verdict, time.Since(begin).Seconds())
		}
	}
	if !ok {
		os.Exit(1)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "mutate:", err)
	os.Exit(2)
}

// try takes one guard out and runs the tests that must fail then.
func try(f txtar.File) (string, error) {
	head, rest, ok := strings.Cut(string(f.Data), "---\n")
	old, with, ok2 := strings.Cut(rest, "+++\n")
	if !ok || !ok2 {
		return "", errors.New("needs --- and +++")
	}
	old, with = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(with, "\n") // part of a line will do
	field := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `: (.*)$`).FindStringSubmatch(head)
		if m == nil {
			fatal(fmt.Errorf("%s: no %s", f.Name, name))
		}
		return m[1]
	}
	path, err := filepath.Abs(field("file"))
	if err != nil {
		return "", err
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(src, []byte(old)); n != 1 {
		return "", fmt.Errorf("its text is %d times in %s", n, field("file"))
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(changed, bytes.Replace(src, []byte(old), []byte(with), 1), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return "", err
	}
	pkg, pattern, _ := strings.Cut(field("test"), " ")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-vet=off", "-timeout", "60s", "-overlay", filepath.Join(dir, "overlay.json"), "-run", pattern, pkg)
	out, err := cmd.CombinedOutput()
	switch {
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return "", fmt.Errorf("does not compile:\n%s", out)
	case bytes.Contains(out, []byte("no tests to run")):
		return "", errors.New("no test has that name")
	case err == nil:
		return "", errors.New("SURVIVED")
	}
	if m := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`).FindAllSubmatch(out, -1); m != nil {
		return "caught by " + string(m[len(m)-1][1]), nil
	}
	return "caught (the tests did not end)", nil
}
