// Package patchcases makes patches of real source files whose right result is
// known, damaged the way models damage what they remember of a file, like package
// editcases for edits.
package patchcases

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/agenttool/tool/internal/editcases"
)

// A Case is a patch of the file f.go with the results that are right.
type Case struct {
	File   string
	Text   string // of the patch
	Accept []string
	Refuse bool // a refusal is right
}

// Available reports whether the Go source tree is there.
func Available() bool { return len(corpus()) >= 30 }

// Classes lists the names of the classes of cases.
func Classes() []string { return slices.Sorted(maps.Keys(classes)) }

// Make makes n cases of a class, fewer if the class does not yield them.
func Make(class string, seed uint64, n int) []*Case {
	h := fnv.New64a()
	h.Write([]byte(class))
	g := &gen{rand.New(rand.NewPCG(seed, h.Sum64()))}
	var out []*Case
	for tries := 0; len(out) < n && tries < 60*n; tries++ {
		if c := classes[class](g); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// Judge says what became of the case: got is the file after the patch, err why it
// was refused.
func (c *Case) Judge(got string, err error) editcases.Verdict {
	switch {
	case err != nil && c.Refuse:
		return editcases.Refused
	case err != nil:
		return editcases.FalseReject
	case slices.Contains(c.Accept, got):
		return editcases.Right
	case slices.ContainsFunc(c.Accept, func(want string) bool { return squeeze(want) == squeeze(got) }):
		return editcases.BadForm
	}
	return editcases.Severe
}

// Measure has n cases of every class patched by run, which returns the file as it
// is afterwards, and counts what became of them. Bad, if not nil, sees those that
// are wrong or refused without need.
func Measure(seed uint64, n int, run func(*Case) (string, error), bad func(class string, c *Case, v editcases.Verdict, got string, err error)) editcases.Scores {
	out := editcases.Scores{}
	for _, class := range Classes() {
		var s editcases.Score
		for _, c := range Make(class, seed, n) {
			got, err := run(c)
			v := c.Judge(got, err)
			s.Add(len(c.Accept) > 0, v)
			if v >= editcases.FalseReject && bad != nil {
				bad(class, c, v, got, err)
			}
		}
		out[class] = s
	}
	return out
}
