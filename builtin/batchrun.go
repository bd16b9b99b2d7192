package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/truncate"
)

// batchRun is the calls of one batch while they run.
type batchRun struct {
	ts    *Toolset
	call  *tool.Call
	items []*batchItem

	mu    sync.Mutex // guards what follows and the entries and results of items
	abort error      // a call ended the turn
}

// all runs the calls: in call order, those that may beside each other. The error
// is why not all of them were run.
func (r *batchRun) all(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, batchParallel)
	var wg sync.WaitGroup
	for _, it := range r.items {
		if it.refused != nil {
			r.set(it, "not run", nil, 0)
			continue
		}
		if !it.beside {
			wg.Wait()
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if r.one(ctx, it) {
				cancel()
			}
		})
		if !it.beside {
			wg.Wait()
		}
	}
	wg.Wait()
	for _, it := range r.items {
		if it.entry.Status == "pending" {
			it.entry.Status = "not run"
			if it.refused == nil {
				it.refused = errors.New("not run: the batch was stopped before")
			}
		}
	}
	if r.abort != nil {
		return r.abort
	}
	return context.Cause(ctx)
}

// one runs one call and reports whether it ends the turn.
func (r *batchRun) one(ctx context.Context, it *batchItem) bool {
	r.set(it, "running", nil, 0)
	start := time.Now()
	res, err := r.invoke(ctx, it)
	took := time.Since(start)
	if err != nil {
		if res == nil {
			res = &tool.Result{}
		}
		failed := *res
		if failed.IsError = true; failed.Text == "" {
			failed.Text = tool.ModelText(err)
		}
		res = &failed
	}
	status := "completed"
	if res == nil {
		res = &tool.Result{}
	}
	if res.IsError {
		status = "error"
	}
	r.set(it, status, res, took)
	if !errors.Is(err, tool.ErrAbort) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abort = err
	return true
}

// invoke makes the call, under the id that its entry has where there is an executor.
func (r *batchRun) invoke(ctx context.Context, it *batchItem) (*tool.Result, error) {
	set := r.call.Offered()
	if set == nil {
		return r.call.Invoke(ctx, it.name, it.input)
	}
	turn, err := r.call.Start(ctx, set, nil)
	if err != nil {
		return nil, err
	}
	turn.Go(&tool.Call{
		ID: it.entry.ID, Tool: it.name, Input: it.input, SessionID: r.call.SessionID, MessageID: r.call.MessageID,
		Agent: r.call.Agent, Values: r.call.Values,
	})
	out, err := turn.Wait()
	if !errors.Is(err, tool.ErrAbort) {
		err = nil // the result says it
	}
	return out[0].Result, err
}

// set records how far a call is and lets the user see it.
func (r *batchRun) set(it *batchItem, status string, res *tool.Result, took time.Duration) {
	r.mu.Lock()
	it.entry.Status, it.entry.Millis, it.result = status, took.Milliseconds(), res
	if res != nil {
		it.entry.Title = res.Title
	}
	entries, ended := r.entries(), 0
	for _, e := range entries {
		if e.Status != "pending" && e.Status != "running" {
			ended++
		}
	}
	r.mu.Unlock()
	r.call.Update(tool.Update{Title: fmt.Sprintf("%d of %s", ended, plural(len(entries), "call")), Metadata: map[string]any{"calls": entries}})
}

func (r *batchRun) entries() []batchEntry {
	out := make([]batchEntry, len(r.items))
	for i, it := range r.items {
		out[i] = it.entry
	}
	return out
}

// result puts the results together. No call runs any more.
func (r *batchRun) result(ctx context.Context) *tool.Result {
	texts := make([]string, len(r.items))
	good, shortened := 0, 0
	out := &tool.Result{Metadata: map[string]any{"calls": r.entries()}, Truncated: &tool.Truncation{}}
	var owners []int
	for i, it := range r.items {
		if it.result == nil {
			if it.refused != nil {
				texts[i] = it.refused.Error()
			}
			continue
		}
		texts[i] = it.result.Text
		if it.entry.Status == "completed" {
			good++
		}
		out.EndTurn = out.EndTurn || it.result.EndTurn
		for _, a := range it.result.Attachments {
			out.Attachments = append(out.Attachments, a)
			owners = append(owners, i+1)
		}
	}
	limits := fairShares(texts, batchBytes, minBatchShare)
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s succeeded.", good, plural(len(r.items), "call"))
	for i, it := range r.items {
		text := texts[i]
		if len(text) > limits[i] {
			cut := r.cut(ctx, it, text, limits[i])
			text = cut.Text
			shortened++
			out.Truncated.Bytes += cut.Bytes
			out.Truncated.Lines += cut.Lines
		}
		fmt.Fprintf(&b, "\n\n=== %d. %s: %s", i+1, oneLine(clip(it.name, 80)), it.entry.Status)
		if it.result != nil {
			fmt.Fprintf(&b, " (%d ms)", it.entry.Millis)
			for _, a := range it.result.Attachments {
				fmt.Fprintf(&b, " [attached: %s]", oneLine(clip(strings.TrimSpace(a.Name+" "+a.MIME), 120)))
			}
		}
		b.WriteString("\n" + text)
	}
	out.Text = strings.ToValidUTF8(b.String(), "\uFFFD")
	out.Title = fmt.Sprintf("%d of %s", good, plural(len(r.items), "call"))
	out.IsError = good == 0
	out.Metadata["truncated"] = shortened > 0
	if len(owners) > 0 {
		out.Metadata["attachmentCalls"] = owners // the call of each attachment, from 1
	}
	return out
}

// cut shortens one result. What only looks shows its beginning, a command both ends.
func (r *batchRun) cut(ctx context.Context, it *batchItem, text string, limit int) truncate.Cut {
	p := truncate.Policy{MaxBytes: limit, MaxLines: -1, Keep: truncate.HeadTail, Spill: r.ts.cfg.Spill}
	if it.beside {
		p.Keep = truncate.Head
	}
	if t := it.result; t != nil && t.Truncated != nil && t.Truncated.Path != "" {
		path := t.Truncated.Path
		p.Spill, p.Hint = nil, func(truncate.Cut) string { return "The full result is in " + path + "." }
	}
	return p.Apply(context.WithoutCancel(ctx), text)
}

// fairShares divides total bytes over texts: a text that needs less than an even
// share is not cut, and what it leaves goes to the longer ones. A share is least
// bytes, even if they all together are more than total then.
func fairShares(texts []string, total, least int) []int {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(texts[a]) - len(texts[b]) })
	out := make([]int, len(texts))
	for n, i := range order {
		share := max(total/(len(order)-n), least)
		out[i] = min(len(texts[i]), share)
		total = max(total-out[i], 0)
	}
	return out
}
