package httptransport

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// Execute handles POST /execute.
func (s *Handlers) Execute(w http.ResponseWriter, r *http.Request) {
	p, ok := s.peer(w, r)
	if !ok {
		return
	}
	var in struct {
		ToolID    string          `json:"toolID"`
		Tool      string          `json:"tool"`
		RequestID string          `json:"requestID"`
		SessionID string          `json:"sessionID"`
		MessageID string          `json:"messageID"`
		CallID    string          `json:"callID"`
		Input     json.RawMessage `json:"input"`
		Timeout   float64         `json:"timeout"` // milliseconds
	}
	if err := s.decode(w, r, &in); err != nil {
		problemFor(err, p).write(w)
		return
	}
	if in.ToolID == "" {
		in.ToolID = in.Tool
	}
	if in.ToolID == "" {
		invalid("toolID is required").write(w)
		return
	}
	if t, ok := s.hub.Lookup(in.ToolID); ok {
		in.ToolID = t.ID
	}
	if err := s.hub.Check(r.Context(), p, clienttool.OpExecute, clienttool.Target{Tool: in.ToolID, SessionID: in.SessionID}); err != nil || p.Principal == "" {
		if err == nil {
			err = &clienttool.RefusedError{Code: clienttool.CodeUnauthorized, Err: errors.New("anonymous peers may not run tools")}
		}
		problemFor(err, p).write(w)
		return
	}
	res, err := s.hub.Execute(r.Context(), clienttool.CallRequest{
		Tool: in.ToolID, RequestID: in.RequestID, SessionID: in.SessionID, MessageID: in.MessageID, CallID: in.CallID,
		Input: in.Input, Timeout: time.Duration(min(max(in.Timeout, 0), 1e9)) * time.Millisecond,
	})
	if err != nil {
		if r.Context().Err() == nil {
			callProblem(err).write(w)
		}
		return
	}
	reply(w, http.StatusOK, struct {
		Status string `json:"status"`
		*clienttool.ToolResult
	}{clienttool.StatusSuccess, res})
}

func callProblem(err error) *problem {
	var e *clienttool.CallError
	if !errors.As(err, &e) {
		return problemFor(err, clienttool.Peer{})
	}
	p := &problem{text: e.ModelText(), wait: e.RetryAfter}
	switch e.Code {
	case clienttool.CodeTimeout, clienttool.CodeHeartbeat:
		p.status, p.code = http.StatusGatewayTimeout, "TIMEOUT"
	case clienttool.CodeUnknownTool, clienttool.CodeToolChanged:
		p.status, p.code = http.StatusNotFound, "NOT_FOUND"
	case clienttool.CodeDuplicate:
		p.status, p.code = http.StatusConflict, "CONFLICT"
	case clienttool.CodeInvalidInput:
		p.status, p.code = http.StatusUnprocessableEntity, "INVALID_REQUEST"
	case clienttool.CodeRateLimited:
		p.status, p.code = http.StatusTooManyRequests, "RATE_LIMITED"
	case clienttool.CodeTooLarge:
		p.status, p.code = http.StatusRequestEntityTooLarge, "TOO_LARGE"
	case clienttool.CodeToolError, clienttool.CodeBadResult, clienttool.CodeDenied:
		p.status, p.code = http.StatusBadGateway, "TOOL_ERROR"
	default:
		p.status, p.code, p.wait = http.StatusServiceUnavailable, "UNAVAILABLE", max(p.wait, time.Second)
	}
	return p
}
