package web

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPacePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{PerMinute: 3}
		for range 3 {
			done, err := p.wait(t.Context(), "a.test")
			require.NoError(t, err)
			done()
			time.Sleep(time.Second)
		}
		_, err := p.wait(t.Context(), "a.test")
		var pe *PaceError
		require.ErrorAs(t, err, &pe)
		require.ErrorIs(t, err, ErrPace)
		assert.Equal(t, 58*time.Second, pe.After)
		done, err := p.wait(t.Context(), "b.test")
		require.NoError(t, err, "another host is not concerned")
		done()

		time.Sleep(50 * time.Second)
		start := time.Now()
		done, err = p.wait(t.Context(), "a.test")
		require.NoError(t, err)
		assert.Equal(t, 7*time.Second, time.Since(start), "a short wait is waited for")
		done()
		time.Sleep(2 * time.Minute)
		done, err = p.wait(t.Context(), "c.test")
		require.NoError(t, err)
		done()
		assert.Len(t, p.hosts, 1, "hosts are forgotten")
	})
}

func TestPaceParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Parallel: 2}
		var now, most atomic.Int32
		for range 10 {
			go func() {
				done, err := p.wait(t.Context(), "a.test")
				assert.NoError(t, err)
				defer done()
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				now.Add(-1)
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err := p.wait(ctx, "a.test")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 2, most.Load())
		p.mu.Lock()
		defer p.mu.Unlock()
		assert.Zero(t, p.hosts["a.test"].users)
	})
}

// TestFetchRetriesAReset: once, and never after an answer began.
func TestFetchRetriesAReset(t *testing.T) {
	for resets, want := range map[int32]int32{1: 2, 5: 2} {
		var hits atomic.Int32
		origin, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if hits.Add(1) <= resets {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					conn.Close()
				}
				return
			}
			w.Write([]byte("ok"))
		})
		_, err := (&Fetcher{}).Fetch(t.Context(), Request{URL: origin, Approved: []string{origin}})
		assert.Equal(t, resets > 1, err != nil)
		assert.Equal(t, want, hits.Load())
	}
}
