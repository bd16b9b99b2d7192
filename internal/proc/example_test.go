//go:build unix

package proc_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agenttool/tool/internal/proc"
	"github.com/agenttool/tool/truncate"
)

func bash(text string) *proc.Spec {
	sh, err := proc.FindShell("")
	if err != nil {
		panic(err)
	}
	return &proc.Spec{Path: sh.Path, Args: sh.Args(text), Timeout: time.Minute}
}

func ExampleStart() {
	p, err := proc.Start(context.Background(), bash("echo to stdout; echo to stderr >&2; exit 3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	r := p.Wait()
	fmt.Print(r.Text)
	fmt.Println("exit", r.Exit)
	// Output:
	// to stdout
	// to stderr
	// exit 3
}

// What the command leaves behind goes on and is known.
func ExampleResult_leftovers() {
	p, err := proc.Start(context.Background(), bash("sleep 60 & echo started"))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := p.Wait()
	fmt.Print(r.Text)
	for _, m := range r.Leftovers {
		fmt.Println("left running:", m.Command)
	}
	p.Close()
	fmt.Println("ended:", len(p.Result().Ended))
	// Output:
	// started
	// left running: sleep 60
	// ended: 1
}

// A job: driven by its output and its input.
func ExampleProcess_Detach() {
	spec := bash(`echo ready; read x; echo "got $x"`)
	spec.Input = true
	p, err := proc.Start(context.Background(), spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	p.Detach()
	ctx := context.Background()
	p.WaitUntil(ctx, proc.Until{Match: regexp.MustCompile("ready")})
	seen := p.Since(0, 1000)
	fmt.Print(seen.Text)
	p.WriteInput(ctx, []byte("a line\n"))
	<-p.Done()
	fmt.Print(p.Since(seen.Next, 1000).Text)
	// Output:
	// ready
	// got a line
}

func ExampleSpec_show() {
	spec := bash("for i in 1 2 3 4 5 6 7 8; do echo again; done; seq 1 1000; printf '10%%\\r100%%\\n'")
	spec.Collect.Fold = 4
	spec.Show = truncate.Policy{Keep: truncate.HeadTail, MaxLines: 6}
	p, err := proc.Start(context.Background(), spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Print(p.Wait().Text)
	// Output:
	// again
	// … ×8
	// 1
	// [997 lines, 3882 bytes omitted; the full text was not kept.]
	// 999
	// 1000
	// 100%
}

func ExampleEnviron() {
	env, removed := proc.Environ(&proc.EnvOptions{
		Base: []string{"HOME=/home/me", "BASH_ENV=/tmp/evil", "DB_PASSWORD=x", "GH_TOKEN=y"},
		Keep: []string{"GH_TOKEN"},
	})
	fmt.Println(strings.Join(env[:3], " "))
	fmt.Println(removed)
	// Output:
	// HOME=/home/me GH_TOKEN=y TERM=dumb
	// [BASH_ENV DB_PASSWORD]
}
