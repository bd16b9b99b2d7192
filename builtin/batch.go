package builtin

import (
	"bytes"
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agenttool/tool"
)

//go:embed batch.md
var batchDescription string

const (
	maxBatch      = 25       // calls that are run
	batchParallel = 8        // of them at once
	batchBytes    = 50 << 10 // text of all results together
	minBatchShare = 512      // text of one result, however many there are
)

// batchCall is one call as a model writes it, in any of the forms that
// readBatchCall understands. The schema shows the plain one.
type batchCall json.RawMessage

// JSONSchema leaves room for the other forms.
func (batchCall) JSONSchema() any {
	return json.RawMessage(`{"type":["object","string"],"properties":{"tool":{"type":"string","description":"name of the tool"},"parameters":{"type":["object","string"],"description":"its arguments"}}}`)
}

// UnmarshalJSON keeps the text as it is.
func (c *batchCall) UnmarshalJSON(b []byte) error {
	*c = bytes.Clone(b)
	return nil
}

type batchInput struct {
	ToolCalls []batchCall `json:"tool_calls" minItems:"1" alias:"toolCalls,calls,tool_uses,invocations,tools"`
}

// batchItem is one call and what became of it.
type batchItem struct {
	name   string
	input  json.RawMessage
	beside bool // may run beside others

	refused error // it is not to be run
	entry   batchEntry
	result  *tool.Result
}

// batchEntry is what a user interface gets to know of one call.
type batchEntry struct {
	Index  int    `json:"index"`        // from 1
	ID     string `json:"id,omitempty"` // of the call, as events and questions have it
	Tool   string `json:"tool"`
	Status string `json:"status"` // "pending", "running", "completed", "error" or "not run"
	Title  string `json:"title,omitempty"`
	Millis int64  `json:"ms"`
}

func defineBatch(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "batch", Title: "Batch", Description: strings.TrimSpace(batchDescription),
		Hints: tool.Hints{Destructive: true, OpenWorld: true}, Timeout: -1, MaxOutput: -1,
		Aliases: []string{"multi_tool_use", "parallel", "batch_tool", "BatchTool"},
	}, ts.planBatch)
}

func (ts *Toolset) planBatch(ctx context.Context, call *tool.Call, in batchInput) (*plan, error) {
	if inBatch(ctx) {
		return nil, errors.New("batch cannot be called from within batch; make the calls one by one")
	}
	items := make([]*batchItem, len(in.ToolCalls))
	for i, c := range in.ToolCalls {
		it := readBatchCall(json.RawMessage(c))
		switch {
		case it.refused != nil:
		case i >= maxBatch:
			it.refused = fmt.Errorf("not run: at most %d calls are taken; call batch again with the rest", maxBatch)
		case !batchable(it.name):
			it.refused = fmt.Errorf("not run: %s cannot be called within batch; call it by itself", oneLine(clip(it.name, 80)))
		default:
			if _, spec, err := ts.set.Lookup(it.name); err == nil {
				it.beside = spec.Parallel && spec.Hints.ReadOnly
			}
		}
		it.entry = batchEntry{Index: i + 1, Tool: clip(it.name, 80), Status: "pending"}
		if it.refused == nil && call.Offered() != nil {
			it.entry.ID = fmt.Sprintf("%s.%d", call.ID, i+1)
		}
		items[i] = it
	}
	return &plan{apply: func(ctx context.Context, call *tool.Call) (*outcome, error) {
		run := &batchRun{ts: ts, call: call, items: items}
		err := run.all(context.WithValue(ctx, batchKey{}, true))
		return &outcome{result: run.result(ctx)}, err
	}}, nil
}

// batchKey marks the context of calls that batch makes, whatever name they were called by.
type batchKey struct{}

func inBatch(ctx context.Context) bool { return ctx.Value(batchKey{}) != nil }

// batchable says no to what talks to the user, starts agents, or is batch itself.
func batchable(name string) bool {
	switch foldWord(name) {
	case "batch", "batchtool", "multitooluse", "parallel", "task", "agent", "question", "askuser", "askuserquestion",
		"planenter", "planexit", "enterplanmode", "exitplanmode":
		return false
	}
	return true
}

// readBatchCall understands {"tool": …, "parameters": {…}}, other words for
// both keys, arguments beside the name, and either as a string of JSON.
func readBatchCall(raw json.RawMessage) *batchItem {
	it := &batchItem{}
	raw = unquoted(raw)
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil || keys == nil {
		it.refused = errors.New(`not run: a call is an object such as {"tool":"read","parameters":{"filePath":"a.go"}}`)
		return it
	}
	for _, k := range []string{"tool", "tool_name", "toolName", "recipient_name", "name"} {
		if json.Unmarshal(keys[k], &it.name) == nil && it.name != "" {
			it.name = strings.TrimPrefix(it.name, "functions.")
			delete(keys, k)
			break
		}
	}
	if it.name == "" {
		it.refused = errors.New(`not run: the call has no "tool"`)
		return it
	}
	for _, k := range []string{"parameters", "arguments", "input", "args", "params"} {
		v, ok := keys[k]
		if ok && len(keys) > 1 {
			continue // an argument of that name among others
		}
		if v = unquoted(v); ok && (len(v) == 0 || v[0] == '{' || string(v) == "null") {
			it.input = v
			if len(v) == 0 || v[0] != '{' {
				it.input = json.RawMessage("{}")
			}
			return it
		}
	}
	flat, err := json.Marshal(keys)
	if err != nil {
		it.refused = fmt.Errorf("not run: %w", err)
	}
	it.input = flat
	return it
}

// unquoted returns the JSON that a JSON string holds, else raw.
func unquoted(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		if s = strings.TrimSpace(s); s == "" || json.Valid([]byte(s)) {
			return json.RawMessage(s)
		}
	}
	return raw
}
