package clienttool

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
)

// Pipe returns two connected Conns inside one process. Each direction holds up to
// buffer messages, at least one; a Send beyond that waits. Closing either end
// closes both: what was sent before can still be received. It is the reference
// implementation of [Conn], works in a testing/synctest bubble, and has no limit
// on the size of messages.
func Pipe(buffer int) (host, client Conn) {
	buffer = max(buffer, 1)
	down, up := make(chan *Message, buffer), make(chan *Message, buffer)
	st := &pipeState{done: make(chan struct{})}
	return &pipeEnd{out: down, in: up, st: st}, &pipeEnd{out: up, in: down, st: st}
}

type pipeState struct {
	once sync.Once
	done chan struct{}
}

type pipeEnd struct {
	out chan<- *Message
	in  <-chan *Message
	st  *pipeState
}

func (p *pipeEnd) Send(ctx context.Context, m *Message) error {
	select {
	case <-p.st.done:
		return ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	c := m.clone()
	select {
	case p.out <- c:
		return nil
	default:
	}
	select {
	case p.out <- c:
		return nil
	case <-p.st.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *pipeEnd) Recv(ctx context.Context) (*Message, error) {
	select {
	case m := <-p.in:
		return m, nil
	default:
	}
	select {
	case m := <-p.in:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.st.done:
		select {
		case m := <-p.in:
			return m, nil
		default:
			return nil, io.EOF
		}
	}
}

func (p *pipeEnd) Close(error) error {
	p.st.once.Do(func() { close(p.st.done) })
	return nil
}

// clone copies m so that neither side sees what the other does to it later.
// Strings are shared, as nobody can change them.
func (m *Message) clone() *Message {
	c := *m
	c.RequestIDs = slices.Clone(m.RequestIDs)
	c.ToolIDs = slices.Clone(m.ToolIDs)
	c.Live = slices.Clone(m.Live)
	c.Rejected = slices.Clone(m.Rejected)
	c.Names = maps.Clone(m.Names)
	c.Tools = cloneDefinitions(m.Tools)
	c.Input = slices.Clone(m.Input)
	if m.Request != nil {
		r := *m.Request
		r.Input = slices.Clone(r.Input)
		c.Request = &r
	}
	if m.Result != nil {
		r := *m.Result
		r.Metadata, r.Structured = slices.Clone(r.Metadata), slices.Clone(r.Structured)
		r.Attachments = slices.Clone(r.Attachments)
		if r.Truncated != nil {
			t := *r.Truncated
			r.Truncated = &t
		}
		c.Result = &r
	}
	if m.Progress != nil {
		p := *m.Progress
		p.Metadata = slices.Clone(p.Metadata)
		c.Progress = &p
	}
	if m.Hello != nil {
		h := *m.Hello
		h.Tools, h.Live, h.Capabilities = cloneDefinitions(h.Tools), slices.Clone(h.Live), slices.Clone(h.Capabilities)
		c.Hello = &h
	}
	if m.Welcome != nil {
		w := *m.Welcome
		c.Welcome = &w
	}
	if m.Ask != nil {
		a := *m.Ask
		a.Patterns, a.Always = slices.Clone(a.Patterns), slices.Clone(a.Always)
		a.Metadata = cloneJSON(a.Metadata)
		c.Ask = &a
	}
	return &c
}

func cloneDefinitions(ds []ToolDefinition) []ToolDefinition {
	out := slices.Clone(ds)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

func (d ToolDefinition) clone() ToolDefinition {
	d.Parameters, d.OutputSchema = slices.Clone(d.Parameters), slices.Clone(d.OutputSchema)
	if d.Hints != nil {
		h := *d.Hints
		d.Hints = &h
	}
	return d
}

// cloneJSON copies what a tool put in the metadata of a question, which may hold
// any Go value, the way a wire would. What cannot be encoded is left out.
func cloneJSON(m map[string]any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(b, &out) != nil {
		return nil
	}
	return out
}
