package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strings"
)

const (
	maxSyntax = 5       // errors that are told
	maxParsed = 2 << 20 // bytes of a file that is checked
)

// newSyntaxErrors returns what is wrong with the syntax of a file after a change
// and was not before, as "line:column: message". It knows Go and JSON, by name;
// before is "" for a new file.
func newSyntaxErrors(name, before, after string) []string {
	check := checkerFor(name)
	if check == nil || len(before)+len(after) > maxParsed || strings.TrimSpace(after) == "" {
		return nil
	}
	found := check(after)
	if len(found) == 0 {
		return nil
	}
	had := make(map[string]int) // by message: line numbers move
	if strings.TrimSpace(before) != "" {
		old := check(before)
		if len(old) > 0 && path.Ext(name) != ".go" {
			return nil // of JSON only the first error is found, so a new one cannot be told from an old one
		}
		for _, e := range old {
			had[e.text]++
		}
	}
	var out []string
	for _, e := range found {
		if had[e.text] > 0 {
			had[e.text]--
			continue
		}
		if len(out) == maxSyntax {
			break
		}
		out = append(out, fmt.Sprintf("%d:%d: %s", e.line, e.column, e.text))
	}
	return out
}

type syntaxError struct {
	line, column int
	text         string
}

func checkerFor(name string) func(string) []syntaxError {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".go":
		return checkGo
	case ".json", ".ipynb", ".webmanifest":
		return checkJSON
	}
	return nil
}

func checkGo(src string) (out []syntaxError) {
	_, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution|parser.AllErrors)
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return nil
	}
	line := 0
	for _, e := range list {
		if e.Pos.Line == line {
			continue // what follows from the first error of a line
		}
		line = e.Pos.Line
		out = append(out, syntaxError{e.Pos.Line, e.Pos.Column, e.Msg})
	}
	return out
}

// checkJSON accepts comments and trailing commas, which many readers of .json
// files do.
func checkJSON(src string) []syntaxError {
	src = strings.TrimPrefix(src, "\uFEFF")
	plain := plainJSON(src)
	var v json.RawMessage
	err := json.Unmarshal(plain, &v)
	var se *json.SyntaxError
	if !errors.As(err, &se) {
		return nil
	}
	at := min(max(int(se.Offset)-1, 0), len(src))
	line := 1 + strings.Count(src[:at], "\n")
	return []syntaxError{{line, at - strings.LastIndexByte(src[:at], '\n'), se.Error()}}
}

// plainJSON blanks out comments and trailing commas, so that offsets stay.
func plainJSON(src string) []byte {
	out := []byte(src)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // the last comma, while only blanks follow
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(src) && src[i] != '"' && src[i] != '\n'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case strings.HasPrefix(src[i:], "//"):
			end := strings.IndexByte(src[i:], '\n')
			if end < 0 {
				end = len(src) - i
			}
			blank(i, i+end)
			i += end - 1
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return out
			}
			blank(i, i+end+4)
			i += end + 3
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)):
			comma = -1
		}
	}
	return out
}
