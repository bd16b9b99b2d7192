package clienttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agenttool/tool"
)

// inbound handles one frame of a duplex link.
func (h *Hub) inbound(ctx context.Context, k *link, p Peer, m *Message) {
	h.mu.Lock()
	l := k.lease
	ok := k.hear(m, l.solicited(m))
	dead := l.link != k
	h.mu.Unlock()
	if !ok {
		return
	}
	if dead && m.Type != TypeResult { // a result counts wherever it comes from, if the owner sends it
		return
	}
	p.ClientID = l.clientID
	m.ClientID, m.Gen = l.clientID, k.gen
	if m.Type == TypeHostTools {
		h.listHostTools(k, p, m)
		return
	}
	reply, err := h.handle(ctx, p, m)
	if err != nil {
		reply = errorMessage(m, err)
	}
	if reply == nil || l.legacy && reply.Type == TypeAck {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if reply.Verdict == VerdictAccepted && l.caps[CapBatch] {
		k.accept(reply.RequestID)
		return
	}
	k.control(reply)
}

func errorMessage(m *Message, err error) *Message {
	e := &Message{Type: TypeError, Code: CodeInvalidRequest, Error: errText(err), Ref: m.Type}
	var r *RefusedError
	if errors.As(err, &r) {
		e.Code, e.Error, e.RetryMs = r.Code, errText(r.Err), r.RetryAfter.Milliseconds()
	}
	return e
}

// Handle handles one message of a client that comes beside its link, as by POST,
// and returns the reply, which may be nil: registered, unregistered, ack with a
// verdict, pong. m.ClientID says whose it is; for a result that may be left out.
// The error matches [ErrRefused].
func (h *Hub) Handle(ctx context.Context, p Peer, m *Message) (*Message, error) {
	if p.Principal == "" && !h.opt.AllowAnonymous {
		return nil, refused(CodeUnauthorized, "anonymous peers are not accepted")
	}
	if p.ClientID != "" && m.ClientID != "" && p.ClientID != m.ClientID {
		return nil, refused(CodeUnauthorized, "that is another client's id")
	}
	if p.ClientID == "" {
		p.ClientID = m.ClientID
	}
	if m.Type != TypeRegister && m.Type != TypeUnregister && m.Type != TypeResult {
		h.mu.Lock()
		l := h.leases[p.ClientID]
		if l == nil || l.principal != p.Principal {
			h.mu.Unlock()
			return nil, refused(CodeNotFound, "there is no such client")
		}
		k := l.link
		ok := k == nil || m.Gen != 0 && m.Gen != k.gen || k.hear(m, l.solicited(m))
		h.mu.Unlock()
		if !ok {
			return nil, refused(CodeRateLimited, "slow down")
		}
	}
	return h.handle(ctx, p, m)
}

// handle does what m says. p.ClientID is the client, if it is known.
func (h *Hub) handle(ctx context.Context, p Peer, m *Message) (*Message, error) {
	who := owner{principal: p.Principal, clientID: p.ClientID}
	switch m.Type {
	case TypeRegister:
		id := p.ClientID
		if m.ClientID != "" {
			id = m.ClientID
		}
		return h.register(ctx, p, id, m.SessionID, m.Tools, m.Mode == ModeReplace, false)
	case TypeUnregister:
		if err := h.authorize(ctx, p, OpRegister, Target{ClientID: p.ClientID}); err != nil {
			return nil, err
		}
		return &Message{Type: TypeUnregistered, ToolIDs: h.unregister(who, p.ClientID, m.ToolIDs)}, nil
	case TypeResult:
		if m.RequestID == "" {
			return nil, refused(CodeInvalidRequest, "requestID is missing")
		}
		if h.opt.Authorize != nil {
			if err := h.authorize(ctx, p, OpResult, Target{ClientID: p.ClientID, RequestID: m.RequestID}); err != nil {
				return &Message{Type: TypeAck, RequestID: m.RequestID, Verdict: VerdictUnknown}, nil
			}
		}
		return &Message{Type: TypeAck, RequestID: m.RequestID, Verdict: h.submit(who, m.RequestID, m.Result)}, nil
	case TypeAck:
		h.acknowledge(who, m.RequestIDs)
	case TypeProgress:
		return nil, h.takeProgress(who, m)
	case TypeAsk, TypeInvoke:
		return nil, h.callback(who, m)
	case TypeHostTools:
		return h.hostTools(ctx, p, m)
	case TypePing:
		return &Message{Type: TypePong}, nil
	case TypeSync:
		h.sync(who, m)
	case TypeBye:
		h.mu.Lock()
		defer h.mu.Unlock()
		if l := h.leases[p.ClientID]; l != nil && who.owns(l.principal, l.clientID) && (l.link == nil || m.Gen == 0 || m.Gen == l.link.gen) {
			l.leave()
		}
	case TypeHello:
		return nil, refused(CodeProtocol, "hello comes first, and once")
	}
	return nil, nil
}

// submit takes a result from who says to own the call.
func (h *Hub) submit(who owner, id string, r *ToolResponse) Verdict {
	h.mu.Lock()
	c := h.calls[id]
	if c != nil && !who.owns(c.lease.principal, c.lease.clientID) || c != nil && !c.written && !who.trusted {
		h.emit(Event{Type: EventRejected, ClientID: who.clientID, RequestID: id, Code: CodeUnauthorized})
		h.count("foreign")
		h.mu.Unlock()
		return VerdictUnknown
	}
	if c == nil {
		defer h.mu.Unlock()
		return h.verdictOnEnded(who, id)
	}
	h.mu.Unlock()

	checked, err := h.checkResult(c.tool, r)

	h.mu.Lock()
	defer h.mu.Unlock()
	v := VerdictAccepted
	var failure error
	if err != nil {
		code := CodeBadResult
		v = VerdictInvalid
		if errors.Is(err, ErrTooLarge) {
			code, v = CodeTooLarge, VerdictTooLarge
		}
		checked = nil
		c.floor = Started
		e := c.fail(code, err)
		e.Delivery = Started
		failure = e
	} else if checked.Status == StatusError {
		failure = c.toolError(checked)
	}
	if !h.settle(c, checked, failure, v) {
		return h.verdictOnEnded(who, id)
	}
	return v
}

// verdictOnEnded answers a result for a call that is not live.
func (h *Hub) verdictOnEnded(who owner, id string) Verdict {
	v, ok := h.tombs.get(id, who)
	if !ok {
		return VerdictUnknown
	}
	if v == VerdictAccepted {
		h.count("duplicate")
		return VerdictDuplicate
	}
	h.count("late")
	h.emit(Event{Type: EventLate, ClientID: who.clientID, RequestID: id, Code: string(v)})
	return v
}

// toolError is the failure that a client reports.
func (c *Call) toolError(r *ToolResponse) *CallError {
	e := c.fail(CodeToolError, errors.New(r.Error))
	e.Delivery = Started
	switch r.Code {
	case CodeCancelled, CodeTimeout, CodeTooLarge, CodeDenied:
		e.Code = r.Code
	case CodeUnknownTool:
		e.Code, e.Delivery = CodeUnknownTool, NotDelivered
	case CodeInvalidInput:
		e.Code, e.Delivery = CodeInvalidInput, NotDelivered
	case CodePanic:
		e.Cause = fmt.Errorf("the tool failed with an internal error. It may have done part of its work: check before you go on")
	}
	return e
}

// checkResult bounds and cleans what a stranger calls a result.
func (h *Hub) checkResult(t *clientTool, r *ToolResponse) (*ToolResponse, error) {
	lim := h.opt.Limits
	if r == nil {
		return nil, errors.New("there is no result")
	}
	size := len(r.Output) + len(r.Structured) + len(r.Metadata) + len(r.Title) + len(r.Error)
	for i := range r.Attachments {
		size += len(r.Attachments[i].URL)
	}
	if over(size, lim.ResultBytes) {
		return nil, fmt.Errorf("%w: the result is %d bytes, at most %d are taken", ErrTooLarge, size, lim.ResultBytes)
	}
	c := *r
	switch r.Status {
	case StatusSuccess:
		c.Error, c.Code = "", ""
	case StatusError:
		c.Error = plainText(r.Error, maxErrorBytes)
		c.Code = oneLine(r.Code, maxClientID)
	default:
		return nil, fmt.Errorf("status is %q, not success or error", oneLine(r.Status, 40))
	}
	c.Title = oneLine(r.Title, maxTitleBytes)
	c.Output = strings.ToValidUTF8(r.Output, "\uFFFD")
	if len(c.Metadata) > 0 {
		if len(c.Metadata) > maxMetadataBytes {
			return nil, fmt.Errorf("%w: the metadata is more than %d bytes", ErrTooLarge, maxMetadataBytes)
		}
		if string(c.Metadata) == "null" {
			c.Metadata = nil
		} else if !isObject(c.Metadata) || !json.Valid(c.Metadata) {
			return nil, errors.New("the metadata is not an object")
		}
	}
	if over(len(c.Attachments), lim.Attachments) {
		return nil, fmt.Errorf("%w: %d attachments, at most %d are taken", ErrTooLarge, len(c.Attachments), lim.Attachments)
	}
	for i := range c.Attachments {
		if _, err := c.Attachments[i].attachment(); err != nil {
			return nil, err
		}
	}
	if len(c.Structured) > 0 && !json.Valid(c.Structured) {
		return nil, errors.New("structured is not JSON")
	}
	if t.output != nil && c.Status == StatusSuccess {
		if err := t.output.Validate(c.Structured); err != nil {
			return nil, fmt.Errorf("structured does not fit the tool's outputSchema: %w", err)
		}
	}
	return &c, nil
}

// attachment decodes a file part; only data URLs are taken from strangers.
func (f *FilePart) attachment() (tool.Attachment, error) {
	var a tool.Attachment
	if len(f.URL) < 5 || !strings.EqualFold(f.URL[:5], "data:") {
		return a, fmt.Errorf("an attachment's url is %q; only data URLs are taken", oneLine(f.URL, 40))
	}
	g := *f
	g.Type = "file"
	b, err := json.Marshal(g)
	if err != nil {
		return a, err
	}
	err = json.Unmarshal(b, &a)
	a.Name = oneLine(a.Name, maxTitleBytes)
	a.MIME = oneLine(a.MIME, maxClientID)
	return a, err
}

// owned returns a live call of who that the client may know of. It is called with h.mu held.
func (h *Hub) owned(who owner, id string) *Call {
	c := h.calls[id]
	if c == nil || !c.written || !who.owns(c.lease.principal, c.lease.clientID) {
		return nil
	}
	return c
}

func (h *Hub) acknowledge(who owner, ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if c := h.owned(who, id); c != nil {
			c.started()
			continue
		}
		// What the host does not know, the client is to forget.
		if l := h.leases[who.clientID]; l != nil && who.owns(l.principal, l.clientID) {
			l.link.control(&Message{Type: TypeCancel, RequestID: clip(id, maxClientID), Reason: ReasonSettled})
		}
	}
}

func (h *Hub) takeProgress(who owner, m *Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.owned(who, m.RequestID)
	if c == nil {
		return nil // late: the result was faster, or the call was cancelled
	}
	if err := c.report(m.Progress); err != nil {
		return &RefusedError{Code: CodeTooLarge, Err: err}
	}
	return nil
}

// sync repairs what a carrier has lost: requests up to the last frame that the
// client saw and that it does not hold are written again.
func (h *Hub) sync(who owner, m *Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.leases[who.clientID]
	if l == nil || l.link == nil || !who.owns(l.principal, l.clientID) {
		return
	}
	seen := m.Seq
	l.reconcile(m.Live, false, func(c *Call) bool { return c.state == callSent && c.seq <= seen })
	l.link.kick()
}
