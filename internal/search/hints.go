package search

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/agenttool/tool/internal/search/pattern"
)

// An alternative is another way to mean a pattern, which costs little to look for
// while the text is at hand anyway.
type alternative struct {
	p      *pattern.Pattern
	opt    pattern.Options
	lines  atomic.Int64
	partly atomic.Bool // some text was not looked at
}

// alternatives returns what else to look for as long as nothing is found: the
// pattern in another case, and as plain text. What only the automaton could find
// would slow down a search that does find something, and is left for later.
func (e *Engine) alternatives(q *Query, p *pattern.Pattern) []*alternative {
	if p.Multiline {
		return nil
	}
	var out []*alternative
	opt := pattern.Options{Case: q.Case, Literal: q.Literal, Word: q.Word}
	add := func(o pattern.Options) {
		if p, err := e.pattern(q.Pattern, o); err == nil && p.Quick() && !p.Multiline {
			out = append(out, &alternative{p: p, opt: o})
		}
	}
	if fold := opt; q.Case == pattern.Sensitive {
		fold.Case = pattern.Insensitive
		add(fold)
	}
	if plain := opt; !q.Literal && !isPlain(q.Pattern) {
		plain.Literal = true
		add(plain)
	}
	return out
}

// grepHints looks for reasons why a search found nothing, as far as it has not
// counted them itself: each question gets a share of the time. Only counts are
// asked for, so it holds no lines.
func (e *Engine) grepHints(ctx context.Context, root *os.Root, q Query, st *Stats, g *grep) *Hints {
	ctx, cancel := context.WithTimeout(ctx, q.Hints)
	defer cancel()
	h := &Hints{Complete: true}
	ask := func(to *int, share int, change func(*Query)) {
		again := q
		again.Output, again.Limit, again.Offset, again.Hints, again.TotalsWithin = Counts, 1, 0, 0, 0
		change(&again)
		for _, a := range g.others {
			if !again.left && !a.partly.Load() && (a.opt == pattern.Options{Case: again.Case, Literal: again.Literal, Word: again.Word}) {
				*to = int(a.lines.Load())
				return
			}
		}
		left := q.Hints
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		inner, cancel := context.WithTimeout(ctx, left/time.Duration(share))
		defer cancel()
		r, _, err := e.grep(inner, root, &again)
		if err != nil {
			return
		}
		*to = r.Matches
		h.Complete = h.Complete && r.Exact && inner.Err() == nil
	}
	if q.Case == 0 {
		ask(&h.OtherCase, 3, func(a *Query) { a.Case = pattern.Insensitive })
	}
	if !q.Literal && !isPlain(q.Pattern) {
		ask(&h.Literal, 2, func(a *Query) { a.Literal = true })
	}
	if st.Ignored+st.HiddenFiles > 0 {
		ask(&h.Ignored, 1, func(a *Query) { a.left = true })
	}
	return h
}

// isPlain reports whether a pattern means the same as text.
func isPlain(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$':
			return false
		}
	}
	return true
}

// globHints does the same for paths.
func (e *Engine) globHints(ctx context.Context, root *os.Root, q GlobQuery, st *Stats) *Hints {
	ctx, cancel := context.WithTimeout(ctx, q.Hints)
	defer cancel()
	h := &Hints{Complete: true}
	ask := func(to *int, share int, change func(*GlobQuery)) []Entry {
		again := q
		again.Limit, again.Offset, again.Hints = hintPaths, 0, 0
		change(&again)
		left := q.Hints
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		inner, cancel := context.WithTimeout(ctx, left/time.Duration(share))
		defer cancel()
		r, err := e.glob(inner, root, &again)
		if err != nil {
			return nil
		}
		*to = r.Total
		h.Complete = h.Complete && r.Exact && inner.Err() == nil
		return r.Entries
	}
	if !q.Fold {
		for _, x := range ask(&h.OtherCase, 2, func(a *GlobQuery) { a.Fold = true }) {
			h.Paths = append(h.Paths, x.Path)
		}
	}
	if st.Ignored+st.HiddenFiles > 0 {
		ask(&h.Ignored, 1, func(a *GlobQuery) { a.left = true })
	}
	return h
}
