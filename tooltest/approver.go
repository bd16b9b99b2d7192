package tooltest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/agenttool/tool"
)

// AllowAll is a [tool.Approver] that allows everything. For tests only.
type AllowAll struct{}

// Approve returns nil.
func (AllowAll) Approve(context.Context, *tool.Call, *tool.Request) error { return nil }

// DenyAll is a [tool.Approver] that denies everything.
type DenyAll struct{}

// Approve returns a *[tool.DeniedError].
func (DenyAll) Approve(_ context.Context, _ *tool.Call, req *tool.Request) error {
	return &tool.DeniedError{Request: req, Reason: "Everything is denied here"}
}

// Step is one expected request and its answer.
type Step struct {
	Permission string // must be equal
	Pattern    string // if not empty, must be among the request's patterns
	Allow      bool
	Reason     string // of a denial, for the model
}

// Script is a [tool.Approver] that expects requests in the order of its steps and
// answers each. A request that does not fit the next step is denied and
// remembered; [Script.Err] reports it. The zero value expects nothing. It is safe
// for concurrent use, but concurrent calls may ask in any order.
type Script struct {
	Steps []Step // must not change after the first request

	mu    sync.Mutex
	next  int
	asked []*tool.Request
	bad   []string
}

// Approve answers by the next step.
func (s *Script) Approve(_ context.Context, _ *tool.Call, req *tool.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req)
	if s.next >= len(s.Steps) {
		s.bad = append(s.bad, fmt.Sprintf("unexpected request %s %q", req.Permission, req.Patterns))
		return &tool.DeniedError{Request: req, Reason: "This request is not in the script"}
	}
	st := s.Steps[s.next]
	if st.Permission != req.Permission || st.Pattern != "" && !contains(req.Patterns, st.Pattern) {
		s.bad = append(s.bad, fmt.Sprintf("request %s %q, want %s %q", req.Permission, req.Patterns, st.Permission, st.Pattern))
		return &tool.DeniedError{Request: req, Reason: "This request is not the next in the script"}
	}
	s.next++
	if st.Allow {
		return nil
	}
	return &tool.DeniedError{Request: req, Reason: st.Reason}
}

// Asked returns the requests so far, in the order they came.
func (s *Script) Asked() []*tool.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*tool.Request(nil), s.asked...)
}

// Err returns an error if a request came that was not expected, or if steps are left.
func (s *Script) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	bad := append([]string(nil), s.bad...)
	for _, st := range s.Steps[s.next:] {
		bad = append(bad, fmt.Sprintf("never asked: %s %q", st.Permission, st.Pattern))
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("script: %s", strings.Join(bad, "; "))
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
