package clienttool

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter says whether one more event may happen at now, and if not, how long to
// wait. It must not block and must be safe for concurrent use.
type Limiter interface {
	Reserve(now time.Time) (ok bool, wait time.Duration)
}

// window allows n events in any span of time, not only in spans that begin where
// a clock says: it remembers when the last n were.
type window struct {
	n    int
	span time.Duration

	mu   sync.Mutex
	at   []time.Time // a ring once it is full
	next int
}

// Reserve implements [Limiter].
func (w *window) Reserve(now time.Time) (bool, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.at) < w.n {
		w.at = append(w.at, now)
		return true, 0
	}
	if wait := w.span - now.Sub(w.at[w.next]); wait > 0 {
		return false, wait
	}
	w.at[w.next] = now
	w.next = (w.next + 1) % w.n
	return true, 0
}

// bucket is a token bucket.
type bucket struct{ *rate.Limiter }

func newBucket(perSecond float64, burst int) bucket {
	return bucket{rate.NewLimiter(rate.Limit(perSecond), burst)}
}

// Reserve implements [Limiter].
func (b bucket) Reserve(now time.Time) (bool, time.Duration) {
	r := b.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
		return false, wait
	}
	return true, 0
}

// reserve is l.Reserve for a limiter that may be nil.
func reserve(l Limiter) (bool, time.Duration) {
	if l == nil {
		return true, 0
	}
	return l.Reserve(time.Now())
}
