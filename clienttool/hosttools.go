package clienttool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/agenttool/tool"
)

// HostTools returns the tools of the host that agents of a session may use, for a
// peer that acts as clientID: what a tool of that client may invoke. An empty
// session is the one that the client's tools are bound to, if it is one. The error
// matches [ErrRefused]; a session that is not the client's is answered like one that
// does not exist.
func (h *Hub) HostTools(ctx context.Context, p Peer, clientID, sessionID string) ([]ToolDefinition, error) {
	m, err := h.Handle(ctx, p, &Message{Type: TypeHostTools, ClientID: clientID, SessionID: sessionID})
	if err != nil {
		return nil, err
	}
	return m.Tools, nil
}

// hostTools answers a host-tools message.
func (h *Hub) hostTools(ctx context.Context, p Peer, m *Message) (*Message, error) {
	agent, err := h.askingAgent(owner{principal: p.Principal, clientID: p.ClientID}, m)
	if err != nil {
		return nil, err
	}
	if err := h.authorize(ctx, p, OpHostTools, Target{ClientID: p.ClientID, SessionID: agent.SessionID, RequestID: m.RequestID}); err != nil {
		return nil, refused(CodeNotFound, textNoSession)
	}
	reply := &Message{Type: TypeHostToolsReply, AskID: m.AskID, RequestID: m.RequestID}
	if h.opt.HostTools == nil {
		return reply, nil
	}
	var set *tool.Set
	err = errPanicked
	contain(func() { set, err = h.opt.HostTools(ctx, agent) })
	if set == nil {
		if err == nil {
			return reply, nil
		}
		h.opt.Logger.Error("the tools of the host could not be listed", "session", agent.SessionID, "error", err)
		return nil, refused(CodeUnavailable, "the tools of the host cannot be listed now")
	}
	for spec := range set.Specs() {
		reply.Tools = append(reply.Tools, definitionOf(spec))
	}
	return reply, nil
}

const textNoSession = "the client has no tools in such a session"

// askingAgent is the agent that a host-tools message is for: of the call that it
// names, or of a session that the client has tools for.
func (h *Hub) askingAgent(who owner, m *Message) (*tool.Agent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.RequestID != "" {
		c := h.owned(who, m.RequestID)
		if c == nil {
			return nil, refused(CodeNotFound, "there is no such call")
		}
		if c.opt.agent != nil {
			return c.opt.agent, nil
		}
		return &tool.Agent{SessionID: c.req.SessionID}, nil
	}
	l := h.leases[who.clientID]
	if l == nil || !who.owns(l.principal, l.clientID) {
		return nil, refused(CodeNotFound, textNoSession)
	}
	sessions := l.sessions()
	if m.SessionID == "" && len(sessions) == 1 {
		return &tool.Agent{SessionID: sessions[0]}, nil
	}
	if m.SessionID == "" || !slices.Contains(sessions, m.SessionID) {
		return nil, refused(CodeNotFound, textNoSession)
	}
	return &tool.Agent{SessionID: m.SessionID}, nil
}

// sessions returns the sessions that tools of the client are bound to.
func (l *lease) sessions() []string {
	var ids []string
	for _, t := range l.tools {
		for id := range t.sessions {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// listHostTools answers on a duplex link, in a goroutine, as resolving tools may take
// the host a while.
func (h *Hub) listHostTools(k *link, p Peer, m *Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if over(k.listing+1, h.opt.Limits.CallbacksPerCall) {
		k.control(&Message{Type: TypeHostToolsReply, AskID: m.AskID, RequestID: m.RequestID, Code: CodeLimit, Error: "too many questions at once"})
		return
	}
	k.listing++
	go func() {
		reply, err := h.hostTools(k.ctx, p, m)
		if err != nil {
			reply = errorMessage(m, err)
			reply.Type, reply.AskID, reply.RequestID = TypeHostToolsReply, m.AskID, m.RequestID
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		k.listing--
		k.control(reply)
	}()
}

// definitionOf is what a client is told of a tool of the host.
func definitionOf(s *tool.Spec) ToolDefinition {
	hints := s.Hints
	d := ToolDefinition{ID: s.Name, Title: s.Title, Description: s.Description, Parameters: s.Input, OutputSchema: s.Output,
		Hints: &hints, Parallel: s.Parallel}
	if len(d.Parameters) == 0 {
		d.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	if s.Timeout > 0 {
		d.TimeoutMs = s.Timeout.Milliseconds()
	}
	return d.clone()
}

// HostTools returns the tools of the host that agents of a session may use, so that
// a tool of this client can invoke them; an empty session is the one that the
// client's tools are bound to. It waits for a connection as long as ctx does. The
// error is a *[RefusedError] if the host does not say, and [ErrClosed] once Run has ended.
func (c *Client) HostTools(ctx context.Context, sessionID string) ([]ToolDefinition, error) {
	return c.hostTools(ctx, &Message{Type: TypeHostTools, SessionID: sessionID})
}

// HostTools returns the tools of the host that the agent whose call this is may
// use: those that Invoke takes.
func (i *Invocation) HostTools(ctx context.Context) ([]ToolDefinition, error) {
	return i.call.c.hostTools(ctx, &Message{Type: TypeHostTools, RequestID: i.RequestID})
}

func (c *Client) hostTools(ctx context.Context, m *Message) ([]ToolDefinition, error) {
	m.AskID = newAskID()
	ask := &clientAsk{m: m, reply: make(chan *Message, 1)}
	c.mu.Lock()
	c.asks[m.AskID] = ask
	c.link.control(m)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asks, m.AskID)
	}()
	select {
	case r := <-ask.reply:
		if r.Code != "" {
			return nil, &RefusedError{Code: oneLine(r.Code, maxTitleBytes), Err: errors.New(plainText(r.Error, maxErrorBytes))}
		}
		return r.Tools, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.closed:
		return nil, ErrClosed
	}
}
