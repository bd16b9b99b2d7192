package editcases

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// A Verdict is what became of a case.
type Verdict int

const (
	Right       Verdict = iota // an acceptable result
	Refused                    // refused, and that is right
	FalseReject                // refused, though an edit was possible
	BadForm                    // the wanted content, but in other bytes
	Severe                     // wrong place, lost or foreign content
)

// A Score counts verdicts.
type Score struct {
	N        int
	Possible int // cases with an acceptable result
	By       [5]int
}

// Add counts one case.
func (s *Score) Add(possible bool, v Verdict) {
	s.N++
	if possible {
		s.Possible++
	}
	s.By[v]++
}

// Plus counts all of o.
func (s *Score) Plus(o Score) {
	s.N += o.N
	s.Possible += o.Possible
	for i, n := range o.By {
		s.By[i] += n
	}
}

func percent(n, of int) float64 {
	if of == 0 {
		return 100
	}
	return 100 * float64(n) / float64(of)
}

// Correct is the share of right results and right refusals, in percent.
func (s Score) Correct() float64 { return percent(s.By[Right]+s.By[Refused], s.N) }

// Wrong is the share of what was written and should not have been, in percent.
func (s Score) Wrong() float64 {
	return 100 * float64(s.By[BadForm]+s.By[Severe]) / float64(max(1, s.N))
}

// Severe is the share of wrong content, in percent.
func (s Score) Severe() float64 { return 100 * float64(s.By[Severe]) / float64(max(1, s.N)) }

// FalseReject is the share of refusals of what could have been done, in percent.
func (s Score) FalseReject() float64 { return 100 * float64(s.By[FalseReject]) / float64(max(1, s.N)) }

// Applied is the share of right results of what could have been done, in percent.
func (s Score) Applied() float64 { return percent(s.By[Right], s.Possible) }

// Scores are those of some classes.
type Scores map[string]Score

// Total is the score of all classes.
func (s Scores) Total() Score {
	var t Score
	for _, c := range s {
		t.Plus(c)
	}
	return t
}

// Worst is the share of correct cases in the worst class, in percent.
func (s Scores) Worst() float64 {
	worst := 100.0
	for _, c := range s {
		worst = min(worst, c.Correct())
	}
	return worst
}

// Table writes the rows of the table of the documentation.
func (s Scores) Table(w io.Writer) error {
	row := func(name string, c Score) error {
		applied := "–"
		if c.Possible > 0 {
			applied = fmt.Sprintf("%.1f", c.Applied())
		}
		_, err := fmt.Fprintf(w, "| %s | %d | %.1f | %.2f | %.2f | %.1f | %s |\n", name, c.N, c.Correct(), c.Wrong(), c.Severe(), c.FalseReject(), applied)
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if err := row(name, s[name]); err != nil {
			return err
		}
	}
	return row("TOTAL", s.Total())
}
