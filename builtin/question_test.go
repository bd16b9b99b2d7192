package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// first picks the first option of every question, or says hello.
const first = firstOption(0)

type firstOption int

func (firstOption) AskUser(_ context.Context, _ *tool.Call, req *QuestionRequest) ([]Answer, error) {
	out := make([]Answer, len(req.Questions))
	for i, q := range req.Questions {
		if len(q.Options) == 0 {
			out[i].Text = "hello"
			continue
		}
		out[i].Labels = []string{q.Options[0].Label}
	}
	return out, nil
}

const twoOptions = `"options":[{"label":"A"},{"label":"B","description":"the other"}]`

// TestQuestion: what is asked reaches the user, and what the user says the model.
func TestQuestion(t *testing.T) {
	b := newBench(t, "", Config{Asker: first})
	tl, ok := b.ts.Tool("question")
	require.True(t, ok)
	tooltest.Check(t, tl, `{"questions":[{"question":"Which?",`+twoOptions+`}]}`)
	for input, want := range map[string]string{
		`{"questions":[{"question":"Which?",` + twoOptions + `},{"question":"Name?"}]}`:                                     "Which?\n-> \"A\"\nName?\n-> in own words: hello",
		`{"questions":{"question":"Which?",` + twoOptions + `}}`:                                                            "Which?\n-> \"A\"",
		`{"questions":"[{\"question\":\"Which?\",\"options\":\"[{\\\"label\\\":\\\"A\\\"},{\\\"label\\\":\\\"B\\\"}]\"}]"}`: "Which?\n-> \"A\"",
		`{"questions":[{"question":"Which?","choices":["A","B"]}]}`:                                                         "Which?\n-> \"A\"",
		`{"questions":[{"question":"Which?","options":[{"value":"A","detail":null},{"text":"B"}]}]}`:                        "Which?\n-> \"A\"",
	} {
		assert.Equal(t, want, b.ok("question", input), input)
		assert.Empty(t, b.asks())
	}
	_, offered := newBench(t, "", Config{}).ts.Tool("question")
	assert.False(t, offered, "there is nobody to ask")
	out := b.batch(t.Context(), nil, `{"tool_calls":[{"tool":"AskUserQuestion","parameters":{"questions":[{"question":"Which?"}]}}]}`)
	assert.Contains(t, out.Result.Text, "cannot be called within batch")
}

// TestQuestionRefuses: questions that cannot be answered well are not put to anybody.
func TestQuestionRefuses(t *testing.T) {
	b := newBench(t, "", Config{Asker: AskerFunc(func(context.Context, *tool.Call, *QuestionRequest) ([]Answer, error) {
		t.Error("the user was asked")
		return nil, nil
	})})
	five := strings.TrimSuffix(strings.Repeat(`{"question":"Q"},`, 5), ",")
	for input, why := range map[string]string{
		`{"questions":[]}`: "/questions: want array of at least 1 item",
		`{}`:               `Example: {"questions":[{"question":"<question>"}]}`,
		`{"questions":[{"question":"Q","options":["A",{"lable":"B"}]}]}`:             `option 2 has the unknown key "lable"`,
		`{"questions":[{"question":"Q","options":["A",{"label":1}]}]}`:               `/questions/0/options/1/label: want string`,
		`{"questions":[` + five + `]}`:                                               "ask 1 to 4 questions",
		`{"questions":[{"question":" "}]}`:                                           "it has no text",
		`{"questions":[{"question":"Q","options":[{"label":"A"}]}]}`:                 "2 to 6 options",
		`{"questions":[{"question":"Q","options":[{"label":"A"},{"label":" a "}]}]}`: `two options have the label "a"`,
		`{"questions":[{"question":"Q","options":[{"label":"A"},{"label":" "}]}]}`:   "option 2 has no label",
		`{"questions":[{"question":"` + strings.Repeat("x", 4001) + `"}]}`:           "too long",
	} {
		assert.Contains(t, b.fails("question", input), why, input)
	}
}

// TestQuestionEnds: dismissal and absence are results, not errors to try again.
func TestQuestionEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	for _, c := range []struct {
		name  string
		asker AskerFunc
		text  string
		ends  bool
		err   error
	}{
		{"dismissed", func(context.Context, *tool.Call, *QuestionRequest) ([]Answer, error) {
			return nil, fmt.Errorf("closed: %w", ErrDismissed)
		}, "dismissed the questions", true, nil},
		{"nobody", func(context.Context, *tool.Call, *QuestionRequest) ([]Answer, error) { return nil, ErrNobody }, "No user is available", false, nil},
		{"failed", func(context.Context, *tool.Call, *QuestionRequest) ([]Answer, error) {
			return nil, errors.New("no terminal")
		}, "could not be asked: no terminal", false, nil},
		{"cancelled", func(ctx context.Context, _ *tool.Call, _ *QuestionRequest) ([]Answer, error) {
			cancel(stop)
			<-ctx.Done()
			return nil, ctx.Err()
		}, "", false, stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "", Config{Asker: c.asker})
			res, err := b.runIn(ctx, "question", `{"questions":[{"question":"Q"}]}`)
			switch {
			case c.err != nil:
				require.ErrorIs(t, err, c.err)
			case err != nil:
				assert.Contains(t, err.Error(), c.text)
			default:
				assert.Contains(t, res.Text, c.text)
				assert.Equal(t, c.ends, res.EndTurn)
			}
		})
	}
}

// TestQuestionAnswers: nothing that the user said is lost, and the host hears what did not fit.
func TestQuestionAnswers(t *testing.T) {
	opts := []QuestionOption{{Label: "A"}, {Label: "B"}}
	req := &QuestionRequest{ID: "q", Questions: []Question{{Question: "One?", Options: opts}, {Question: "Many?", Options: opts, Multiple: true}}}
	kept, err := json.Marshal(req)
	require.NoError(t, err)
	var again QuestionRequest
	require.NoError(t, json.Unmarshal(kept, &again))
	require.Equal(t, *req, again)
	for _, c := range []struct {
		answers       []Answer
		text, invalid string
	}{
		{nil, "One?\n-> (not answered)\nMany?\n-> (not answered)", ""},
		{[]Answer{{Labels: []string{"B"}, Text: "but later"}, {Labels: []string{"A", "B"}}}, "One?\n-> \"B\", in own words: but later\nMany?\n-> \"A\", \"B\"", ""},
		{[]Answer{{Labels: []string{"A", "B"}}}, "One?\n-> \"A\", \"B\"\nMany?\n-> (not answered)", "more than one option"},
		{[]Answer{{Labels: []string{"C"}}}, "One?\n-> \"C\"\nMany?\n-> (not answered)", `"C" is not one of the options`},
		{[]Answer{{}, {}, {Text: "and this"}}, "One?\n-> (not answered)\nMany?\n-> (not answered)\nMore\n-> in own words: and this", "3 answers to 2 questions"},
	} {
		res := again.Result(c.answers)
		assert.Equal(t, c.text, res.Text)
		assert.True(t, json.Valid(res.Structured))
		if c.invalid == "" {
			assert.NotContains(t, res.Metadata, "invalid")
		} else {
			assert.Contains(t, res.Metadata["invalid"], c.invalid)
		}
	}
}

func ExampleQuestionRequest_Result() {
	req := &QuestionRequest{Questions: []Question{{Question: "Which database?", Options: []QuestionOption{{Label: "SQLite"}, {Label: "Postgres"}}}}}
	res := req.Result([]Answer{{Labels: []string{"SQLite"}}})
	fmt.Println(res.Text)
	fmt.Println(string(res.Structured))
	// Output:
	// Which database?
	// -> "SQLite"
	// {"answers":[{"labels":["SQLite"]}]}
}
