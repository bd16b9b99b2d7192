package search

import (
	"container/heap"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// key orders results: newer first, then by path.
type key struct {
	mtime int64
	path  string
}

func (k key) compare(o key) int {
	switch {
	case k.mtime > o.mtime:
		return -1
	case k.mtime < o.mtime:
		return 1
	}
	return strings.Compare(k.path, o.path)
}

// newest keeps the first of what it is given, by key, as many as together
// weigh at least need, and knows the bound beyond which nothing more will be
// kept. A need below zero keeps all.
type newest[T any] struct {
	need  int
	mu    sync.Mutex
	kept  ranked[T]
	sum   int
	bound atomic.Pointer[key] // the last one kept, once there are enough
}

type rankedItem[T any] struct {
	key    key
	weight int
	value  T
}

// ranked is a heap with the last item on top.
type ranked[T any] []rankedItem[T]

func (r ranked[T]) Len() int           { return len(r) }
func (r ranked[T]) Less(i, j int) bool { return r[i].key.compare(r[j].key) > 0 }
func (r ranked[T]) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranked[T]) Push(x any)        { *r = append(*r, x.(rankedItem[T])) }
func (r *ranked[T]) Pop() any {
	old := *r
	x := old[len(old)-1]
	old[len(old)-1] = rankedItem[T]{}
	*r = old[:len(old)-1]
	return x
}

// late reports whether something with this key would not be kept.
func (n *newest[T]) late(mtime int64, path []byte) bool {
	b := n.bound.Load()
	return b != nil && (mtime < b.mtime || mtime == b.mtime && unsafeString(path) > b.path)
}

func (n *newest[T]) add(k key, weight int, v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.need < 0 {
		n.kept = append(n.kept, rankedItem[T]{k, weight, v})
		return
	}
	if n.sum >= n.need && (len(n.kept) == 0 || k.compare(n.kept[0].key) > 0) {
		return
	}
	heap.Push(&n.kept, rankedItem[T]{k, weight, v})
	n.sum += weight
	for len(n.kept) > 0 && n.sum-n.kept[0].weight >= n.need {
		n.sum -= heap.Pop(&n.kept).(rankedItem[T]).weight
	}
	if n.sum >= n.need {
		last := key{mtime: int64(^uint64(0) >> 1)}
		if len(n.kept) > 0 {
			last = n.kept[0].key
		}
		n.bound.Store(&last)
	}
}

// sorted returns what was kept, in order.
func (n *newest[T]) sorted() []rankedItem[T] {
	slices.SortFunc(n.kept, func(a, b rankedItem[T]) int { return a.key.compare(b.key) })
	return n.kept
}
