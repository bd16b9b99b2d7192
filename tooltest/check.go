package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/schema"
)

// Check runs what every tool must hold against t and reports what it finds
// through tb, all of it. inputs are valid arguments, as JSON; the tool is really
// run with them, several times and at once, and everything it asks is allowed, so
// give inputs whose effects the test can bear. With no inputs only name, spec and
// the handling of bad arguments are checked.
func Check(tb testing.TB, t tool.Tool, inputs ...string) {
	tb.Helper()
	for _, c := range checks {
		if err := c.guarded(t, inputs); err != nil {
			tb.Errorf("%s: %v\n\t%s", c.name, err, c.explanation)
		}
	}
}

const (
	soon = 5 * time.Second // after which a tool counts as hanging
	many = 4               // concurrent runs
)

type check struct {
	name, explanation string
	run               func(t tool.Tool, inputs []string) error
}

// guarded turns a panic of the tool's own methods into a finding.
func (c *check) guarded(t tool.Tool, inputs []string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panicked: %v", v)
		}
	}()
	return c.run(t, inputs)
}

var errHang = errors.New("did not return")

var checks = []check{
	{"name", "providers refuse other names, and one bad name costs the whole request", func(t tool.Tool, _ []string) error {
		first := t.Name()
		if again := t.Name(); again != first {
			return fmt.Errorf("it changes from %q to %q", first, again)
		}
		return tool.CheckName(first)
	}},
	{"spec", "a spec must describe the tool, and be the same bytes every time so that prompts can be cached", func(t tool.Tool, _ []string) error {
		a, err := spec(t)
		if err != nil || a == nil {
			return err
		}
		b, err := spec(t)
		if err != nil {
			return err
		}
		if a.Name != t.Name() {
			return fmt.Errorf("the spec is named %q", a.Name)
		}
		if a.Description == "" {
			return errors.New("no description")
		}
		aj, aerr := json.Marshal(a)
		bj, berr := json.Marshal(b)
		if err := errors.Join(aerr, berr); err != nil {
			return err
		}
		if !bytes.Equal(aj, bj) {
			return errors.New("two calls of Spec differ")
		}
		return nil
	}},
	{"schema", "the input schema must pass the guard, compile, and be an object", func(t tool.Tool, _ []string) error {
		s, err := spec(t)
		if err != nil || s == nil {
			return err
		}
		if err := schema.Check(s.Input); err != nil {
			return err
		}
		_, err = schema.Compile(s.Input)
		return err
	}},
	{"dialects", "every provider dialect must give a valid schema and the same one every time", func(t tool.Tool, _ []string) error {
		s, err := spec(t)
		if err != nil || s == nil {
			return err
		}
		for name, convert := range map[string]func(json.RawMessage) (json.RawMessage, []schema.Loss){
			"OpenAIStrict": schema.OpenAIStrict, "Gemini": schema.Gemini, "Anthropic": schema.Anthropic,
		} {
			a, _ := convert(s.Input)
			b, _ := convert(s.Input)
			if !json.Valid(a) || !bytes.Equal(a, b) {
				return fmt.Errorf("%s gives %q, then %q", name, a, b)
			}
		}
		return nil
	}},
	{"bad arguments", "arguments that are no JSON object must be an error that names the tool's problem, never a run or a panic", func(t tool.Tool, _ []string) error {
		for _, in := range []string{`{`, `[]`, `"x"`, `{"no_such_argument_at_all":1}`, "\x00", `{"a":1} x`} {
			res, err := run(context.Background(), t, in)
			if errors.Is(err, errHang) || errors.Is(err, tool.ErrPanic) {
				return fmt.Errorf("%q: %w", in, err)
			}
			if err == nil && (res == nil || !res.IsError) {
				return fmt.Errorf("%q was accepted", in)
			}
		}
		return nil
	}},
	{"inputs", "valid arguments must validate, and results must be valid UTF-8", func(t tool.Tool, inputs []string) error {
		for _, in := range inputs {
			res, err := run(context.Background(), t, in)
			if errors.Is(err, tool.ErrInput) || errors.Is(err, tool.ErrPanic) || errors.Is(err, errHang) {
				return fmt.Errorf("%s: %w", in, err)
			}
			if err == nil && res == nil {
				return fmt.Errorf("%s: neither result nor error", in)
			}
			if res != nil && !utf8.ValidString(res.Text) {
				return fmt.Errorf("%s: text is not UTF-8", in)
			}
		}
		return nil
	}},
	{"cancelled context", "a tool must return soon when its context is over", func(t tool.Tool, inputs []string) error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, in := range inputs {
			if _, err := run(ctx, t, in); errors.Is(err, errHang) || errors.Is(err, tool.ErrPanic) {
				return fmt.Errorf("%s: %w", in, err)
			}
		}
		return nil
	}},
	{"concurrency", "a tool must be safe for concurrent use; run the test with -race", func(t tool.Tool, inputs []string) error {
		var wg sync.WaitGroup
		errs := make(chan error, many*len(inputs))
		for range many {
			for _, in := range inputs {
				wg.Go(func() {
					_, err := run(context.Background(), t, in)
					if errors.Is(err, tool.ErrPanic) || errors.Is(err, errHang) {
						errs <- fmt.Errorf("%s: %w", in, err)
					}
				})
			}
		}
		wg.Wait()
		close(errs)
		return <-errs
	}},
}

// spec returns nil for a tool that hides itself.
func spec(t tool.Tool) (*tool.Spec, error) {
	s, err := t.Spec(context.Background(), nil)
	if errors.Is(err, tool.ErrHidden) {
		return nil, nil
	}
	if err == nil && s == nil {
		err = errors.New("there is no spec")
	}
	return s, err
}

// run runs t once on its own goroutine.
func run(ctx context.Context, t tool.Tool, input string) (*tool.Result, error) {
	type answer struct {
		res *tool.Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a = answer{nil, &tool.PanicError{Tool: t.Name(), Value: v}}
			}
			done <- a
		}()
		a.res, a.err = t.Run(ctx, NewCall(t.Name(), input).Bind(tool.Runtime{Approver: AllowAll{}}))
	}()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case a := <-done:
		return a.res, a.err
	case <-timer.C:
		return nil, fmt.Errorf("%w within %s", errHang, soon)
	}
}
