package permission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agenttool/tool"
)

// Errors of [Gate.Reply], returned wrapped.
var (
	// ErrNotPending says that no question has this id.
	ErrNotPending = errors.New("no such permission request is pending")
	// ErrSettled says that the question was answered or withdrawn before. Of
	// questions settled long ago nothing is known, which is [ErrNotPending].
	ErrSettled = errors.New("the permission request is settled already")
)

// question is an open question to a person, of one request or of several equal ones.
type question struct {
	req     *tool.Request // of the call that asked first
	session string
	digest  string
	forced  bool
	ctx     context.Context // for the Prompt
	cancel  context.CancelFunc

	// Guarded by the gate's lock.
	prompt  Prompt
	waiters []*waiter
	claimed bool // somebody settles it
}

func (q *question) id() string { return q.req.ID }

// waiter is a call that waits for the answer to a question.
type waiter struct {
	c      *asking
	answer chan outcome
}

// outcome is what becomes of the calls that wait for a question.
type outcome struct {
	allow   bool
	by      By
	grants  []Approval
	reason  string // of a denial, for the model
	endTurn bool
	err     error
}

func (o outcome) error(req *tool.Request) error {
	if o.allow {
		return nil
	}
	d := denied(req, o.reason, o.err)
	d.EndTurn = o.endTurn
	return d
}

// ask puts the question, or joins one that is the same, and waits for the
// answer. It says to look again if the gate changed since it had the given version.
func (g *Gate) ask(c *asking, version int) (again bool, err error) {
	g.mu.Lock()
	attended := g.attended()
	g.mu.Unlock()
	if !attended {
		c.d.By = ByNobody
		return false, denied(c.req, unattended, nil)
	}
	p := NewPrompt(c.req, c.reasons)
	c.d.Digest = p.Digest
	w := &waiter{c: c, answer: make(chan outcome, 1)}
	q, refusal, again := g.enter(c, p, w, version)
	if again {
		return true, nil
	}
	if refusal.reason != "" {
		c.d.By = refusal.by
		return false, refusal.error(c.req)
	}
	o := g.wait(c, q, w)
	c.d.By, c.d.Grants = o.by, o.grants
	if o.by == ByCancelation {
		return false, o.err
	}
	return false, o.error(c.req)
}

// enter registers w with the question that p asks, a new one or an open one, or refuses.
func (g *Gate) enter(c *asking, p Prompt, w *waiter, version int) (q *question, refusal outcome, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.version != version {
		return nil, outcome{}, true
	}
	id := c.req.SessionID
	if !g.attended() {
		return nil, outcome{by: ByNobody, reason: unattended}, false
	}
	if limit := g.maxRejections(); limit > 0 && g.sessions[id].rejections(p.Digest) >= limit {
		why := fmt.Sprintf("The user rejected exactly this %d times, so it is not asked again. Change course", limit)
		return nil, outcome{by: ByLimit, reason: why}, false
	}
	open := 0
	for _, o := range g.order {
		if o.session != id {
			continue
		}
		open++
		if o.digest == p.Digest && o.forced == c.forced {
			o.waiters = append(o.waiters, w)
			o.prompt.Calls = append(slices.Clip(o.prompt.Calls), p.Calls...)
			return o, outcome{}, false
		}
	}
	if limit := g.maxPending(); open >= limit {
		why := fmt.Sprintf("%d questions of this session wait for an answer already. Ask for less at once", open)
		return nil, outcome{by: ByLimit, reason: why}, false
	}
	if _, taken := g.questions[c.req.ID]; taken || c.req.ID == "" {
		return nil, outcome{by: ByFailure, reason: "The request has no id of its own"}, false
	}
	q = &question{
		req: c.req, session: id, digest: p.Digest, forced: c.forced,
		prompt: p, waiters: []*waiter{w},
	}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(c.ctx))
	if g.questions == nil {
		g.questions = make(map[string]*question)
	}
	g.questions[q.id()] = q
	g.order = append(g.order, q)
	g.emit(q, Event{Type: EventAsked, Prompt: &p})
	if g.Prompt != nil {
		g.waiting = append(g.waiting, q)
		g.startPrompts()
	}
	return q, outcome{}, false
}

func (g *Gate) maxPending() int {
	if g.MaxPending <= 0 {
		return defaultMaxPending
	}
	return g.MaxPending
}

func (g *Gate) maxRejections() int {
	if g.MaxRejections == 0 {
		return defaultMaxRejections
	}
	return g.MaxRejections
}

// wait waits for the answer, the end of the call, or the timeout.
func (g *Gate) wait(c *asking, q *question, w *waiter) outcome {
	var timeout <-chan time.Time
	if g.Timeout > 0 {
		t := time.NewTimer(g.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case o := <-w.answer:
		return o
	case <-c.ctx.Done():
		g.leave(q, w)
		return outcome{by: ByCancelation, err: c.ctx.Err()}
	case <-timeout:
		if g.leave(q, w) {
			return outcome{by: ByTimeout, reason: fmt.Sprintf("Nobody answered within %s", g.Timeout)}
		}
		return <-w.answer // it came at the last moment
	}
}

// leave takes w off the question, and withdraws the question if nobody waits for
// it any more. It reports false if the question is being settled.
func (g *Gate) leave(q *question, w *waiter) bool {
	g.mu.Lock()
	if q.claimed {
		g.mu.Unlock()
		return false
	}
	q.waiters = slices.DeleteFunc(q.waiters, func(o *waiter) bool { return o == w })
	last := len(q.waiters) == 0
	if last {
		g.claim(q)
		g.emit(q, Event{Type: EventWithdrawn})
	}
	g.mu.Unlock()
	if last {
		q.cancel()
	}
	return true
}

// claim makes the caller the one who settles q. It is called with g.mu held, on
// a question that is not claimed.
func (g *Gate) claim(q *question) {
	q.claimed = true
	delete(g.questions, q.id())
	g.order = slices.DeleteFunc(g.order, func(o *question) bool { return o == q })
	g.settled.add(q.id())
}

// release hands the outcome of a claimed question to whoever waits. It is called with g.mu held.
func (q *question) release(o outcome) {
	for _, w := range q.waiters {
		w.answer <- o
	}
}

// settle settles q, with an event, if it is open and if still, which is called with
// g.mu held and may be nil, says so.
func (g *Gate) settle(q *question, still func() bool, o outcome, e Event) {
	g.mu.Lock()
	if q.claimed || still != nil && !still() {
		g.mu.Unlock()
		return
	}
	g.claim(q)
	g.emit(q, e)
	q.release(o)
	g.mu.Unlock()
	q.cancel()
}

// withdraw settles q without an answer.
func (g *Gate) withdraw(q *question, o outcome) { g.settle(q, nil, o, Event{Type: EventWithdrawn}) }

// Pending returns the open questions of a session, or of all sessions if
// sessionID is "", in the order they were asked.
func (g *Gate) Pending(sessionID string) []Prompt {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Prompt
	for _, q := range g.order {
		if sessionID == "" || q.session == sessionID {
			out = append(out, q.prompt)
		}
	}
	return out
}

// Reply answers the question with this id, which is the ID of its request.
// Exactly one answer is accepted; further ones get [ErrSettled], unknown ids
// [ErrNotPending], and answers that make no sense [ErrAnswer].
//
// "Always" also releases every open question that what is granted covers, each
// with an event of its own. "Reject" also rejects the other open questions of
// the session, without the message, which was not about them. ctx is for the
// store: if it cannot remember an approval, the error says so, the question is
// answered all the same, and the approval holds for the session.
func (g *Gate) Reply(ctx context.Context, id string, a Answer) error {
	if err := a.check(g.Project); err != nil {
		return err
	}
	g.mu.Lock()
	q := g.questions[id]
	if q == nil {
		known := g.settled.has(id)
		g.mu.Unlock()
		if known {
			return fmt.Errorf("%w: %s", ErrSettled, VisibleLine(clip(id, 80)))
		}
		return fmt.Errorf("%w: %s", ErrNotPending, VisibleLine(clip(id, 80)))
	}
	g.claim(q)
	g.mu.Unlock()
	return g.answer(ctx, q, a)
}

// answer carries out the answer to a question that the caller has claimed.
func (g *Gate) answer(ctx context.Context, q *question, a Answer) error {
	defer q.cancel()
	if a.Reply == Reject {
		g.reject(q, a)
		return nil
	}
	var grants []Approval
	var err error
	if a.Reply == Always {
		grants, err = g.remember(ctx, q, a.Scope)
	}
	g.mu.Lock()
	var merr error
	if merr = g.addGrants(q.session, grants); merr == nil && a.Reply == Always {
		g.version++
	}
	g.sessions[q.session].forget(q.digest)
	g.emit(q, Event{Type: EventReplied, Reply: a.Reply})
	q.release(outcome{allow: true, by: ByUser})
	g.mu.Unlock()
	if a.Reply == Always {
		g.cascade(ctx)
	}
	return errors.Join(err, merr)
}

// reject rejects q and everything else that its session asks.
func (g *Gate) reject(q *question, a Answer) {
	o := outcome{by: ByUser, reason: "The user rejected this", endTurn: !g.ContinueOnReject}
	if a.Message != "" {
		o.reason, o.endTurn = "The user rejected this and said: "+a.Message, false
	}
	others := outcome{by: ByCascade, reason: "The user rejected something else that was asked for at the same time", endTurn: o.endTurn}
	e := Event{Type: EventReplied, Reply: Reject}
	g.mu.Lock()
	g.session(q.session).reject(q.digest)
	g.emit(q, e)
	q.release(o)
	var rest []*question
	for _, r := range slices.Clone(g.order) {
		if r.session == q.session {
			g.claim(r)
			g.emit(r, e)
			r.release(others)
			rest = append(rest, r)
		}
	}
	g.mu.Unlock()
	for _, r := range rest {
		r.cancel()
	}
}

// cascade releases the open questions that approvals cover by now.
func (g *Gate) cascade(ctx context.Context) {
	type candidate struct {
		q       *question
		waiters []*waiter
	}
	var candidates []candidate
	g.mu.Lock()
	for _, q := range g.order {
		candidates = append(candidates, candidate{q, slices.Clone(q.waiters)})
	}
	g.mu.Unlock()
	if len(candidates) == 0 {
		return
	}
	stored, _ := g.stored(ctx) // what cannot be read covers nothing
	for _, c := range candidates {
		var by []Approval
		covered := false
		err := guard(func() error {
			grants := g.grants(g.lineage(c.q.session), stored)
			// Calls of different agents, with rules of their own, may share the question.
			for _, w := range c.waiters {
				if by, covered = w.c.covered(grants); !covered {
					break
				}
			}
			return nil
		})
		if err != nil || !covered {
			continue
		}
		same := func() bool {
			return !slices.ContainsFunc(c.q.waiters, func(w *waiter) bool { return !slices.Contains(c.waiters, w) })
		}
		g.settle(c.q, same, outcome{allow: true, by: ByCascade, grants: by}, Event{Type: EventReplied, Reply: Always})
	}
}

// startPrompts puts questions as far as may be at once. It is called with g.mu held.
func (g *Gate) startPrompts() {
	limit := g.MaxPrompts
	if limit == 0 {
		limit = 1
	}
	for len(g.waiting) > 0 && (limit < 0 || g.prompting < limit) {
		q := g.waiting[0]
		g.waiting = g.waiting[1:]
		if q.claimed {
			continue
		}
		g.prompting++
		go g.prompt(q, q.prompt)
	}
}

// prompt has the host put one question. The next one is put only after the
// answer was carried out, as it may settle that one.
func (g *Gate) prompt(q *question, p Prompt) {
	returned := false
	defer func() {
		if !returned {
			g.withdraw(q, outcome{by: ByFailure, reason: promptFailed, err: fmt.Errorf("panic: %v", recover())})
		}
		g.mu.Lock()
		g.prompting--
		g.startPrompts()
		g.mu.Unlock()
	}()
	a, err := g.Prompt(q.ctx, p)
	returned = true
	if err == nil {
		err = a.check(g.Project)
	}
	if err != nil {
		o := outcome{by: ByFailure, reason: promptFailed, err: err}
		var d *tool.DeniedError
		if errors.As(err, &d) {
			o.reason, o.endTurn = d.Reason, d.EndTurn
		}
		g.withdraw(q, o)
		return
	}
	g.mu.Lock()
	if q.claimed {
		g.mu.Unlock()
		return
	}
	g.claim(q)
	g.mu.Unlock()
	if err := g.answer(context.WithoutCancel(q.ctx), q, a); err != nil {
		g.log().Error("approval not remembered as wished", "request", q.id(), "error", err)
	}
}

// maxSettled is how many settled ids are known apart from unknown ones.
const maxSettled = 1024

// settledIDs remembers the last ids that were settled.
type settledIDs struct {
	known map[string]bool
	ring  []string
	next  int
}

func (s *settledIDs) add(id string) {
	if s.known == nil {
		s.known = make(map[string]bool)
	}
	if len(s.ring) < maxSettled {
		s.ring = append(s.ring, id)
	} else {
		delete(s.known, s.ring[s.next])
		s.ring[s.next] = id
		s.next = (s.next + 1) % maxSettled
	}
	s.known[id] = true
}

func (s *settledIDs) has(id string) bool { return s.known[id] }
