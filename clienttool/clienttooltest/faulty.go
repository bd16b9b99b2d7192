package clienttooltest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// Kind is what happens to a frame.
type Kind int

// The kinds of fault.
const (
	Pass      Kind = iota
	Drop           // the sender believes that it was sent
	Duplicate      // it arrives twice
	Swap           // it arrives after the next one
	Cut            // the link is severed instead
	Stall          // Send does not return until the link is closed or its context ends
)

// Fault is what happens to one frame; the zero value is nothing.
type Fault struct {
	Kind  Kind
	Delay time.Duration // before it is passed on
}

// Plan decides about the nth frame that is sent, from 1. It is called from one goroutine at a time.
type Plan func(n int, m *clienttool.Message) Fault

// Once does f to the nth frame of a type, from 1, and nothing else.
func Once(typ string, nth int, f Fault) Plan {
	seen := 0
	return func(_ int, m *clienttool.Message) Fault {
		if m.Type != typ {
			return Fault{}
		}
		if seen++; seen == nth {
			return f
		}
		return Fault{}
	}
}

// Rates are probabilities, between 0 and 1, for each frame.
type Rates struct {
	Drop, Duplicate, Swap, Cut float64
	Delay                      time.Duration // at most, for every frame
}

// Random makes a Plan that is the same for the same seed.
func Random(seed uint64, r Rates) Plan {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return func(int, *clienttool.Message) Fault {
		var f Fault
		if r.Delay > 0 {
			f.Delay = time.Duration(rnd.Int64N(int64(r.Delay)))
		}
		x := rnd.Float64()
		for _, k := range []struct {
			kind Kind
			p    float64
		}{{Drop, r.Drop}, {Duplicate, r.Duplicate}, {Swap, r.Swap}, {Cut, r.Cut}} {
			if x < k.p {
				f.Kind = k.kind
				break
			}
			x -= k.p
		}
		return f
	}
}

// Faulty returns c with faults in what is sent. Wrap both ends for faults both ways.
func Faulty(c clienttool.Conn, plan Plan) clienttool.Conn {
	return &faulty{Conn: c, plan: plan, done: make(chan struct{})}
}

type faulty struct {
	clienttool.Conn
	plan Plan
	n    int
	held *clienttool.Message
	once sync.Once
	done chan struct{}
}

var errCut = errors.New("cut on purpose")

func (f *faulty) Send(ctx context.Context, m *clienttool.Message) error {
	f.n++
	fault := f.plan(f.n, m)
	if fault.Delay > 0 {
		t := time.NewTimer(fault.Delay)
		select {
		case <-t.C:
		case <-f.done:
			t.Stop()
			return clienttool.ErrClosed
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
	switch fault.Kind {
	case Drop:
		return nil
	case Cut:
		f.Close(errCut)
		return errCut
	case Stall:
		select {
		case <-f.done:
			return clienttool.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case Swap:
		if f.held == nil {
			f.held = copyOf(m)
			return nil
		}
	}
	err := f.Conn.Send(ctx, m)
	if err == nil && fault.Kind == Duplicate {
		err = f.Conn.Send(ctx, m)
	}
	if held := f.held; err == nil && held != nil {
		f.held = nil
		err = f.Conn.Send(ctx, held)
	}
	return err
}

func (f *faulty) Close(reason error) error {
	f.once.Do(func() { close(f.done) })
	return f.Conn.Close(reason)
}

// copyOf keeps a message beyond its Send, which only its sender may change after.
func copyOf(m *clienttool.Message) *clienttool.Message {
	a, b := clienttool.Pipe(1)
	defer a.Close(nil)
	if a.Send(context.Background(), m) != nil {
		return m
	}
	c, err := b.Recv(context.Background())
	if err != nil {
		return m
	}
	return c
}
