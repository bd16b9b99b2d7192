package clienttool

import (
	"context"
	"encoding/json"
	"time"
)

// Registry is the plain surface over a [Hub], for code of the host itself: nobody
// is asked whether the caller may. Ids are as the clients know them.
type Registry struct {
	h *Hub
}

// Registry returns the plain surface.
func (h *Hub) Registry() *Registry { return &Registry{h} }

// Register adds tools to a client, or replaces those of the same name, and returns
// the ids of those that were taken. The tools go after Options.CreateGrace unless
// the client connects.
func (r *Registry) Register(clientID string, tools []ToolDefinition) []string {
	m, err := r.h.register(context.Background(), r.peer(clientID), clientID, "", tools, false, true)
	if err != nil {
		return []string{}
	}
	return m.ToolIDs
}

// peer is the owner of an existing lease, so that a registration by the host does
// not take the lease away from its client.
func (r *Registry) peer(clientID string) Peer {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	if l := r.h.leases[clientID]; l != nil {
		return Peer{Principal: l.principal}
	}
	return Peer{}
}

// Unregister removes tools, by the client's own name or by id, and returns the ids
// of those that were removed. Nil removes all, an empty list none.
func (r *Registry) Unregister(clientID string, toolIDs []string) []string {
	return r.h.unregister(owner{trusted: true}, clientID, toolIDs)
}

// GetTools returns the tools of a client, as registered, with their ids.
func (r *Registry) GetTools(clientID string) []ToolDefinition {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []ToolDefinition{}
	if l := h.leases[clientID]; l != nil {
		for _, t := range l.offered() {
			out = append(out, t.visible())
		}
	}
	return out
}

func (t *clientTool) visible() ToolDefinition {
	d := t.def.clone()
	d.ID = t.visibleID()
	if !t.lease.legacy {
		d.Revision = t.revision()
	}
	if len(d.Parameters) == 0 {
		d.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return d
}

// GetAllTools returns the tools of all clients by the ids that models see, which
// are unambiguous.
func (r *Registry) GetAllTools() map[string]ToolDefinition {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]ToolDefinition, len(h.tools))
	for id, t := range h.tools {
		d := t.visible()
		d.ID = id
		out[id] = d
	}
	return out
}

// Execute runs a tool of a client and waits for the result. The id of the tool,
// req.Tool, may be the client's own name. An empty request id is made up; a
// timeout of zero or less is the default.
func (r *Registry) Execute(ctx context.Context, clientID string, req ExecutionRequest, timeout time.Duration) (*ToolResult, error) {
	r.h.mu.Lock()
	t := r.find(clientID, req.Tool)
	r.h.mu.Unlock()
	if t == nil {
		return nil, &CallError{Code: CodeUnknownTool, Tool: req.Tool, RequestID: req.RequestID, ClientID: clientID}
	}
	return r.h.Execute(ctx, CallRequest{
		Tool: t.id, Input: req.Input, SessionID: req.SessionID, MessageID: req.MessageID, CallID: req.CallID,
		RequestID: req.RequestID, Trace: req.Trace, Timeout: timeout,
	})
}

// find is called with h.mu held.
func (r *Registry) find(clientID, name string) *clientTool {
	l := r.h.leases[clientID]
	if l == nil {
		return nil
	}
	for _, t := range l.offered() {
		if l.named(t, []string{name}) {
			return t
		}
	}
	return nil
}

// SubmitResult settles a call and reports whether it was this that did.
func (r *Registry) SubmitResult(requestID string, resp ToolResponse) bool {
	return r.h.submit(owner{trusted: true}, requestID, &resp) == VerdictAccepted
}

// Cleanup removes a client: its tools are gone and its calls fail.
func (r *Registry) Cleanup(clientID string) {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.leases[clientID]; l != nil {
		l.end(CodeGone, &Message{Type: TypeBye, Reason: ReasonExpired})
	}
}

// FindClientForTool returns the id of the client that has the tool, or "". An id in
// the plain form that two clients could mean finds the one whose id has it for sure.
func (r *Registry) FindClientForTool(toolID string) string {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.lookup(toolID); t != nil {
		return t.lease.clientID
	}
	return ""
}

// IsClientTool reports whether a client has registered a tool of this id.
func (r *Registry) IsClientTool(toolID string) bool { return r.FindClientForTool(toolID) != "" }
