package permission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenttool/tool"
)

// Reply is what a person answers.
type Reply string

// The replies.
const (
	Once   Reply = "once"   // allow this request, and those that were merged with it
	Always Reply = "always" // allow it, and from now on what its Always patterns match
	Reject Reply = "reject" // deny it, and what else the session is asking
)

// Answer is a reply with what belongs to it.
type Answer struct {
	Reply Reply `json:"reply"`
	// Message, with Reject, is read by the model, and the turn goes on. Without
	// one the turn ends, see [Gate.ContinueOnReject].
	Message string `json:"message,omitempty"`
	// Scope, with Always, says how far the approval reaches; "" means [ScopeSession].
	Scope Scope `json:"scope,omitempty"`
}

// ErrAnswer is returned, wrapped, for an [Answer] that makes no sense: an unknown
// reply, an unknown scope, or the scope of a project where there is none. The
// question stays open.
var ErrAnswer = errors.New("invalid answer")

func (a *Answer) check(project string) error {
	switch a.Reply {
	case Once, Always, Reject:
	default:
		return fmt.Errorf("%w: the reply is %q; it is once, always or reject", ErrAnswer, clip(string(a.Reply), 40))
	}
	switch a.Scope {
	case "", ScopeSession, ScopeUser:
	case ScopeProject:
		if project == "" {
			return fmt.Errorf("%w: there is no project to remember it for", ErrAnswer)
		}
	default:
		return fmt.Errorf("%w: unknown scope %q", ErrAnswer, clip(string(a.Scope), 40))
	}
	return nil
}

// Text is a piece of text twice: as it is, and as it may be shown.
type Text struct {
	Raw     string `json:"raw"`
	Display string `json:"display"` // see [Visible]
}

func textOf(s string) Text { return Text{s, Visible(s)} }
func lineOf(s string) Text { return Text{s, VisibleLine(s)} }
func linesOf(ss []string) []Text {
	out := make([]Text, len(ss))
	for i, s := range ss {
		out[i] = lineOf(s)
	}
	return out
}

// Detail is one entry of a request's metadata that is text, as the command, the
// diff, or the path, or a list of texts, one on a line, as the files to be written.
type Detail struct {
	Key string `json:"key"`
	Text
}

// Prompt is a question for a person. Everything that is shown comes from here, in
// its Display form: what a request holds was written by a model or by strangers.
// A Prompt must not be changed.
type Prompt struct {
	Request *tool.Request `json:"request"` // what is asked, raw; its ID is the one to reply to
	Title   Text          `json:"title"`   // one line; the permission and the first pattern if the tool gave none
	// Patterns are what would be done now, Always what "always" would grant,
	// exactly. Without Always there is nothing to remember, and "always" is "once".
	Patterns []Text `json:"patterns"`
	Always   []Text `json:"always"`
	// Details are the texts among the metadata, in the order of their keys.
	Details []Detail `json:"details"`
	// Description is what the model says about the call, in at most 120
	// characters, on one line, and marked as the model's; "" if it says nothing.
	// It proves nothing, and belongs below the rest.
	Description string   `json:"description,omitempty"`
	Reasons     []string `json:"reasons"`         // why this is asked, in display form
	Flags       []string `json:"flags,omitempty"` // what to be wary of, in display form; see [Flags]
	// Digest stands for what is asked: session, permission, patterns, always and metadata.
	Digest string    `json:"digest"`
	Asked  time.Time `json:"asked"`
	Calls  []CallRef `json:"calls"` // who waits for the answer; more than one if equal requests were merged
}

// CallRef names a call of a tool.
type CallRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

// maxDescription is how much of the model's own words a prompt shows, in characters.
const maxDescription = 120

// NewPrompt makes the prompt for a request, for hosts that ask without a [Gate].
// Reasons may be nil.
func NewPrompt(req *tool.Request, reasons []string) Prompt {
	p := Prompt{
		Request:  req,
		Title:    lineOf(req.Title),
		Patterns: linesOf(req.Patterns),
		Always:   linesOf(req.Always),
		Details:  []Detail{},
		Reasons:  []string{},
		Digest:   digest(req),
		Asked:    time.Now(),
		Calls:    []CallRef{{req.MessageID, req.CallID}},
	}
	if req.Title == "" {
		p.Title = lineOf(strings.TrimSpace(req.Permission + " " + strings.Join(req.Patterns[:min(1, len(req.Patterns))], "")))
	}
	for _, r := range reasons {
		p.Reasons = append(p.Reasons, VisibleLine(r))
	}
	flag := func(where, s string) {
		for _, f := range Flags(s) {
			if f = VisibleLine(where + " " + f); !slices.Contains(p.Flags, f) {
				p.Flags = append(p.Flags, f)
			}
		}
	}
	flag("the title", req.Title)
	for _, s := range req.Patterns {
		flag("what is asked", s)
	}
	for _, s := range req.Always {
		flag("what would be remembered", s)
	}
	for key, v := range req.Metadata {
		s, ok := v.(string)
		if list, many := v.([]string); many && len(list) > 0 {
			s, ok = strings.Join(list, "\n"), true
		}
		switch {
		case !ok:
		case key == "description":
			p.Description = describe(s)
		default:
			p.Details = append(p.Details, Detail{VisibleLine(key), textOf(s)})
		}
	}
	slices.SortFunc(p.Details, func(a, b Detail) int { return strings.Compare(a.Key, b.Key) })
	for _, d := range p.Details {
		flag(d.Key, d.Raw)
	}
	return p
}

// describe attributes the model's words, on one line.
func describe(s string) string {
	s = VisibleLine(strings.Join(strings.Fields(clip(s, 4*maxDescription)), " "))
	if s == "" {
		return ""
	}
	if r := []rune(s); len(r) > maxDescription {
		s = string(r[:maxDescription-1]) + "…"
	}
	return `The model says: "` + s + `"`
}

// digest stands for what req asks, whichever call asks it. What JSON cannot hold
// without loss makes a request unlike any other, rather than like one that differs from it.
func digest(req *tool.Request) string {
	b, err := json.Marshal(struct {
		S, P     string
		Ps, As   []string
		Guarded  bool
		Metadata map[string]any
	}{req.SessionID, req.Permission, req.Patterns, req.Always, req.Protected, req.Metadata})
	if err != nil || bytes.Contains(b, []byte(`\ufffd`)) { // the encoder's escape for bytes that are not UTF-8
		b = []byte(req.ID)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
