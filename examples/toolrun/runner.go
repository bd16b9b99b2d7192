package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/permission"
)

// runner answers calls.
type runner struct {
	toolset *builtin.Toolset
	set     *tool.Set
	ex      *tool.Executor
	rules   permission.Ruleset
	allow   bool // what is asked is allowed, once
	doom    tool.Middleware
}

// request is an input line, or a member of a group.
type request struct {
	ID            json.RawMessage   `json:"id"`
	Tool          string            `json:"tool"`
	Input         json.RawMessage   `json:"input"`
	Session       string            `json:"session"`
	Agent         string            `json:"agent"`
	Rules         json.RawMessage   `json:"rules"`
	CancelAfterMs *int64            `json:"cancelAfterMs"`
	Explain       bool              `json:"explain"`
	Parallel      []json.RawMessage `json:"parallel"`
}

// asked is one question and its answer.
type asked struct {
	Permission string            `json:"permission"`
	Patterns   []string          `json:"patterns"`
	Always     []string          `json:"always"`
	Decision   permission.Action `json:"decision"`
}

// answer is the output line of a call that was run, or could not be.
type answer struct {
	ID          string            `json:"id"`
	Tool        string            `json:"tool"`
	State       tool.State        `json:"state"`
	Title       string            `json:"title"`
	Text        string            `json:"text"`
	Metadata    map[string]any    `json:"metadata"`
	Attachments []tool.Attachment `json:"attachments"`
	IsError     bool              `json:"isError"`
	Error       string            `json:"error"`
	Asks        []asked           `json:"asks"`
	Updates     int               `json:"updates"`
	MS          int64             `json:"ms"`
}

// explained is the output line of a call that was only explained.
type explained struct {
	ID       string            `json:"id"`
	Tool     string            `json:"tool"`
	Decision permission.Action `json:"decision"`
	Asks     []asked           `json:"asks"`
	Reasons  []string          `json:"reasons"`
}

// explainedCommand is the same for bash.
type explainedCommand struct {
	explained
	Commands     [][]*string `json:"commands"`
	ExternalDirs []string    `json:"externalDirs"`
	Writes       []string    `json:"writes"`
}

// failed is the output line of a plan that failed.
type failed struct {
	ID    string     `json:"id"`
	Tool  string     `json:"tool"`
	State tool.State `json:"state"`
	Error string     `json:"error"`
}

const (
	defaultSession = "session_toolrun"
	messageID      = "message_toolrun"
)

// lines answers line by line. The error is that of the input or the output.
func (r *runner) lines(ctx context.Context, in *lineReader, w *lineWriter) error {
	for ctx.Err() == nil {
		line, err := in.next()
		var out []any
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
			out = []any{refused(findID(line), "", fmt.Sprintf("the line is longer than %d bytes", in.limit))}
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			out = r.answer(ctx, line)
		}
		for _, v := range out {
			if err := w.write(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer handles one line and returns the lines that answer it.
func (r *runner) answer(ctx context.Context, line []byte) []any {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return []any{refused(findID(line), q.Tool, "the line is not a call: "+err.Error())}
	}
	if q.Parallel == nil {
		return []any{r.call(ctx, q)}
	}
	out := make([]any, len(q.Parallel))
	var wg sync.WaitGroup
	for i, raw := range q.Parallel {
		wg.Go(func() {
			var m request
			switch err := json.Unmarshal(raw, &m); {
			case err != nil:
				out[i] = refused(findID(raw), m.Tool, "the member of the group is not a call: "+err.Error())
			case m.Parallel != nil:
				out[i] = refused(idText(m.ID), m.Tool, "a group cannot be in a group")
			default:
				out[i] = r.call(ctx, m)
			}
		})
	}
	wg.Wait()
	return out
}

func refused(id, name, why string) answer {
	return answer{
		ID: id, Tool: name, State: tool.StateError, Text: why, Error: why, IsError: true,
		Metadata: map[string]any{}, Attachments: []tool.Attachment{}, Asks: []asked{},
	}
}

// state is what is kept of a call while it runs; it travels in Call.Values.
type state struct {
	gate  *permission.Gate
	rules permission.Ruleset

	mu      sync.Mutex
	asks    []asked
	updates int
}

const stateKey = "toolrun"

// call runs or explains one call.
func (r *runner) call(ctx context.Context, q request) any {
	id := idText(q.ID)
	if q.Tool == "" {
		return refused(id, "", "the call names no tool")
	}
	rules := r.rules
	if len(q.Rules) > 0 && string(q.Rules) != "null" {
		var err error
		if rules, err = permission.ParseConfig(q.Rules); err != nil {
			return refused(id, q.Tool, err.Error())
		}
	}
	st := &state{rules: rules}
	c := &tool.Call{
		ID: id, Tool: q.Tool, Input: q.Input, SessionID: q.Session, MessageID: messageID,
		Values: map[string]any{stateKey: st},
	}
	if c.SessionID == "" {
		c.SessionID = defaultSession
	}
	c.Agent = &tool.Agent{Name: q.Agent, SessionID: c.SessionID}
	if q.Explain {
		return r.explain(ctx, c, rules)
	}
	st.gate = &permission.Gate{Rules: rules, ContinueOnReject: true, Decided: st.decided}
	if r.allow {
		st.gate.Prompt = func(context.Context, permission.Prompt) (permission.Answer, error) {
			return permission.Answer{Reply: permission.Once}, nil
		}
	}
	if q.CancelAfterMs != nil {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		after := time.Duration(*q.CancelAfterMs) * time.Millisecond
		defer time.AfterFunc(after, func() { cancel(fmt.Errorf("cancelled by the caller after %s", after)) }).Stop()
	}
	start := time.Now()
	o := r.ex.Do(ctx, r.set, c)
	return st.answer(c, o, time.Since(start))
}

func (st *state) answer(c *tool.Call, o tool.Outcome, took time.Duration) answer {
	st.mu.Lock()
	defer st.mu.Unlock()
	a := answer{
		ID: c.ID, Tool: c.Tool, State: tool.StateCompleted, Title: o.Result.Title, Text: o.Result.Text,
		Metadata: o.Result.Metadata, Attachments: o.Result.Attachments, IsError: o.Result.IsError,
		Asks: st.asks, Updates: st.updates, MS: took.Milliseconds(),
	}
	if o.Err != nil || o.Result.IsError {
		a.State, a.Error = tool.StateError, o.Result.Text
		if o.Err != nil {
			a.Error = tool.ModelText(o.Err)
		}
	}
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	if a.Attachments == nil {
		a.Attachments = []tool.Attachment{}
	}
	if a.Asks == nil {
		a.Asks = []asked{}
	}
	return a
}

func (st *state) decided(d permission.Decision) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.asks = append(st.asks, askedOf(d.Request.Permission, d.Request.Patterns, d.Request.Always, d.Action))
}

func askedOf(name string, patterns, always []string, action permission.Action) asked {
	a := asked{name, patterns, always, action}
	if a.Patterns == nil {
		a.Patterns = []string{}
	}
	if a.Always == nil {
		a.Always = []string{}
	}
	return a
}

// explain says what a call would ask, by the rules alone.
func (r *runner) explain(ctx context.Context, c *tool.Call, rules permission.Ruleset) any {
	p, err := r.toolset.Plan(ctx, c)
	if err != nil {
		return failed{c.ID, c.Tool, tool.StateError, tool.ModelText(err)}
	}
	ex := permission.Explain(p.Requests, rules)
	e := explained{
		ID: c.ID, Tool: c.Tool, Decision: ex.Decision, Asks: []asked{},
		Reasons: ex.Reasons,
	}
	for _, why := range p.Reasons {
		if !slices.Contains(e.Reasons, why) {
			e.Reasons = append(e.Reasons, why)
		}
	}
	for _, v := range ex.Asks {
		e.Asks = append(e.Asks, askedOf(v.Permission, v.Patterns, v.Always, v.Decision))
	}
	if p.Tool != "bash" {
		return e
	}
	return explainedCommand{e, notNil(p.Commands), notNil(p.ExternalDirs), notNil(p.Writes)}
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func stateOf(c *tool.Call) *state {
	st, _ := c.Values[stateKey].(*state)
	return st
}

// approve lets the gate of the call decide.
func (r *runner) approve(ctx context.Context, c *tool.Call, req *tool.Request) error {
	st := stateOf(c)
	if st == nil {
		return &tool.DeniedError{Request: req, Reason: "The call lost its rules"}
	}
	return st.gate.Approve(ctx, c, req)
}

// observe counts live updates.
func (r *runner) observe(ev tool.Event) {
	if st := stateOf(ev.Call); st != nil && ev.Update != nil {
		st.mu.Lock()
		st.updates++
		st.mu.Unlock()
	}
}

// guard puts the guard against repeated calls around those whose rules name it.
func (r *runner) guard(next tool.RunFunc) tool.RunFunc {
	guarded := r.doom(next)
	return func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		st := stateOf(c)
		if st != nil && slices.ContainsFunc(st.rules, func(rule permission.Rule) bool { return rule.Permission == "doom_loop" }) {
			return guarded(ctx, c)
		}
		return next(ctx, c)
	}
}
