package httptransport

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// problem is an answer that is not 2xx.
type problem struct {
	status int
	code   string
	text   string
	wait   time.Duration
	extra  *clienttool.Message // its fields go beside the error's
}

func (p *problem) Error() string { return p.text }

func invalid(format string, a ...any) *problem {
	return &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", text: fmt.Sprintf(format, a...)}
}

// problemFor maps what the hub says to a status.
func problemFor(err error, p clienttool.Peer) *problem {
	var pr *problem
	if errors.As(err, &pr) {
		return pr
	}
	var r *clienttool.RefusedError
	if !errors.As(err, &r) {
		return &problem{status: http.StatusInternalServerError, code: "INTERNAL_ERROR", text: "internal error"}
	}
	out := &problem{text: r.Err.Error(), wait: r.RetryAfter}
	switch r.Code {
	case clienttool.CodeUnauthorized:
		out.status, out.code = http.StatusForbidden, "FORBIDDEN"
		if p.Principal == "" {
			out.status, out.code = http.StatusUnauthorized, "UNAUTHORIZED"
		}
	case clienttool.CodeConflict:
		out.status, out.code = http.StatusConflict, "CONFLICT"
	case clienttool.CodeSuperseded:
		out.status = http.StatusNoContent
	case clienttool.CodeNotFound:
		out.status, out.code = http.StatusNotFound, "NOT_FOUND"
	case clienttool.CodeLimit, clienttool.CodeRateLimited:
		out.status, out.code = http.StatusTooManyRequests, "RATE_LIMITED"
		out.wait = max(out.wait, time.Second)
	case clienttool.CodeShutdown, clienttool.CodeUnavailable:
		out.status, out.code = http.StatusServiceUnavailable, "UNAVAILABLE"
		out.wait = max(out.wait, time.Second)
	case clienttool.CodeTooLarge:
		out.status, out.code = http.StatusRequestEntityTooLarge, "TOO_LARGE"
	default:
		out.status, out.code = http.StatusBadRequest, "INVALID_REQUEST"
	}
	return out
}

func reply(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error","code":"INTERNAL_ERROR"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

func (p *problem) write(w http.ResponseWriter) {
	if p.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.wait.Seconds()))))
	}
	if p.status == http.StatusNoContent {
		w.WriteHeader(p.status)
		return
	}
	body := struct {
		*clienttool.Message
		Error string `json:"error"`
		Code  string `json:"code"`
	}{p.extra, p.text, p.code}
	reply(w, p.status, body)
}
