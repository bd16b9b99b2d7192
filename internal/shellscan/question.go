package shellscan

import (
	"cmp"
	"slices"
	"strings"
)

// A Question is one permission that a text needs.
type Question struct {
	Permission string   // "bash", "external_directory", "read" or "edit"
	Patterns   []string // what would be done
	Always     []string // what may be remembered; empty: nothing
	Protected  bool     // secrets, and files that make programs run something: a pattern of stars does not allow them
	Opaque     bool     // the pattern is the whole text, because its parts cannot be judged

	// Plain reports files inside the root that a command names as its arguments. They follow the rules for their
	// permission; where there is none, the rule for the command is enough.
	Plain bool

	s        *Script
	commands []int    // for bash, one for each pattern
	targets  []target // for files, one for each pattern
}

// A target is what the pattern of a file stands for beyond its text.
type target struct {
	tree    bool     // everything below it, too
	silent  bool     // only what denies it counts
	changed bool     // it is written
	also    []string // names that it finds
	maybe   string   // the pattern with what is not known in it; "" if also has all there is
}

// A Decision is what rules say about a question or a text.
type Decision struct {
	Action  Action
	Reasons []string // why it is not allowed, for the user and the model
	Each    []Action // for a question: what is said about each of its patterns
}

func (d *Decision) add(a Action, why string) {
	d.Action = stricter(d.Action, a)
	if why != "" && a != Allow && !slices.Contains(d.Reasons, why) {
		d.Reasons = append(d.Reasons, why)
	}
}

const unknownPath = "<unknown>"

// ExternalDirs returns the directories outside of the roots that the text uses.
func (s *Script) ExternalDirs() []string {
	var out []string
	for i := range s.Files {
		for _, d := range s.Files[i].outside {
			out = appendNew(out, d)
		}
	}
	return out
}

// Writes returns the files that the text writes, moves or removes: where they may lead, or as written when that is not
// known.
func (s *Script) Writes() []string {
	var out []string
	for i := range s.Files {
		f := &s.Files[i]
		switch {
		case f.Mode&Write == 0:
		case len(f.Paths) == 0:
			out = appendNew(out, f.Path)
		default:
			for _, p := range f.Paths {
				out = appendNew(out, p)
			}
		}
	}
	return out
}

// Asks returns every permission that the text needs, whatever the rules are: directories outside of the roots, all in one
// question; secrets and protected files; files that redirections write and read; plain operands; and the commands.
func (s *Script) Asks() []*Question {
	var out []*Question
	dirs := &Question{Permission: "external_directory", s: s}
	groups := map[[3]string]*Question{}
	var order []*Question
	var group func(f *FileUse, permission string, protected, plain, silent bool)
	group = func(f *FileUse, permission string, protected, plain, silent bool) {
		if protected && f.Mode&Recursive != 0 {
			group(f, permission, false, true, true)
		}
		key := [3]string{permission, map[bool]string{true: "p"}[protected], map[bool]string{true: "p"}[plain]}
		q := groups[key]
		if q == nil {
			q = &Question{Permission: permission, Protected: protected, Plain: plain, s: s}
			groups[key] = q
			order = append(order, q)
		}
		rel := f.rel
		if len(rel) == 0 {
			rel = []string{f.Path}
		}
		for _, p := range rel {
			i := slices.Index(q.Patterns, p)
			if i < 0 {
				i = len(q.Patterns)
				q.Patterns, q.targets = append(q.Patterns, p), append(q.targets, target{silent: true})
			}
			t := &q.targets[i]
			t.silent = t.silent && silent
			t.tree = t.tree || f.Mode&Recursive != 0 || f.into
			t.changed = t.changed || f.Mode&Write != 0
			t.also, t.maybe = append(t.also, f.also...), cmp.Or(t.maybe, f.maybe)
		}
		q.Always = nil
		if !protected {
			q.Always = q.Patterns
		}
	}
	for i := range s.Files {
		f := &s.Files[i]
		for _, d := range f.outside {
			dirs.Patterns = appendNew(dirs.Patterns, strings.TrimSuffix(d, "/")+"/*")
			dirs.Always = appendNew(dirs.Always, strings.TrimSuffix(d, "/")+"/*")
		}
		if f.Unknown && !s.opts.TrustUnknown {
			dirs.Patterns = appendNew(dirs.Patterns, unknownPath)
		}
		if f.Mode&Write != 0 {
			if len(f.rel) > 0 || f.Protected || f.Secret {
				group(f, "edit", f.Protected || f.Secret, !f.Redirect && !f.Protected && !f.Secret, false)
			}
		} else if f.Protected { // an unknown program may write it
			group(f, "edit", true, false, false)
		}
		if f.Mode&Read != 0 && f.Mode&Dir == 0 && (len(f.rel) > 0 || f.Secret) || f.mention {
			group(f, "read", f.Secret, !f.Secret, f.mention && !f.Secret)
		}
	}
	if len(dirs.Patterns) > 0 {
		out = append(out, dirs)
	}
	slices.SortStableFunc(order, func(a, b *Question) int { return score(a) - score(b) })
	out = append(out, order...)
	if q := s.bashQuestion(); q != nil {
		out = append(out, q)
	}
	return out
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// score puts secrets and protected files first, then writes, then reads.
func score(q *Question) int {
	n := 0
	if !q.Protected {
		n += 2
	}
	if q.Permission == "read" {
		n++
	}
	return n
}

func (s *Script) bashQuestion() *Question {
	q := &Question{Permission: "bash", s: s}
	if len(s.Opaque) > 0 || s.Unparsed != nil {
		q.Opaque, q.Patterns = true, []string{s.Text}
		return q
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Free && len(c.Risks) == 0 {
			continue
		}
		p := c.String()
		if slices.Contains(q.Patterns, p) {
			continue
		}
		q.Patterns = append(q.Patterns, p)
		q.commands = append(q.commands, i)
		if c.always != "" {
			q.Always = appendNew(q.Always, c.always)
		}
	}
	if len(q.Patterns) == 0 {
		return nil
	}
	return q
}
