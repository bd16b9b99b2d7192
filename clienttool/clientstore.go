package clienttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Saved is what a client keeps over a restart of its program, so that a result
// that the host did not get before is delivered after, and tools that were added
// while it ran can be there again, see [ClientOptions].Restore.
type Saved struct {
	ClientID string           `json:"clientID"`
	Resume   string           `json:"resume,omitempty"` // secret
	Results  []SavedResult    `json:"results,omitempty"`
	Tools    []ToolDefinition `json:"tools,omitempty"` // in the order in which they were added
}

// SavedResult is a result that was not acknowledged.
type SavedResult struct {
	RequestID string        `json:"requestID"`
	EndedAt   time.Time     `json:"endedAt"`
	Result    *ToolResponse `json:"result"`
}

// StateStore keeps a [Saved]. The methods are called one at a time, with no lock held.
type StateStore interface {
	Load() (*Saved, error) // nil, nil: there is none
	Save(s *Saved) error
}

// FileStore is a [StateStore] in one file, which is replaced as a whole. The file
// has a secret and results in it; it is readable for its owner only.
type FileStore string

// Load implements [StateStore].
func (f FileStore) Load() (*Saved, error) {
	b, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(Saved)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", string(f), err)
	}
	return s, nil
}

// Save implements [StateStore].
func (f FileStore) Save(s *Saved) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(string(f)), filepath.Base(string(f))+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), string(f))
}

func (c *Client) load() error {
	if c.opt.Store == nil {
		return nil
	}
	s, err := c.opt.Store.Load()
	if err != nil {
		return fmt.Errorf("client tools: the saved state cannot be read: %w", err)
	}
	if s == nil || s.ClientID != c.id {
		return nil
	}
	c.restore(s.Tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume = s.Resume
	for _, r := range s.Results {
		if r.RequestID == "" || r.Result == nil || time.Since(r.EndedAt) > c.opt.ResultTTL {
			continue
		}
		_, cancel := context.WithCancelCause(c.run)
		cancel(nil)
		c.calls[r.RequestID] = &clientCall{c: c, req: ExecutionRequest{RequestID: r.RequestID}, cancel: cancel, result: r.Result, endedAt: r.EndedAt}
		c.kept += r.Result.size()
	}
	return nil
}

// restore adds the saved tools that the program has not added itself, where it says how to run them.
func (c *Client) restore(defs []ToolDefinition) {
	if c.opt.Restore == nil {
		return
	}
	for _, def := range defs {
		c.mu.Lock()
		have := c.tools[def.key()] != nil
		c.mu.Unlock()
		if have {
			continue
		}
		var h Handler
		contain(func() { h = c.opt.Restore(def) })
		if h == nil {
			continue
		}
		if err := c.Add(def, h); err != nil {
			c.opt.Logger.Warn("client tools: a saved tool cannot be added", "tool", oneLine(def.ID, maxTitleBytes), "error", err)
		}
	}
}

// save writes the state as it is now.
func (c *Client) save() {
	if c.opt.Store == nil {
		return
	}
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	c.dirty = false
	s := &Saved{ClientID: c.id, Resume: c.resume, Tools: c.definitions()}
	for _, call := range c.sortedCalls() {
		if call.result != nil && !call.gone {
			s.Results = append(s.Results, SavedResult{call.req.RequestID, call.endedAt, call.result})
		}
	}
	c.mu.Unlock()
	err := errPanicked
	contain(func() { err = c.opt.Store.Save(s) })
	if err != nil {
		c.opt.Logger.Error("client tools: the state cannot be saved", "error", err)
	}
}

func (c *Client) saveIfDirty() {
	if c.opt.Store == nil {
		return
	}
	c.mu.Lock()
	dirty := c.dirty
	c.mu.Unlock()
	if dirty {
		c.save()
	}
}
