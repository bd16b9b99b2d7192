package tool

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Executor runs the calls of a turn. The zero value is ready for use; it denies
// every [Call.Ask], because nobody can be asked. The fields must not change while
// calls run. An Executor may run several turns at once and must not be copied.
//
// It promises:
//
//  1. One [Outcome] per call, in call order, whose Result is never nil, whatever
//     happens: unknown names, denial, timeout, panic, cancellation. The error that
//     comes with the outcomes is the context's cause or matches [ErrAbort]; the
//     outcomes are complete either way, so a transcript stays valid.
//  2. Events in the order things happen: for each call one pending, then at most
//     one plain running, any number of running with an Update, and exactly one
//     completed or error. Updates after that are dropped. Before a question
//     reaches the Approver, the events before it have been observed.
//  3. A call whose Spec is not Parallel is a barrier: it starts when everything
//     before it has ended, and everything after it waits for its end. Calls are
//     sequential unless their tools say otherwise, because models send mkdir and
//     write together.
//  4. A panic is one failed call. (That of a goroutine which a tool started itself
//     cannot be caught by anybody.)
//  5. Cancellation reports its cause, keeps partial output, and waits Grace for
//     the tools to return. One that ignores its context is then abandoned: its
//     later updates and result go nowhere, and the Logger is told.
//  6. [ErrAbort] from a tool cancels the other calls of the turn; they read that
//     another call ended the turn, not the error of the one that did.
type Executor struct {
	Approver    Approver      // who decides about permissions; nil denies
	Middleware  []Middleware  // around every call, also of unknown names; the first is outermost
	Observe     func(Event)   // gets every event, one at a time; nil: nobody. A slow one delays the end of the turn, not the tools
	MaxParallel int           // calls of a turn that run at once; 0: 8; <0: no limit. Calls made through Invoke do not count, those of Start count by themselves
	Timeout     time.Duration // for calls whose Spec has none; 0: no limit. Time spent in Ask does not count
	Grace       time.Duration // how long a cancelled tool may take to return; 0: 5 s; <0: no time at all
	Truncate    TruncateFunc  // bounds results; nil: the default policy of package truncate, with no copy kept
	Logger      *slog.Logger  // told about panics and abandoned tools; nil: nobody

	// CrashOnPanic lets a panic of a tool end the process, for hosts that rather
	// crash than go on with half-changed state.
	CrashOnPanic bool

	events eventQueue
}

const (
	defaultParallel = 8
	defaultGrace    = 5 * time.Second
	maxDepth        = 16 // of calls that make calls
)

// Outcome is what became of a call.
type Outcome struct {
	Call   *Call   // as it was handed in
	Result *Result // for the model; never nil
	Err    error   // why the call failed, for errors.Is and errors.As; nil if it did not
}

// Run runs calls and returns one outcome for each, in the same order. The error
// is the cause of ctx's end, or matches [ErrAbort], or is nil.
func (e *Executor) Run(ctx context.Context, set *Set, calls ...*Call) ([]Outcome, error) {
	b := e.start(ctx, set, len(calls))
	for _, c := range calls {
		b.Go(c)
	}
	return b.Wait()
}

// Do runs one call.
func (e *Executor) Do(ctx context.Context, set *Set, call *Call) Outcome {
	out, _ := e.Run(ctx, set, call)
	return out[0]
}

// Start begins a turn whose calls become known one by one, as while a model
// still streams. [Batch.Wait] must be called in the end.
func (e *Executor) Start(ctx context.Context, set *Set) *Batch { return e.start(ctx, set, 0) }

func (e *Executor) start(ctx context.Context, set *Set, n int) *Batch {
	b := &Batch{ex: e, parent: ctx, set: set, calls: make([]*running, 0, n), slab: make([]running, n)}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	b.run = e.chain()
	b.unwatch = context.AfterFunc(b.ctx, b.cancelled)
	return b
}

// chain wraps dispatch in the middleware. One that panics when it is applied fails
// every call of the turn, as it does when it panics in a call.
func (e *Executor) chain() RunFunc {
	if len(e.Middleware) == 0 {
		return dispatch
	}
	if e.CrashOnPanic {
		return chain(dispatch, e.Middleware)
	}
	run := RunFunc(dispatch)
	var p *PanicError
	if err := guard(func() error { run = chain(run, e.Middleware); return nil }); errors.As(err, &p) {
		return func(_ context.Context, call *Call) (*Result, error) {
			return nil, &PanicError{Tool: call.Tool, Value: p.Value, Stack: p.Stack}
		}
	}
	return run
}

func (e *Executor) grace() time.Duration {
	switch {
	case e.Grace == 0:
		return defaultGrace
	case e.Grace < 0:
		return 0
	}
	return e.Grace
}

func (e *Executor) log() *slog.Logger {
	if e.Logger != nil {
		return e.Logger
	}
	return slog.New(slog.DiscardHandler)
}

// errTurnEnded is why the other calls of an aborted turn are cancelled.
var errTurnEnded = errors.New("another call ended the turn")

// Batch is the calls of one turn. Go and Wait are for one goroutine.
type Batch struct {
	ex      *Executor
	parent  context.Context
	ctx     context.Context // ends with parent, or when a call aborts the turn
	cancel  context.CancelCauseFunc
	unwatch func() bool
	set     *Set
	run     RunFunc
	owner   *running // the call that these are nested in; nil: the turn is the model's own
	nested  Nested
	events  sync.WaitGroup // not yet observed
	slab    []running      // for Go

	mu      sync.Mutex
	calls   []*running    // the model's own calls, in order
	kids    []*running    // calls made by Invoke
	next    int           // first of calls that was not started
	active  int           // calls, not counting those made by Invoke, that were started and not settled
	barrier bool          // a call that is not Parallel is active
	ready   fifo          // started, and waiting for a worker to take them
	spare   int           // workers that are about to look at ready
	stopped bool          // no call may start any more
	done    chan struct{} // set by Wait; closed when nothing is open
	open    int           // calls of any kind that are not settled
	abort   error
	timer   *time.Timer // grace
}

// Go adds a call; it starts as soon as its turn comes. It must not be called after Wait.
func (b *Batch) Go(call *Call) {
	if call == nil {
		call = &Call{}
	}
	r := b.newRunning(call)
	b.mu.Lock()
	if b.done != nil {
		b.mu.Unlock()
		panic("tool: Batch.Go after Batch.Wait")
	}
	b.calls = append(b.calls, r)
	b.open++
	b.emit(r, Event{State: StatePending})
	stopped := b.halted()
	b.advance()
	b.mu.Unlock()
	if stopped {
		r.notRun()
	}
}

// newRunning takes the calls of a turn whose number is known from one slab.
func (b *Batch) newRunning(call *Call) *running {
	var r *running
	if len(b.slab) > 0 {
		r, b.slab = &b.slab[0], b.slab[1:]
	} else {
		r = new(running)
	}
	if b.owner != nil {
		c := *call
		c.Parent = b.owner.call.ID
		call = &c
		r.parent, r.depth = b.owner, b.owner.depth+1
	}
	r.b, r.orig, r.call = b, call, *call
	r.lookup()
	return r
}

// advance starts what may start. It is called with b.mu held.
func (b *Batch) advance() {
	limit := b.ex.MaxParallel
	if limit == 0 {
		limit = defaultParallel
	}
	for !b.barrier && b.next < len(b.calls) && !b.halted() {
		r := b.calls[b.next]
		if !r.parallel {
			if b.active > 0 {
				return
			}
			b.barrier = true
		} else if limit > 0 && b.active >= limit {
			return
		}
		b.next++
		b.active++
		b.launch(r)
	}
}

// halted reports whether no call may start any more; the end of the context may
// be noticed here before cancelled runs. It is called with b.mu held.
func (b *Batch) halted() bool {
	if !b.stopped && b.ctx.Err() != nil {
		b.stopped = true
	}
	return b.stopped
}

// launch hands r to a worker. It is called with b.mu held.
//
// A worker that takes a call sees to it that another one comes for the next, so
// no call waits for the end of one before it. But a worker that has ended its call
// takes a further one, so that short calls share a goroutine, and with it a stack
// that has grown to what they need.
func (b *Batch) launch(r *running) {
	r.started = true
	b.emit(r, Event{State: StateRunning})
	b.ready.push(r)
	b.summon()
}

// summon makes sure that a worker looks at what is ready. It is called with b.mu held.
func (b *Batch) summon() {
	if b.spare == 0 && b.ready.first != nil {
		b.spare++
		go b.work()
	}
}

// roomyStack makes the stack of a new goroutine grow once, while there is little on
// it to move, and not step by step in the depth of a decoder. The measure is in
// BenchmarkExecutor8.
//
//go:noinline
func roomyStack(i int) byte {
	var room [6 << 10]byte
	room[i] = 1
	return room[i/2]
}

// fifo is a queue of calls, linked through the calls themselves.
type fifo struct {
	first, last *running
}

func (q *fifo) push(r *running) {
	if q.last == nil {
		q.first = r
	} else {
		q.last.after = r
	}
	q.last = r
}

// pop returns nil if the queue is empty.
func (q *fifo) pop() *running {
	r := q.first
	if r == nil {
		return nil
	}
	if q.first = r.after; q.first == nil {
		q.last = nil
	}
	r.after = nil
	return r
}

func (b *Batch) work() {
	for {
		b.mu.Lock()
		b.spare--
		r := b.ready.pop()
		b.summon()
		b.mu.Unlock()
		if r == nil {
			return
		}
		roomyStack(0)
		r.exec()
	}
}

// Wait waits until every call has its outcome and every event was observed, and
// returns the outcomes in the order of Go. See [Executor.Run] for the error.
func (b *Batch) Wait() ([]Outcome, error) {
	b.mu.Lock()
	done := make(chan struct{})
	b.done = done
	if b.open == 0 {
		close(done)
	}
	b.mu.Unlock()
	<-done
	b.unwatch()
	b.mu.Lock()
	b.stopped = true
	if b.timer != nil {
		b.timer.Stop()
	}
	abort := b.abort
	b.mu.Unlock()
	err := context.Cause(b.parent)
	b.cancel(nil)
	b.events.Wait()
	out := make([]Outcome, len(b.calls))
	for i, r := range b.calls {
		out[i] = r.outcome
	}
	if abort != nil {
		err = abort
	}
	return out, err
}

// cancelled runs once when the turn's context ends: calls that were not started
// are settled, and the others get their grace.
func (b *Batch) cancelled() {
	b.mu.Lock()
	b.stopped = true
	waiting := b.calls[b.next:]
	if b.open > len(waiting) {
		b.timer = time.AfterFunc(b.ex.grace(), b.abandonLive)
	}
	b.mu.Unlock()
	for _, r := range waiting {
		r.notRun()
	}
}

// abandonLive abandons everything that runs, because the turn is cancelled.
func (b *Batch) abandonLive() {
	b.abandon(&CancelledError{Cause: context.Cause(b.ctx)}, nil)
}

// abandon settles what has not returned in time: top and what it made, or, if
// top is nil, everything. The deepest come first, so that a call ends after those it made.
func (b *Batch) abandon(why error, top *running) {
	b.mu.Lock()
	var deaf []*running
	for _, list := range [][]*running{b.calls, b.kids} {
		for _, r := range list {
			if r.started && !r.settled && (top == nil || r.within(top)) {
				deaf = append(deaf, r)
			}
		}
	}
	b.mu.Unlock()
	slices.SortFunc(deaf, func(x, y *running) int { return y.depth - x.depth })
	for _, r := range deaf {
		r.abandon(why)
	}
}

// settle records the one outcome of r and reports whether it was the first. A
// worker that goes on after its call says so.
func (b *Batch) settle(r *running, res *Result, err error, goesOn bool) bool {
	state := StateCompleted
	if err != nil || res.IsError {
		state = StateError
	}
	aborts := false
	if err != nil { // its methods are foreign code
		aborts = guard(func() error {
			if errors.Is(err, ErrAbort) {
				return ErrAbort
			}
			return nil
		}) == ErrAbort
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if goesOn {
		b.spare++
	}
	if r.settled {
		return false
	}
	r.settled = true
	r.outcome = Outcome{Call: r.orig, Result: res, Err: err}
	if r.started && r.done == nil {
		b.active--
		if !r.parallel {
			b.barrier = false
		}
	}
	b.emit(r, Event{State: state, Result: res, Err: err})
	if aborts && b.abort == nil {
		b.abort = err
		b.stopped = true
		b.cancel(errTurnEnded)
	}
	if r.done != nil {
		close(r.done)
	}
	if r.late != nil {
		r.late.Stop()
	}
	b.advance()
	b.open--
	if b.open == 0 && b.done != nil {
		close(b.done)
	}
	return true
}

// emit queues an event about r. It is called with b.mu held, so that the queue has the order of what happened.
func (b *Batch) emit(r *running, ev Event) {
	if b.ex.Observe == nil && b.nested.Observe == nil {
		return
	}
	ev.Call, ev.Time = r.orig, time.Now()
	b.ex.events.push(b, r, ev)
}
