package builtin

import (
	"fmt"
	"strings"
)

// difference is how one text became another, line by line.
type difference struct {
	unified   string // with three lines of context; "" if the texts are equal
	touched   string // the removed and added lines only: the same wherever they are in the file
	additions int
	deletions int
	hunks     []hunk
}

// hunk is a run of changed lines: a[a0:a1] became b[b0:b1], counted from 0.
type hunk struct{ a0, a1, b0, b1 int }

const diffContext = 3

// diff compares two texts. The result names the file as in git's output.
func diff(name, before, after string) difference {
	a, b := splitLines(before), splitLines(after)
	d := difference{hunks: compare(a, b)}
	if len(d.hunks) == 0 {
		return d
	}
	var out, touched strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", name, name)
	for i := 0; i < len(d.hunks); {
		j := i + 1
		for j < len(d.hunks) && d.hunks[j].a0-d.hunks[j-1].a1 <= 2*diffContext {
			j++
		}
		d.write(&out, &touched, a, b, d.hunks[i:j])
		i = j
	}
	d.unified, d.touched = out.String(), touched.String()
	return d
}

func (d *difference) write(out, touched *strings.Builder, a, b []string, group []hunk) {
	first, last := group[0], group[len(group)-1]
	lead := min(diffContext, first.a0)
	tail := min(diffContext, len(a)-last.a1)
	a0, a1 := first.a0-lead, last.a1+tail
	b0, b1 := first.b0-lead, last.b1+tail
	fmt.Fprintf(out, "@@ -%s +%s @@\n", hunkRange(a0, a1), hunkRange(b0, b1))
	pos := a0
	for _, h := range group {
		putLines(out, " ", a[pos:h.a0])
		putLines(out, "-", a[h.a0:h.a1])
		putLines(out, "+", b[h.b0:h.b1])
		putLines(touched, "-", a[h.a0:h.a1])
		putLines(touched, "+", b[h.b0:h.b1])
		d.deletions += h.a1 - h.a0
		d.additions += h.b1 - h.b0
		pos = h.a1
	}
	putLines(out, " ", a[pos:a1])
}

func hunkRange(from, to int) string {
	n := to - from
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	if n == 1 {
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

func putLines(b *strings.Builder, sign string, lines []string) {
	for _, l := range lines {
		b.WriteString(sign)
		b.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// splitLines keeps the newlines.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// maxSteps bounds the edit distance that is searched for; what differs more is
// shown as replaced altogether, which is as true and shorter to compute.
const maxSteps = 600

// compare returns the changed runs by Myers' greedy algorithm.
func compare(a, b []string) []hunk {
	lead := 0
	for lead < len(a) && lead < len(b) && a[lead] == b[lead] {
		lead++
	}
	tail := 0
	for tail < len(a)-lead && tail < len(b)-lead && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[lead:len(a)-tail], b[lead:len(b)-tail]
	switch {
	case len(x) == 0 && len(y) == 0:
		return nil
	case len(x) == 0 || len(y) == 0:
		return []hunk{{lead, lead + len(x), lead, lead + len(y)}}
	}
	hs, ok := myers(x, y)
	if !ok {
		hs = []hunk{{0, len(x), 0, len(y)}}
	}
	for i := range hs {
		hs[i] = hunk{hs[i].a0 + lead, hs[i].a1 + lead, hs[i].b0 + lead, hs[i].b1 + lead}
	}
	return hs
}

func myers(a, b []string) ([]hunk, bool) {
	limit := min(len(a)+len(b), maxSteps)
	v := make([]int, 2*limit+2) // furthest x on diagonal k, at v[k+limit]
	var trace [][]int           // of each step, the diagonals -d..d as they were before it
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v[limit-d:limit+d+2]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && v[k-1+limit] < v[k+1+limit] {
				x = v[k+1+limit]
			} else {
				x = v[k-1+limit] + 1
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x++
				y++
			}
			v[k+limit] = x
			if x >= len(a) && y >= len(b) {
				return backtrack(trace, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// backtrack follows the steps from the end and joins neighbouring ones to hunks.
func backtrack(trace [][]int, x, y int) []hunk {
	var out []hunk
	add := func(h hunk) {
		if n := len(out); n > 0 && out[n-1].a0 == h.a1 && out[n-1].b0 == h.b1 {
			out[n-1].a0, out[n-1].b0 = h.a0, h.b0
			return
		}
		out = append(out, h)
	}
	for d := len(trace) - 1; d > 0; d-- {
		v := func(k int) int { return trace[d][k+d] }
		k := x - y
		var prev int
		if k == -d || k != d && v(k-1) < v(k+1) {
			prev = k + 1
		} else {
			prev = k - 1
		}
		px := v(prev)
		py := px - prev
		if prev == k+1 {
			add(hunk{px, px, py, py + 1})
		} else {
			add(hunk{px, px + 1, py, py})
		}
		x, y = px, py
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
