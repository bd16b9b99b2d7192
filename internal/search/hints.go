package search

import (
	"context"
	"os"
	"time"
)

// grepHints looks for reasons why a search found nothing: each question gets a
// share of the time. Only counts are asked for, so it holds no lines.
func (e *Engine) grepHints(ctx context.Context, root *os.Root, q Query, st *Stats) *Hints {
	ctx, cancel := context.WithTimeout(ctx, q.Hints)
	defer cancel()
	h := &Hints{Complete: true}
	ask := func(to *int, share int, change func(*Query)) {
		again := q
		again.Output, again.Limit, again.Offset, again.Hints, again.TotalsWithin = Counts, 1, 0, 0, 0
		change(&again)
		left := q.Hints
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		inner, cancel := context.WithTimeout(ctx, left/time.Duration(share))
		defer cancel()
		r, err := e.grep(inner, root, &again)
		if err != nil {
			return
		}
		*to = r.Matches
		h.Complete = h.Complete && r.Exact && inner.Err() == nil
	}
	if q.Case == 0 {
		ask(&h.OtherCase, 3, func(a *Query) { a.Case = 1 })
	}
	if !q.Literal && !isPlain(q.Pattern) {
		ask(&h.Literal, 2, func(a *Query) { a.Literal = true })
	}
	if st.Ignored+st.HiddenFiles > 0 {
		ask(&h.Ignored, 1, func(a *Query) { a.NoIgnore, a.Hidden = true, HiddenShown })
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
	ask := func(to *int, share int, change func(*GlobQuery)) {
		again := q
		again.Limit, again.Offset, again.Hints = 1, 0, 0
		change(&again)
		left := q.Hints
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		inner, cancel := context.WithTimeout(ctx, left/time.Duration(share))
		defer cancel()
		r, err := e.glob(inner, root, &again)
		if err != nil {
			return
		}
		*to = r.Total
		h.Complete = h.Complete && r.Exact && inner.Err() == nil
	}
	if !q.Fold {
		ask(&h.OtherCase, 2, func(a *GlobQuery) { a.Fold = true })
	}
	if st.Ignored+st.HiddenFiles > 0 {
		ask(&h.Ignored, 1, func(a *GlobQuery) { a.NoIgnore, a.Hidden = true, HiddenShown })
	}
	return h
}
