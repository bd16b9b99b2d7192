package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
)

// work is one turn of a scripted agent: what a model would ask for, in its place.
func (h *host) work(ctx context.Context, tab string) error {
	ids := make(map[string]string) // of the tab's tools, by their own names
	for _, t := range h.hub.ClientTools(session) {
		if t.ClientID == tab {
			ids[t.Name] = t.ID
		}
	}
	if len(ids) == 0 {
		return errors.New("this tab lends no tools")
	}
	var registry tool.Registry
	registry.AddSource(h.hub)
	agent := &tool.Agent{Name: "demo", SessionID: session}
	set, err := registry.Resolve(ctx, agent)
	if err != nil {
		return err
	}
	var cut sync.Once
	ex := &tool.Executor{Approver: tool.ApproverFunc(h.approve), Observe: func(e tool.Event) {
		// The drawing is half done: let us see what the tools are worth.
		if e.Update != nil && e.Call.Tool == ids["draw_star"] && strings.Count(e.Update.Text, "\n") >= 4 {
			cut.Do(func() {
				h.log.add(line{Kind: "note", Text: "cuts the connection, while the tab is drawing"})
				h.links.cut()
			})
		}
	}}
	n := 0
	call := func(name, input string) tool.Outcome {
		n++
		h.log.add(line{Kind: "call", Tool: name, Text: input})
		o := ex.Do(ctx, set, &tool.Call{ID: fmt.Sprint("call-", n), Tool: ids[name], SessionID: session, Agent: agent, Input: json.RawMessage(input)})
		kind, text := "result", strings.TrimSpace(o.Result.Text)
		if o.Err != nil || o.Result.IsError {
			kind = "failed"
		}
		for _, a := range o.Result.Attachments {
			text += fmt.Sprintf(" [%s]", a.MIME)
		}
		h.log.add(line{Kind: kind, Tool: name, Text: text})
		return o
	}
	say := func(format string, a ...any) { h.log.add(line{Kind: "say", Text: fmt.Sprintf(format, a...)}) }

	say("Let me look at your page.")
	if o := call("page_title", `{}`); o.Err != nil {
		return o.Err
	}
	say("I shall draw you a star.")
	o := call("ask_number", `{"question":"How many points shall the star have?","min":3,"max":12}`)
	if o.Err != nil {
		say("Then there will be no star.")
		return nil
	}
	var answer struct{ Number int }
	if err := json.Unmarshal(o.Result.Structured, &answer); err != nil {
		return err
	}
	if o = call("draw_star", fmt.Sprintf(`{"points":%d}`, answer.Number)); o.Err != nil {
		return o.Err
	}
	call("remember", fmt.Sprintf(`{"key":"points","value":"%d"}`, answer.Number))
	call("recall", `{"key":"points"}`)
	call("forget_all", `{}`)
	say("A star of %d points, and your page remembers it.", answer.Number)
	return nil
}

// approve answers in the user's place: the page's tools may run, and remember, but
// not forget.
func (h *host) approve(_ context.Context, _ *tool.Call, r *tool.Request) error {
	if r.Permission == clienttool.Permission {
		return nil
	}
	what := r.Permission + " " + strings.Join(r.Patterns, " ")
	if strings.HasPrefix(what, "page_memory write ") {
		h.log.add(line{Kind: "asked", Text: what + ": yes"})
		return nil
	}
	h.log.add(line{Kind: "asked", Text: what + ": no"})
	return &tool.DeniedError{Request: r, Reason: "Keep what the page remembers."}
}
