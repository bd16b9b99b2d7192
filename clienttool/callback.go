package clienttool

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

// callback is a question or an invocation of a running call. The client repeats
// one whose reply it did not get, so replies are kept as long as the call.
type callback struct {
	reply *Message // nil: under way
}

// callback starts to answer an ask or an invoke.
func (h *Hub) callback(who owner, m *Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.owned(who, m.RequestID)
	if c == nil {
		return nil // the call is over, which its owner is told otherwise
	}
	if m.AskID == "" || len(m.AskID) > maxClientID {
		return refused(CodeInvalidRequest, "askID is missing")
	}
	c.started()
	if old := c.callbacks[m.AskID]; old != nil {
		if old.reply != nil {
			c.lease.link.control(old.reply)
		}
		return nil
	}
	busy := 0
	for _, cb := range c.callbacks {
		if cb.reply == nil {
			busy++
		}
	}
	if over(busy+1, h.opt.Limits.CallbacksPerCall) || over(len(c.callbacks)+1, 64*h.opt.Limits.CallbacksPerCall) {
		c.lease.link.control(turnedDown(m, CodeLimit, "too many questions at once"))
		return nil
	}
	if m.Type == TypeAsk && m.Ask == nil || m.Type == TypeInvoke && m.Tool == "" {
		c.lease.link.control(turnedDown(m, CodeInvalidRequest, "it asks for nothing"))
		return nil
	}
	if c.callbacks == nil {
		c.callbacks = make(map[string]*callback)
	}
	if c.ctx == nil {
		c.ctx, c.stop = context.WithCancelCause(h.ctx)
	}
	cb := new(callback)
	c.callbacks[m.AskID] = cb
	// Neither the user's thinking nor another tool's work counts against this call.
	c.pause()
	go func() {
		reply := &Message{Type: TypeInvokeReply, Code: CodePanic, Error: "it failed on the host"}
		if m.Type == TypeAsk {
			reply = &Message{Type: TypeAskReply, Decision: DecisionDeny, Reason: "Permission could not be asked for"}
		}
		contain(func() {
			if m.Type == TypeAsk {
				c.answer(m.Ask, reply)
			} else {
				c.invoke(m.Tool, m.Input, reply)
			}
		})
		reply.RequestID, reply.AskID = m.RequestID, m.AskID
		h.mu.Lock()
		defer h.mu.Unlock()
		cb.reply = reply
		c.resume()
		if c.state != callDone {
			c.lease.link.control(reply)
		}
	}()
	return nil
}

// turnedDown is the reply to a question that is put to nobody. It names the
// question, or the tool would wait for an answer as long as it lives.
func turnedDown(m *Message, code, text string) *Message {
	if m.Type == TypeAsk {
		return &Message{Type: TypeAskReply, RequestID: m.RequestID, AskID: m.AskID, Decision: DecisionDeny, Reason: text}
	}
	return &Message{Type: TypeInvokeReply, RequestID: m.RequestID, AskID: m.AskID, Code: code, Error: text}
}

// answer decides about a permission.
func (c *Call) answer(a *Ask, reply *Message) {
	if c.opt.ask == nil {
		reply.Reason = "Nobody can be asked for permission here"
		return
	}
	err := c.opt.ask(c.ctx, a.request(c.lease.clientID))
	if err == nil {
		reply.Decision, reply.Reason = DecisionAllow, ""
		return
	}
	reply.Reason = err.Error()
	var denied *tool.DeniedError
	if errors.As(err, &denied) && denied.Reason != "" {
		reply.Reason = denied.Reason
	}
	reply.Reason = plainText(reply.Reason, maxErrorBytes)
}

// trustedKey is the metadata key with which a tool of the host says that what it
// asks for provably changes nothing, and plan mode believes it; see
// permission.ReadOnlyKey. A client cannot prove anything.
const trustedKey = "readOnly"

// request is the question as the host's approver gets it: a client may make it
// stricter, never easier to allow. What "always" would grant cannot be everything.
func (a *Ask) request(clientID string) *tool.Request {
	r := &tool.Request{
		Permission: oneLine(a.Permission, maxClientID), Title: oneLine(a.Title, maxTitleBytes),
		Patterns: slices.Clone(a.Patterns), Protected: a.Protected, Opaque: a.Opaque, Metadata: maps.Clone(a.Metadata),
	}
	for _, p := range a.Always {
		if strings.Trim(p, "*? \t") != "" {
			r.Always = append(r.Always, p)
		}
	}
	if r.Metadata == nil {
		r.Metadata = make(map[string]any, 1)
	}
	delete(r.Metadata, trustedKey)
	r.Metadata["clientID"] = clientID
	return r
}

// invoke runs a tool of the host.
func (c *Call) invoke(name string, input json.RawMessage, reply *Message) {
	if c.opt.invoke == nil {
		reply.Code, reply.Error = CodeCallbackRefused, "this call may not call tools of the host"
		return
	}
	res, err := c.opt.invoke(c.ctx, name, input)
	if err != nil {
		reply.Code, reply.Error = CodeCallbackRefused, plainText(tool.ModelText(err), maxErrorBytes)
		return
	}
	r := responseOf(res, nil)
	if over(r.size(), c.h.opt.Limits.ResultBytes) {
		reply.Code, reply.Error = CodeTooLarge, "the tool's result is too large to be sent"
		return
	}
	reply.Code, reply.Error, reply.Result = "", "", r
}

func (r *ToolResponse) size() int {
	n := len(r.Output) + len(r.Structured) + len(r.Metadata) + len(r.Title) + len(r.Error)
	for i := range r.Attachments {
		n += len(r.Attachments[i].URL)
	}
	return n
}

// responseOf is the wire form of what a tool returned. A Result with IsError and
// no error is a failure whose text is its output.
func responseOf(res *tool.Result, err error) *ToolResponse {
	r := &ToolResponse{Status: StatusSuccess}
	if res != nil {
		r.Title, r.Output, r.Structured, r.EndTurn, r.Truncated = res.Title, res.Text, res.Structured, res.EndTurn, res.Truncated
		if len(res.Metadata) > 0 {
			if b, merr := json.Marshal(res.Metadata); merr == nil {
				r.Metadata = b
			}
		}
		for i := range res.Attachments {
			a := &res.Attachments[i]
			r.Attachments = append(r.Attachments, FilePart{ID: a.ID, SessionID: a.SessionID, MessageID: a.MessageID,
				Type: "file", MIME: a.MIME, Filename: a.Name, URL: a.DataURL()})
		}
	}
	if err != nil {
		r.Status, r.Error, r.Code = StatusError, clip(tool.ModelText(err), maxErrorBytes), codeOf(err)
	} else if res != nil && res.IsError {
		r.Status, r.Error, r.Output = StatusError, clip(res.Text, maxErrorBytes), ""
	}
	return r
}

// codeOf is the code for an error of a tool.
func codeOf(err error) string {
	var call *CallError
	switch {
	case errors.As(err, &call):
		return call.Code
	case errors.Is(err, tool.ErrPanic):
		return CodePanic
	case errors.Is(err, tool.ErrDenied):
		return CodeDenied
	case errors.Is(err, tool.ErrInput):
		return CodeInvalidInput
	case errors.Is(err, tool.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return CodeTimeout
	case errors.Is(err, tool.ErrCancelled), errors.Is(err, context.Canceled):
		return CodeCancelled
	}
	return CodeToolError
}
