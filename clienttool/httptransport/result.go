package httptransport

import (
	"encoding/json"
	"net/http"

	"github.com/agenttool/tool/clienttool"
)

// Result handles POST /result, {requestID, result:{status,…}} or {requestID, status, …}.
func (s *Handlers) Result(w http.ResponseWriter, r *http.Request) {
	s.handle(w, r, func() (*clienttool.Message, error) {
		b, err := s.body(w, r)
		if err != nil {
			return nil, err
		}
		var id struct {
			RequestID string `json:"requestID"`
		}
		if err := json.Unmarshal(b, &id); err != nil {
			return nil, invalid("invalid JSON body: %v", err)
		}
		if id.RequestID == "" {
			return nil, invalid("requestID is required")
		}
		m, err := clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: -1})
		if err != nil {
			return nil, invalid("%v", err)
		}
		if m.Type != clienttool.TypeResult {
			return nil, invalid("the body is not a result")
		}
		return m, nil
	}, func(_ clienttool.Peer, m *clienttool.Message) error {
		if pr := verdictProblem(m); pr != nil {
			return pr
		}
		out := map[string]any{"success": true}
		if m.Verdict == clienttool.VerdictDuplicate {
			out["duplicate"] = true
		}
		reply(w, http.StatusOK, out)
		return nil
	})
}

// verdictProblem is the answer for a verdict that is no success; nil for success.
func verdictProblem(m *clienttool.Message) *problem {
	switch m.Verdict {
	case clienttool.VerdictAccepted, clienttool.VerdictDuplicate:
		return nil
	case clienttool.VerdictTimeout:
		return &problem{status: http.StatusGone, code: "TIMEOUT", text: "The call had timed out"}
	case clienttool.VerdictCancelled:
		return &problem{status: http.StatusGone, code: "CANCELLED", text: "The call had ended"}
	case clienttool.VerdictInvalid:
		return invalid("The result is not valid")
	case clienttool.VerdictTooLarge:
		return &problem{status: http.StatusRequestEntityTooLarge, code: "TOO_LARGE", text: "The result is too large"}
	}
	return &problem{status: http.StatusNotFound, code: "NOT_FOUND", text: "Unknown request ID"}
}
