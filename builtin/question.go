package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // descriptions
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool"
)

//go:embed question.md
var questionDescription string

var (
	// ErrDismissed is returned by an [Asker] when the user closed the questions
	// without an answer. The model is told so, and the turn ends.
	ErrDismissed = errors.New("the user dismissed the questions")
	// ErrNobody is returned by an [Asker] at once when nobody is there to answer.
	// The model is told to go on by its own judgement.
	ErrNobody = errors.New("nobody is there to answer")
)

// Asker puts questions to the user. It may wait as long as the user needs, but
// must return when ctx is done; the time does not count against the call's
// timeout. It is called concurrently, and no lock is held. An error that does not
// match [ErrDismissed] or [ErrNobody] is told to the model as it is.
//
// The questions of a session that another one started come with its SessionID and
// Agent: the host shows them where the user is, or answers ErrNobody.
type Asker interface {
	// AskUser returns one answer for each question, in their order; those that
	// are missing count as not answered.
	AskUser(ctx context.Context, call *tool.Call, req *QuestionRequest) ([]Answer, error)
}

// AskerFunc is a function that is an [Asker].
type AskerFunc func(ctx context.Context, call *tool.Call, req *QuestionRequest) ([]Answer, error)

// AskUser calls f.
func (f AskerFunc) AskUser(ctx context.Context, call *tool.Call, req *QuestionRequest) ([]Answer, error) {
	return f(ctx, call, req)
}

// QuestionRequest is what is asked in one call. It marshals to JSON, so that a
// host can keep it while it is open; [QuestionRequest.Result] then makes the
// result of answers that come after a restart.
type QuestionRequest struct {
	ID        string     `json:"id"` // unguessable
	SessionID string     `json:"sessionID"`
	MessageID string     `json:"messageID"`
	CallID    string     `json:"callID"`
	Agent     string     `json:"agent,omitempty"` // name of the agent that asks
	Questions []Question `json:"questions"`       // 1 to 4
}

// Question is one question to the user. Without options it asks for free text.
type Question struct {
	Question string           `json:"question"`
	Header   string           `json:"header,omitempty"` // a few words
	Options  []QuestionOption `json:"options,omitempty"`
	Multiple bool             `json:"multiple,omitempty"` // more than one option may be picked
	Custom   bool             `json:"custom"`             // a field for free text is to be shown; free text is an answer in any case
}

// QuestionOption is one option of a question.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Answer is the answer to one question. The zero value means that it was not answered.
type Answer struct {
	Labels []string `json:"labels"`         // of the options that were picked
	Text   string   `json:"text,omitempty"` // what the user wrote
}

type questionInput struct {
	Questions []questionItem `json:"questions" minItems:"1" alias:"question"`
}

type questionItem struct {
	Question string       `json:"question" alias:"text,prompt"`
	Header   string       `json:"header,omitempty" jsonschema:"a few words for a heading" alias:"title"`
	Options  []optionItem `json:"options,omitempty" alias:"choices"`
	Multiple bool         `json:"multiple,omitempty" alias:"multiSelect,multi_select,allowMultiple"`
	Custom   *bool        `json:"custom,omitempty" jsonschema:"offer a field for own words (default true)"`
}

// optionItem is an option as a model writes it: with a description, or the label alone.
type optionItem json.RawMessage

// JSONSchema says so.
func (optionItem) JSONSchema() any {
	return json.RawMessage(`{"type":["object","string"],"properties":{"label":{"type":"string","description":"1 to 5 words"},"description":{"type":"string","description":"what it means"}}}`)
}

// UnmarshalJSON keeps the text as it is.
func (o *optionItem) UnmarshalJSON(b []byte) error {
	*o = bytes.Clone(b)
	return nil
}

// read understands an option under the names that models use for its parts.
func (o optionItem) read() (opt QuestionOption, err error) {
	if json.Unmarshal(o, &opt.Label) == nil {
		return opt, nil
	}
	var keys map[string]any
	if err := json.Unmarshal(o, &keys); err != nil {
		return opt, errors.New("is neither a label nor an object with one")
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		to := &opt.Label
		switch k {
		case "label", "value", "title", "name", "text":
		case "description", "detail":
			to = &opt.Description
		default:
			return opt, fmt.Errorf("has the unknown key %q; legal keys: label, description", clip(k, 40))
		}
		text, ok := keys[k].(string)
		if keys[k] != nil && !ok {
			return opt, fmt.Errorf("has a %s that is no text", k)
		}
		if k == "label" || *to == "" {
			*to = text
		}
	}
	return opt, nil
}

const (
	maxQuestions     = 4
	maxOptions       = 6
	maxQuestionRunes = 4000 // of a question or description
	maxOptionLabel   = 200  // runes
)

func defineQuestion(ts *Toolset) (operation, error) {
	if ts.cfg.Asker == nil {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "question", Title: "Question", Description: strings.TrimSpace(questionDescription),
		Hints: tool.Hints{ReadOnly: true}, Timeout: -1, Aliases: []string{"ask_user", "AskUserQuestion", "ask_user_question", "ask_followup_question"},
	}, ts.planQuestion)
}

func (ts *Toolset) planQuestion(ctx context.Context, call *tool.Call, in questionInput) (*plan, error) {
	if inBatch(ctx) {
		return nil, errors.New("question cannot be called within batch; call it by itself")
	}
	qs, err := readQuestions(in.Questions)
	if err != nil {
		return nil, err
	}
	return unasked(func(ctx context.Context) (*tool.Result, error) {
		req := &QuestionRequest{
			ID: "question_" + rand.Text(), SessionID: call.SessionID, MessageID: call.MessageID, CallID: call.ID, Questions: qs,
		}
		if call.Agent != nil {
			req.Agent = call.Agent.Name
		}
		if pause := call.Runtime().Pause; pause != nil {
			defer pause()()
		}
		answers, err := ts.cfg.Asker.AskUser(ctx, call, req)
		switch {
		case errors.Is(err, ErrDismissed):
			return &tool.Result{
				Title: "Dismissed", EndTurn: true, Metadata: map[string]any{"dismissed": true},
				Text: "The user dismissed the questions without an answer. Do not ask them again; wait for what the user says.",
			}, nil
		case errors.Is(err, ErrNobody):
			return &tool.Result{
				Title: "Nobody there", Metadata: map[string]any{"nobody": true},
				Text: "No user is available to answer. Go on by your best judgement, and state in your answer what you assumed.",
			}, nil
		case err != nil && ctx.Err() != nil:
			return nil, &tool.CancelledError{Cause: context.Cause(ctx)}
		case err != nil:
			return nil, fmt.Errorf("the questions could not be asked: %w", err)
		}
		return req.Result(answers), nil
	})
}

func readQuestions(in []questionItem) ([]Question, error) {
	if len(in) == 0 || len(in) > maxQuestions {
		return nil, fmt.Errorf("ask 1 to %d questions in one call, not %d", maxQuestions, len(in))
	}
	out := make([]Question, len(in))
	for i, it := range in {
		q := Question{
			Question: strings.TrimSpace(it.Question), Header: strings.TrimSpace(it.Header),
			Multiple: it.Multiple, Custom: it.Custom == nil || *it.Custom || len(it.Options) == 0,
		}
		for j, o := range it.Options {
			opt, err := o.read()
			if err != nil {
				return nil, fmt.Errorf("question %d: option %d %w. Nothing was asked", i+1, j+1, err)
			}
			opt.Label = strings.TrimSpace(opt.Label)
			q.Options = append(q.Options, opt)
		}
		if err := checkQuestion(q); err != nil {
			return nil, fmt.Errorf("question %d: %w. Nothing was asked", i+1, err)
		}
		out[i] = q
	}
	return out, nil
}

func checkQuestion(q Question) error {
	switch n := len(q.Options); {
	case q.Question == "":
		return errors.New("it has no text")
	case utf8.RuneCountInString(q.Question) > maxQuestionRunes || utf8.RuneCountInString(q.Header) > maxOptionLabel:
		return fmt.Errorf("it is too long; at most %d characters, and %d for the header", maxQuestionRunes, maxOptionLabel)
	case n == 1 || n > maxOptions:
		return fmt.Errorf("give 2 to %d options, or none for free text, not %d", maxOptions, n)
	}
	seen := make(map[string]bool)
	for i := range q.Options {
		label := q.Options[i].Label
		switch key := strings.ToLower(label); {
		case label == "":
			return fmt.Errorf("option %d has no label", i+1)
		case seen[key]:
			return fmt.Errorf("two options have the label %q", clip(label, 80))
		case utf8.RuneCountInString(label) > maxOptionLabel || utf8.RuneCountInString(q.Options[i].Description) > maxQuestionRunes:
			return fmt.Errorf("option %d is too long; at most %d characters, and %d for the description", i+1, maxOptionLabel, maxQuestionRunes)
		default:
			seen[key] = true
		}
	}
	return nil
}

func (q *Question) has(label string) bool {
	for _, o := range q.Options {
		if o.Label == label {
			return true
		}
	}
	return false
}

// Check says whether answers fit the questions: labels that are among the
// options, one of them unless Multiple is set, and not more answers than
// questions. It is for the host to call before it takes what a user sent.
func (r *QuestionRequest) Check(answers []Answer) error {
	if len(answers) > len(r.Questions) {
		return fmt.Errorf("%d answers to %s", len(answers), plural(len(r.Questions), "question"))
	}
	for i, a := range answers {
		q := &r.Questions[i]
		if len(a.Labels) > 1 && !q.Multiple {
			return fmt.Errorf("answer %d: more than one option was picked", i+1)
		}
		for _, l := range a.Labels {
			if !q.has(l) {
				return fmt.Errorf("answer %d: %q is not one of the options", i+1, l)
			}
		}
	}
	return nil
}

// Result is what the model gets for answers. Nothing that the user said is left
// out, also labels that are no options and answers to nothing. If
// [QuestionRequest.Check] fails, its error is in the metadata for the host.
func (r *QuestionRequest) Result(answers []Answer) *tool.Result {
	given := make([]Answer, max(len(r.Questions), len(answers)))
	copy(given, answers)
	var b strings.Builder
	answered := 0
	for i := range given {
		a := &given[i]
		if a.Labels == nil {
			a.Labels = []string{}
		}
		words := make([]string, 0, len(a.Labels)+1)
		for _, l := range a.Labels {
			words = append(words, fmt.Sprintf("%q", l))
		}
		if text := strings.TrimSpace(a.Text); text != "" {
			words = append(words, "in own words: "+text)
		}
		said := "(not answered)"
		if len(words) > 0 {
			said = strings.Join(words, ", ")
			answered++
		}
		name := "More"
		if i < len(r.Questions) {
			name = oneLine(r.Questions[i].Question)
		}
		fmt.Fprintf(&b, "%s\n-> %s\n", name, said)
	}
	res := &tool.Result{
		Title:    fmt.Sprintf("%d of %s answered", answered, plural(len(r.Questions), "question")),
		Text:     strings.ToValidUTF8(strings.TrimSuffix(b.String(), "\n"), "\uFFFD"),
		Metadata: map[string]any{"questions": r.Questions, "answers": given},
	}
	if err := r.Check(answers); err != nil {
		res.Metadata["invalid"] = err.Error()
	}
	if b, err := json.Marshal(map[string]any{"answers": given}); err == nil {
		res.Structured = b
	}
	return res
}
