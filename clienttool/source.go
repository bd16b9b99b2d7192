package clienttool

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"

	"github.com/agenttool/tool"
)

// Permission is what every call of a client's tool asks for, with the tool's id as the pattern.
const Permission = "client_tool"

// What a client's claim to have bounded its output itself is taken for, at most.
const (
	trustedBytes = 128 << 10
	trustedLines = 4096
)

var _ tool.Source = (*Hub)(nil)

// Tools implements [tool.Source]: the tools bound to the agent's session, and with
// Options.OfferUnbound those that are bound to none, also while their client is
// away for less than its grace period. A nil agent has no session.
//
// A call of one checks the arguments against the schema, asks for [Permission],
// goes to the client as it was approved or not at all, and reports its progress
// as updates of the call. A question of the tool itself is put to the host's
// approver.
func (h *Hub) Tools(_ context.Context, agent *tool.Agent) iter.Seq2[tool.Tool, error] {
	session := ""
	if agent != nil {
		session = agent.SessionID
	}
	return func(yield func(tool.Tool, error) bool) {
		h.mu.Lock()
		var ts []*hosted
		for _, l := range h.sortedLeases() {
			for _, t := range l.offered() {
				if h.offered(t, session) {
					ts = append(ts, t.hosted)
				}
			}
		}
		h.mu.Unlock()
		for _, t := range ts {
			// An error leaves this one tool out, and says why.
			if !yield(t.get()) {
				return
			}
		}
	}
}

// hosted is a client's tool as a tool of the host, which is made when an agent is
// first offered it: most tools are not bound to the session of any.
type hosted struct {
	h        *Hub
	t        *clientTool
	clientID string

	once sync.Once
	tool tool.Tool
	err  error
}

func (s *hosted) get() (tool.Tool, error) {
	s.once.Do(s.make)
	return s.tool, s.err
}

func (s *hosted) make() {
	t := s.t
	// The mark in front is the host's: whatever the text says, it is a client that says it.
	mark := clip(s.clientID, 24)
	def := tool.Def{
		Name: t.id, Title: t.def.Title, Description: "[client " + mark + "] " + t.def.Description, Input: t.def.Parameters,
		Parallel: t.def.Parallel, Timeout: -1, // the hub's limit, which starts after the question
		Hints: tool.Hints{OpenWorld: true},
	}
	if def.Title == "" {
		def.Title = oneLine(t.def.ID, maxTitleBytes)
	}
	def.Title += " (client " + mark + ")"
	if t.output != nil {
		def.Output = t.def.OutputSchema
	}
	if c := t.def.Hints; c != nil { // a claim is taken where it makes hosts more careful, not less
		def.Hints.Destructive = c.Destructive
	}
	s.tool, s.err = tool.Raw(def, s.run)
}

func (s *hosted) run(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	err := call.Ask(ctx, &tool.Request{
		Permission: Permission, Title: "Run " + s.t.id + " on a client", Tool: s.t.id,
		Patterns: []string{s.t.id}, Always: []string{s.t.id},
		Metadata: map[string]any{"tool": s.t.id, "name": s.t.def.ID, "clientID": s.t.lease.clientID, "input": call.Input},
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var denied *tool.DeniedError
	res, err := s.h.Execute(ctx, CallRequest{
		Tool: s.t.id, Input: call.Input, SessionID: call.SessionID, MessageID: call.MessageID, CallID: call.ID, Agent: call.Agent,
		OnProgress: updater(call),
		Ask: func(ctx context.Context, r *tool.Request) error {
			if r.Tool == "" {
				r.Tool = s.t.id
			}
			err := call.Ask(ctx, r)
			var d *tool.DeniedError
			if errors.As(err, &d) {
				mu.Lock()
				denied = d
				mu.Unlock()
			}
			return err
		},
		Invoke: call.Invoke,
		expect: s.t, ready: true,
	})
	out, rerr := resultOf(res)
	if err == nil {
		return out, rerr
	}
	mu.Lock()
	defer mu.Unlock()
	var ce *CallError
	if denied != nil && errors.As(err, &ce) && ce.Code == CodeDenied {
		err = denied // the host's own words, and whether the user wants to stop
	}
	return out, err
}

// updater turns progress into updates, which have the whole output so far.
func updater(call *tool.Call) func(Progress) {
	var text string
	return func(p Progress) {
		if p.Output != "" {
			text = p.Output
		}
		text += p.Delta
		u := tool.Update{Title: p.Title, Text: text}
		if len(p.Metadata) > 0 {
			json.Unmarshal(p.Metadata, &u.Metadata) // it was checked to be an object; what is not is left out
		}
		call.Update(u)
	}
}

// resultOf makes a Result of what a client sent and checkResult has passed.
func resultOf(r *ToolResult) (*tool.Result, error) {
	if r == nil {
		return nil, nil
	}
	out := &tool.Result{Title: r.Title, Text: r.Output, Structured: r.Structured, EndTurn: r.EndTurn}
	if len(r.Metadata) > 0 {
		if err := json.Unmarshal(r.Metadata, &out.Metadata); err != nil {
			return out, err
		}
	}
	// Whatever a client claims, no more than this reaches a model unbounded.
	if len(out.Text) <= trustedBytes && strings.Count(out.Text, "\n") <= trustedLines {
		if r.Truncated != nil {
			t := *r.Truncated
			out.Truncated = &t
		}
	} else {
		delete(out.Metadata, "truncated")
		delete(out.Metadata, "outputPath")
	}
	for i := range r.Attachments {
		a, err := r.Attachments[i].attachment()
		if err != nil {
			return out, err
		}
		a.SessionID, a.MessageID = "", ""
		out.Attachments = append(out.Attachments, a)
	}
	return out, nil
}
