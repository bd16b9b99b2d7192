// Package editcases makes edits of real source files whose right result is known,
// damaged the way models damage what they remember of a file. Tests and benchmarks
// measure with them how often an edit ends up right. The files are those of the Go
// source tree, and a seed makes the same cases again.
package editcases

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Case is one edit with the results that are right.
type Case struct {
	Class    string
	File     string
	Old, New string
	All      bool     // every place is to be replaced
	Accept   []string // acceptable results
	Refuse   bool     // a refusal is right as well

	free map[int]bool // lines of Accept[0] that may differ in form
}

// Available reports whether the Go source tree is there.
func Available() bool { return len(corpus()) >= 50 }

// Classes lists the names of the classes of cases.
func Classes() []string { return slices.Sorted(maps.Keys(classes)) }

// NeverSevere are the classes in which a single severe result is too many.
func NeverSevere() []string {
	return []string{"drift_total", "absent", "near_miss", "ambiguous", "fuzzy_ambiguous", "overlap", "stale", "records", "near_dup",
		"old_eq_new", "empty_old", "lazy_new", "elided"}
}

// Make makes n cases of a class, fewer if the class does not yield them.
func Make(class string, seed uint64, n int) []*Case {
	h := fnv.New64a()
	h.Write([]byte(class))
	g := &gen{rand.New(rand.NewPCG(seed, h.Sum64()))}
	var out []*Case
	for tries := 0; len(out) < n && tries < 60*n; tries++ {
		if c := classes[class](g); c != nil {
			if tries%3 == 2 {
				c.toBlanks([]string{"  ", "    "}[g.r.IntN(2)])
			}
			out = append(out, c)
		}
	}
	return out
}

// Measure has n cases of every class edited by run, which returns the file as it
// is afterwards, and counts what became of them. Bad, if not nil, sees those that
// are wrong or refused without need.
func Measure(seed uint64, n int, run func(*Case) (string, error), bad func(c *Case, v Verdict, got string, err error)) Scores {
	out := Scores{}
	for _, class := range Classes() {
		var s Score
		for _, c := range Make(class, seed, n) {
			got, err := run(c)
			v := c.Judge(got, err)
			s.Add(len(c.Accept) > 0, v)
			if v >= FalseReject && bad != nil {
				bad(c, v, got, err)
			}
		}
		out[class] = s
	}
	return out
}

// toBlanks indents all texts of a case by blanks, as most languages do, unless
// blanks for tabs are what it is about.
func (c *Case) toBlanks(unit string) {
	if strings.Contains(c.Old+c.New, "\n  ") || strings.HasPrefix(c.Old, " ") || strings.Contains(c.Old+c.New, "\\t") || strings.Contains(c.Old, "1\t") || c.All {
		return
	}
	f := tabsTo(unit)
	convert := func(s string) string { return strings.Join(mapLines(strings.Split(s, "\n"), f), "\n") }
	file, old := convert(c.File), convert(c.Old)
	if strings.Count(file, old) != strings.Count(c.File, c.Old) {
		return
	}
	if c.Class == "line_numbers" {
		return // the numbers hide the indentation of the old and new text
	}
	c.File, c.Old, c.New = file, old, convert(c.New)
	for i := range c.Accept {
		c.Accept[i] = convert(c.Accept[i])
	}
}
