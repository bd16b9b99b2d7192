package builtin

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of glob patterns: matching is exponential without them.
const (
	maxPattern = 4096
	maxStars   = 16
	maxBraces  = 256 // alternatives, all multiplied
)

// fileGlob matches file names. Without a slash it is for base names.
type fileGlob struct {
	text     string
	patterns []string // free of braces
	literals []string // the same as they were written, for names with brackets in them
	baseOnly bool
}

// parseGlob checks and takes apart a pattern. It must be relative.
func parseGlob(text string) (*fileGlob, error) {
	p := strings.TrimPrefix(text, "./")
	switch {
	case p == "":
		return nil, errors.New("the pattern is empty; use ** for all files")
	case len(p) > maxPattern:
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	case strings.ContainsRune(p, 0):
		return nil, errors.New("the pattern contains a NUL byte")
	}
	list, err := expandBraces(p)
	if err != nil {
		return nil, err
	}
	g := &fileGlob{text: p, baseOnly: !strings.Contains(p, "/")}
	for _, q := range list {
		switch {
		case strings.HasPrefix(q, "/"):
			return nil, fmt.Errorf("the pattern %q is absolute; give the directory as path and the rest as pattern", clip(text, 80))
		case slices.Contains(strings.Split(q, "/"), ".."):
			return nil, fmt.Errorf("the pattern %q has a .. in it; give the directory as path", clip(text, 80))
		case strings.Count(q, "*") > maxStars:
			return nil, fmt.Errorf("the pattern has more than %d stars", maxStars)
		case !doublestar.ValidatePattern(q):
			return nil, fmt.Errorf("the pattern %q is malformed: look for a [ without ], or escape it as \\[", clip(text, 80))
		}
		g.patterns = append(g.patterns, strings.TrimSuffix(q, "/"))
	}
	g.literals = slices.Clone(g.patterns)
	return g, nil
}

// match reports whether the slash-separated path fits.
func (g *fileGlob) match(name string) bool {
	subject := name
	if g.baseOnly {
		subject = path.Base(name)
	}
	if slices.Contains(g.literals, subject) {
		return true
	}
	for _, p := range g.patterns {
		if ok, err := doublestar.Match(p, subject); err == nil && ok {
			return true
		}
	}
	return false
}

// escapeExisting takes the directories at the beginning of each pattern literally
// as long as exists says that there is one of that very name, as app/[id].
func (g *fileGlob) escapeExisting(exists func(name string) bool) {
	for i, p := range g.patterns {
		parts := strings.Split(p, "/")
		for j, part := range parts[:len(parts)-1] {
			if strings.ContainsAny(part, `*?\`) || !exists(strings.Join(g.parts(i)[:j+1], "/")) {
				break
			}
			parts[j] = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(part)
		}
		g.patterns[i] = strings.Join(parts, "/")
	}
}

func (g *fileGlob) parts(i int) []string { return strings.Split(g.literals[i], "/") }

// expandBraces returns what {a,b} stands for, nested or not. Without a comma
// braces are plain characters, as in a shell.
func expandBraces(p string) ([]string, error) {
	open, depth := -1, 0
	var cuts []int
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open, cuts = i, []int{i}
			}
			depth++
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth > 0 {
				continue
			}
			cuts = append(cuts, i)
			return joinBraces(p, open, cuts, i)
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("the pattern %q has a { without }; escape it as \\{ if it is part of a name", clip(p, 80))
	}
	return []string{p}, nil
}

func joinBraces(p string, open int, cuts []int, end int) ([]string, error) {
	rest, err := expandBraces(p[end+1:])
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range len(cuts) - 1 {
		heads, err := expandBraces(p[cuts[i]+1 : cuts[i+1]])
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			for _, r := range rest {
				if len(out) == maxBraces {
					return nil, fmt.Errorf("the braces of the pattern stand for more than %d patterns; search for fewer at once", maxBraces)
				}
				if len(cuts) == 2 {
					h = `\{` + h + `\}`
				}
				out = append(out, p[:open]+h+r)
			}
		}
	}
	return out, nil
}
