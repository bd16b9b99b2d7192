package clienttool

import (
	"container/list"
	"slices"
)

// fairQueue holds the calls that wait for a client. It takes turns between agent
// sessions, so that a busy one cannot starve the others.
type fairQueue struct {
	n, bytes int
	turns    []*turn
	next     int
}

type turn struct {
	session string
	calls   list.List // of *Call
}

func (q *fairQueue) push(c *Call, front bool) {
	var t *turn
	for _, o := range q.turns {
		if o.session == c.req.SessionID {
			t = o
			break
		}
	}
	if t == nil {
		t = &turn{session: c.req.SessionID}
		q.turns = append(q.turns, t)
	}
	if front {
		c.elem = t.calls.PushFront(c)
	} else {
		c.elem = t.calls.PushBack(c)
	}
	c.turn = t
	q.n++
	q.bytes += len(c.req.Input)
}

func (q *fairQueue) remove(c *Call) {
	if c.elem == nil {
		return
	}
	c.turn.calls.Remove(c.elem)
	if c.turn.calls.Len() == 0 {
		i := slices.Index(q.turns, c.turn)
		q.turns = slices.Delete(q.turns, i, i+1)
		if i < q.next {
			q.next--
		}
	}
	c.elem, c.turn = nil, nil
	q.n--
	q.bytes -= len(c.req.Input)
}

// pop takes the next call that may go out now, or nil.
func (q *fairQueue) pop() *Call {
	for i := range q.turns {
		at := (q.next + i) % len(q.turns)
		for e := q.turns[at].calls.Front(); e != nil; e = e.Next() {
			c := e.Value.(*Call)
			if !c.tool.ready() {
				continue
			}
			q.next = at + 1
			q.remove(c)
			if len(q.turns) > 0 {
				q.next %= len(q.turns)
			} else {
				q.next = 0
			}
			return c
		}
	}
	return nil
}
