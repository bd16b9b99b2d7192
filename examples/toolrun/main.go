// Command toolrun drives the built-in tools from any language: JSON Lines with
// calls in, JSON Lines with what became of them out.
//
//	toolrun -root DIR [-rules FILE] [-ask allow|deny] [-spill DIR]
//	toolrun -spec
//
// An input line is a call, {"id","tool","input"}, with optional "session",
// "agent" (a name), "rules" (a permission configuration that replaces the
// process's for this call), "cancelAfterMs" and "explain":true; or a group of
// them, {"parallel":[call,…]}, whose members run at once. Lines are handled one
// at a time, and every call is answered by one line:
//
//	{"id","tool","state","title","text","metadata","attachments","isError","error","asks","updates","ms"}
//
// or, if it was only to be explained, by what it would ask:
//
//	{"id","tool","decision","asks","reasons"}
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/builtin/media"
	"github.com/agenttool/tool/permission"
	"github.com/agenttool/tool/truncate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// defaultRules allow everything inside the root.
const defaultRules = `{"*":"allow","external_directory":"ask"}`

// options are the parsed flags.
type options struct {
	root, rules, ask, spill string
	spec                    bool
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("toolrun", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&o.root, "root", "", "project `directory`")
	fs.StringVar(&o.rules, "rules", "", "permission configuration, a JSON `file` (default: all is allowed but external_directory, which asks)")
	fs.StringVar(&o.ask, "ask", "deny", "the answer to what is asked: `allow or deny`")
	fs.StringVar(&o.spill, "spill", "", "`directory` for the full texts of results that were cut")
	fs.BoolVar(&o.spec, "spec", false, "print what the tools look like to a model, and exit")
	err := fs.Parse(args)
	switch {
	case err != nil:
		return o, err
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.ask != "allow" && o.ask != "deny":
		err = fmt.Errorf("-ask must be allow or deny, not %q", o.ask)
	case !o.spec && o.root == "":
		err = errors.New("-root is required")
	}
	if err != nil {
		fmt.Fprintln(errOut, "toolrun:", err)
	}
	return o, err
}

// run is the whole program. It returns the exit code: 0 at the end of the input,
// 2 for wrong usage, 1 for everything else.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	o, err := parse(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	w := &lineWriter{w: bufio.NewWriter(out)}
	if o.spec {
		err = printSpec(ctx, w)
	} else {
		err = serve(ctx, o, in, w)
	}
	if err != nil {
		fmt.Fprintln(errOut, "toolrun:", err)
		return 1
	}
	return 0
}

// printSpec prints the tools. No tool runs, so any directory will do as the root.
func printSpec(ctx context.Context, w *lineWriter) error {
	ts, err := builtin.New(builtin.Config{Root: "."})
	if err != nil {
		return err
	}
	defer ts.Close()
	type spec struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Input       any    `json:"input"`
	}
	specs := []spec{}
	for _, t := range ts.Tools() {
		s, err := t.Spec(ctx, nil)
		if err != nil {
			return err
		}
		specs = append(specs, spec{s.Name, s.Description, s.Input})
	}
	return w.write(map[string]any{"tools": specs})
}

// serve answers calls until the input ends.
func serve(ctx context.Context, o options, in io.Reader, w *lineWriter) (err error) {
	config := []byte(defaultRules)
	if o.rules != "" {
		if config, err = os.ReadFile(o.rules); err != nil {
			return err
		}
	}
	rules, err := permission.ParseConfig(config)
	if err != nil {
		return err
	}
	cfg := builtin.Config{Root: o.root, Images: &media.Images{}, PDF: &media.PDF{}}
	policy := truncate.Policy{}
	if o.spill != "" {
		store, err := truncate.OpenStore(o.spill, nil)
		if err != nil {
			return err
		}
		defer store.Close()
		cfg.Spill, policy.Spill = store, store
	}
	ts, err := builtin.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ts.Close()) }()
	set, err := tool.NewSet(ctx, nil, ts.Tools()...)
	if err != nil {
		return err
	}
	r := &runner{
		toolset: ts, set: set, rules: rules, allow: o.ask == "allow",
		doom: (&permission.DoomLoop{}).Middleware(),
	}
	r.ex = &tool.Executor{
		Approver:   tool.ApproverFunc(r.approve),
		Middleware: []tool.Middleware{r.guard},
		Observe:    r.observe,
		Truncate:   tool.Truncator(policy),
	}
	return r.lines(ctx, newLineReader(in, maxLine), w)
}
