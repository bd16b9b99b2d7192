package builtin

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	base     string // directory of the file, relative to the root of the walk; "" is that root
	pattern  string
	negated  bool
	dirsOnly bool
	anchored bool   // matched against the path below base, else against the name
	above    string // of a rule from above the walk: where the walk begins, seen from its file
}

// parseIgnore reads the rules of the .gitignore file of directory base.
func parseIgnore(base, text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		r := ignoreRule{base: base}
		if line[0] == '!' {
			r.negated, line = true, line[1:]
		}
		if strings.HasSuffix(line, "/") {
			r.dirsOnly, line = true, strings.TrimRight(line, "/")
		}
		r.anchored = strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		// Braces are plain characters in these files.
		r.pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
		if r.pattern == "" || !doublestar.ValidatePattern(r.pattern) {
			continue
		}
		rules = append(rules, r)
	}
	return rules
}

// ignored reports whether the rules exclude name. The last that matches decides,
// so the rules of deeper directories must come last.
func ignored(rules []ignoreRule, name string, isDir bool) bool {
	for _, r := range slices.Backward(rules) {
		if r.dirsOnly && !isDir {
			continue
		}
		subject := path.Base(name)
		if r.anchored {
			subject = name
			if r.base != "" {
				subject = strings.TrimPrefix(name, r.base+"/")
			}
			subject = path.Join(r.above, subject)
		}
		if ok, err := doublestar.Match(r.pattern, subject); err == nil && ok {
			return !r.negated
		}
	}
	return false
}
