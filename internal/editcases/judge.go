package editcases

import "strings"

// Judge says what became of the case: got is the file after the edit, err why it
// was refused.
func (c *Case) Judge(got string, err error) Verdict {
	if err != nil {
		if c.Refuse {
			return Refused
		}
		return FalseReject
	}
	for _, want := range c.Accept {
		if got == want || c.free != nil && c.formEqual(got, want) {
			return Right
		}
		if want == "\x00blank" && noBlankLines(strings.Split(got, "\n")) == noBlankLines(strings.Split(c.Accept[0], "\n")) &&
			strings.Count(got, "\n\n") >= strings.Count(c.Accept[0], "\n\n")-1 {
			return Right
		}
	}
	for _, want := range c.Accept {
		if looseForm(got) == looseForm(want) {
			return BadForm
		}
	}
	return Severe
}

// formEqual compares a result line by line: shared lines byte for byte, others
// without regard to blanks, typographic form and line endings.
func (c *Case) formEqual(got, want string) bool {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!c.free[i] || looseForm(a[i]) != looseForm(b[i]) || lead(a[i]) != lead(b[i]) && !blank(b[i])) {
			return false
		}
	}
	return true
}

var plainForms = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "–", "-", "\u00a0", " ", "e\u0301", "é", "u\u0308", "ü")

func looseForm(s string) string { return squeeze(plainForms.Replace(s)) }
