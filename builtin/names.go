package builtin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

// alike returns up to three of names that a misspelt one may have meant, best first.
func alike(name string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	want := foldWord(clip(name, 64))
	var hits []scored
	for _, n := range names {
		have := foldWord(n)
		d := editDistance(want, have)
		switch {
		case d <= max(1, min(len(want), len(have))/3):
		case len(have) > 2 && strings.Contains(want, have), len(want) > 2 && strings.Contains(have, want):
			d += 100
		default:
			continue
		}
		hits = append(hits, scored{n, d})
	}
	slices.SortStableFunc(hits, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var out []string
	for _, h := range hits[:min(3, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := last
			if a[i] != b[j] {
				d = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// named is a tool that every agent is offered, so that its names can be looked up.
type named struct {
	tool.Tool
	spec *tool.Spec
}

// Spec returns what the tool is but for its description, which may depend on the agent.
func (n named) Spec(context.Context, *tool.Agent) (*tool.Spec, error) { return n.spec, nil }

// nameSet makes the set that names of tools are looked up in.
func (ts *Toolset) nameSet() (*tool.Set, error) {
	list := make([]tool.Tool, len(ts.ops))
	for i, op := range ts.ops {
		list[i] = named{op.tool, op.spec}
	}
	return tool.NewSet(ts.ctx, nil, list...)
}
