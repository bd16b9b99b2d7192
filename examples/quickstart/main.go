// Quickstart shows the whole library at work, offline and in a few seconds: a
// scripted model repairs a small Go module whose test fails, with the built-in
// tools, a skill, a subagent, a page of the web and gopls where it is installed,
// through permissions, in parallel, and with the mistakes that models make.
//
//	go run ./examples/quickstart        # answers to the prompts come from the script
//	go run ./examples/quickstart -i     # you answer the prompts
package main

import (
	"context"
	_ "embed" // the module to repair
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/permission"
	"golang.org/x/tools/txtar"
)

//go:embed module.txtar
var module []byte

// rules are the user's configuration: looking is free, the rest is asked for.
const rules = `{
	"*": "ask",
	"read": "allow",
	"glob": "allow",
	"grep": "allow",
	"skill": "allow",
	"lsp": "allow",
	"checklist": "allow",
	"bash": {"*": "ask", "git push *": "deny"}
}`

func main() {
	interactive := flag.Bool("i", false, "answer the prompts yourself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var in io.Reader
	if *interactive {
		in = os.Stdin
	}
	if err := run(ctx, os.Stdout, in, languageServers()); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the host: it prepares a workspace, plugs the library together, and
// loops over the model's turns. With in, prompts are answered from there.
func run(ctx context.Context, out io.Writer, in io.Reader, servers []builtin.LanguageServer) (err error) {
	dir, err := unpack(module)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	origin, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	log := newTranscript(out, map[string]string{dir: "$WORKSPACE", origin: "$SITE"})
	tools, err := builtin.New(builtin.Config{
		Root:            dir,
		Skills:          builtin.SkillConfig{Dirs: []string{".agent/skills"}},
		Task:            builtin.TaskConfig{Runner: scouts{}},
		LanguageServers: servers,
		Web:             builtin.WebConfig{Local: []string{origin}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	var reg tool.Registry
	if err := reg.Add(append(tools.Tools(), checklist)...); err != nil {
		return err
	}
	config, err := permission.ParseConfig([]byte(rules))
	if err != nil {
		return err
	}
	gate := &permission.Gate{Rules: config, Prompt: prompter(log, in)}
	ex := &tool.Executor{Approver: gate, Observe: log.observe}
	agent := &tool.Agent{Name: "build", Model: "scripted", Client: "cli", Flags: map[string]bool{"batch": true, "lsp": len(servers) > 0}}
	filters := []tool.Filter{builtin.StandardConditions().Filter(), permission.Filter(config)}

	model := newModel(dir, origin, in != nil, len(servers) > 0)
	var history []tool.Outcome
	for turn := 1; ; turn++ {
		set, err := reg.Resolve(ctx, agent, filters...)
		if err != nil {
			return err
		}
		if turn == 1 {
			log.offered(set)
		}
		say, calls, err := model.next(history)
		if err != nil {
			return err
		}
		log.turn(turn, say, calls)
		if len(calls) == 0 {
			break
		}
		batch := ex.Start(ctx, set)
		for _, c := range calls {
			c.SessionID, c.MessageID, c.Agent = "quickstart", fmt.Sprintf("message-%d", turn), agent
			batch.Go(c)
		}
		history, err = batch.Wait()
		if err != nil {
			return err
		}
	}
	return log.finish(filepath.Join(dir, "stats.go"))
}

// languageServers returns gopls where it is installed, and nothing elsewhere. It
// gets the time that it needs on a busy machine.
func languageServers() []builtin.LanguageServer {
	gopls := builtin.Gopls()
	if _, err := exec.LookPath(gopls.Command); err != nil {
		return nil
	}
	gopls.StartTimeout, gopls.RequestTimeout = 2*time.Minute, 2*time.Minute
	return []builtin.LanguageServer{gopls}
}

// unpack writes the archive to a new directory.
func unpack(archive []byte) (string, error) {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for _, f := range txtar.Parse(archive).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// checklist is a tool of the host's own, to stand beside the built-in ones.
var checklist = tool.Define(tool.Def{Name: "checklist", Description: "Show the user a list of steps, ticking them off.", Parallel: true},
	func(ctx context.Context, call *tool.Call, in struct {
		Steps []string `json:"steps" minItems:"1" maxItems:"20" jsonschema:"steps that are done"`
	}) (*tool.Result, error) {
		for i, s := range in.Steps {
			call.Update(tool.Update{Title: fmt.Sprintf("%d of %d: %s", i+1, len(in.Steps), s)})
		}
		return tool.Textf("%d steps shown", len(in.Steps)), nil
	})
