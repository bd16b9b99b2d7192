package clienttool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/agenttool/tool"
)

// Ask asks the host for permission; see [tool.Call.Ask] for the error. It waits as
// long as the host's user needs, over lost connections, and that time counts for no limit.
func (i *Invocation) Ask(ctx context.Context, r *tool.Request) error {
	m, err := i.call.roundTrip(ctx, &Message{Type: TypeAsk, Ask: &Ask{
		Permission: r.Permission, Title: r.Title, Patterns: r.Patterns, Always: r.Always,
		Protected: r.Protected, Opaque: r.Opaque, Metadata: r.Metadata,
	}})
	if err != nil {
		return err
	}
	if m.Decision == DecisionAllow {
		return nil
	}
	return &tool.DeniedError{Request: r, Reason: plainText(m.Reason, maxErrorBytes)}
}

// Invoke runs a tool of the host, as [tool.Call.Invoke] does: with the permissions
// of the agent whose call this is. An error means that nothing was run.
func (i *Invocation) Invoke(ctx context.Context, name string, input json.RawMessage) (*tool.Result, error) {
	m, err := i.call.roundTrip(ctx, &Message{Type: TypeInvoke, Tool: name, Input: input})
	if err != nil {
		return nil, err
	}
	if m.Code != "" || m.Result == nil {
		return nil, errors.New(plainText(m.Error, maxErrorBytes))
	}
	r := m.Result
	out, err := resultOf(&ToolResult{Title: r.Title, Output: r.Output, Metadata: r.Metadata, Attachments: r.Attachments,
		Structured: r.Structured, EndTurn: r.EndTurn, Truncated: r.Truncated})
	if out != nil && r.Status == StatusError {
		out.IsError = true
		if out.Text == "" {
			out.Text = r.Error
		}
	}
	return out, err
}

// roundTrip puts a question to the host and waits for the reply. A lost link does
// not matter: the question is put again.
func (call *clientCall) roundTrip(ctx context.Context, m *Message) (*Message, error) {
	c := call.c
	m.RequestID, m.AskID = call.req.RequestID, newAskID()
	ask := &clientAsk{m: m, reply: make(chan *Message, 1)}
	c.mu.Lock()
	if call.gone || call.result != nil {
		c.mu.Unlock()
		return nil, errEnded
	}
	if call.asks == nil {
		call.asks = make(map[string]*clientAsk)
	}
	call.asks[m.AskID] = ask
	call.pause()
	c.link.control(m)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(call.asks, m.AskID)
		call.resume()
	}()
	select {
	case r := <-ask.reply:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func newAskID() string { return rand.Text() }

// answer passes a reply on; one that nobody waits for, or waited for twice, is dropped.
func (ask *clientAsk) answer(m *Message) {
	if ask == nil {
		return
	}
	select {
	case ask.reply <- m:
	default:
	}
}

// pause and resume stop the clock; they are called with the client's lock held.
func (call *clientCall) pause() {
	if call.paused++; call.paused == 1 && call.timer != nil {
		call.timer.Stop()
		call.left = time.Until(call.limit)
	}
}

func (call *clientCall) resume() {
	if call.paused--; call.paused == 0 && call.timer != nil && call.result == nil {
		call.limit = time.Now().Add(call.left)
		call.timer.Reset(max(call.left, 0))
	}
}

// AddTool serves a tool as it is: its schema, its questions, its progress and its
// result are the host's as if it ran there. Spec is asked for once, without an agent.
// The tool's own time limit is passed on; the host caps it.
func (c *Client) AddTool(t tool.Tool) error {
	spec, err := t.Spec(context.Background(), nil)
	if err != nil {
		return err
	}
	def := ToolDefinition{ID: t.Name(), Title: spec.Title, Description: spec.Description, Parameters: spec.Input,
		OutputSchema: spec.Output, Hints: &spec.Hints, Parallel: spec.Parallel, Idempotent: spec.Hints.ReadOnly || spec.Hints.Idempotent}
	if spec.Timeout > 0 {
		def.TimeoutMs = spec.Timeout.Milliseconds()
	}
	bound := c.opt.Truncate
	if bound == nil {
		bound = leaveToHost
	}
	return c.Add(def, func(ctx context.Context, inv *Invocation) (*ToolResult, error) {
		call := (&tool.Call{ID: inv.CallID, Tool: t.Name(), Input: inv.Input, SessionID: inv.SessionID, MessageID: inv.MessageID}).Bind(tool.Runtime{
			Approver: tool.ApproverFunc(func(ctx context.Context, _ *tool.Call, r *tool.Request) error { return inv.Ask(ctx, r) }),
			Update: func(_ *tool.Call, u tool.Update) {
				p := Progress{Title: u.Title, Output: u.Text}
				if len(u.Metadata) > 0 {
					p.Metadata, _ = json.Marshal(u.Metadata) // what cannot be encoded is left out
				}
				inv.Progress(p)
			},
			Invoke: func(ctx context.Context, call *tool.Call) (*tool.Result, error) {
				return inv.Invoke(ctx, call.Tool, call.Input)
			},
			Truncate: bound,
		})
		res, err := t.Run(tool.NewContext(ctx, call), call)
		r := responseOf(res, nil)
		if err == nil && r.Status == StatusError {
			err = errors.New(r.Error)
		}
		return r.result(), err
	})
}

// leaveToHost does not cut: the host knows how much its model is to read, and where
// to keep the rest. A tool that bounded its own output says so.
func leaveToHost(_ context.Context, _ *tool.Call, spec *tool.Spec, res *tool.Result) error {
	if res.Truncated == nil && spec.MaxOutput < 0 {
		res.Truncated = &tool.Truncation{}
	}
	return nil
}
