package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain runs the tests, or is a language server that misbehaves as
// LSP_TEST_SERVER says.
func TestMain(m *testing.M) {
	if how := os.Getenv("LSP_TEST_SERVER"); how != "" {
		misbehave(how)
		return
	}
	goleak.VerifyTestMain(m)
}

func misbehave(how string) {
	switch how {
	case "deaf to TERM", "deaf to exit":
		signal.Ignore(syscall.SIGTERM)
	case "chatters on stderr":
		line := strings.Repeat("e", 1<<10) + "\n"
		for range 20 << 10 {
			fmt.Fprint(os.Stderr, line)
		}
		fmt.Fprintln(os.Stderr, "and these were the last words")
	case "dies at once":
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		os.Exit(3)
	case "reads nothing":
		select {}
	case "leaves a child":
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "LSP_TEST_SERVER=deaf to TERM")
		in, _ := c.StdinPipe() // so that it does not end
		defer in.Close()
		c.Stdout = os.Stdout // which holds the pipe open
		_ = c.Start()
	}
	r := newFramer(bufio.NewReader(os.Stdin))
	for {
		body, err := r.next()
		if err != nil {
			if how == "deaf to exit" || how == "deaf to TERM" {
				select {}
			}
			return
		}
		var m incoming
		_ = json.Unmarshal(body, &m)
		reply := func(result string) {
			_, _ = os.Stdout.Write(frame([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)))
		}
		switch m.Method {
		case "initialize":
			reply(`{"capabilities":` + allCaps + `}`)
		case "textDocument/hover":
			switch how {
			case "dies":
				fmt.Fprintln(os.Stderr, "fatal: no more")
				os.Exit(4)
			case "says a lot":
				reply(`{"contents":"` + strings.Repeat("x", 50<<20) + `"}`)
				continue
			case "never answers":
				continue
			}
			reply(`{"contents":"here, with ` + os.Getenv("LSP_TEST_GIVEN") + `"}`)
		case "exit":
			if how != "deaf to exit" {
				os.Exit(0)
			}
		default:
			if len(m.ID) > 0 {
				reply("null")
			}
		}
	}
}

// given is an environment by which the servers of this run are known.
func given() string { return fmt.Sprintf("environment-of-%d", os.Getpid()) }

// realServer is this test binary as a server.
func realServer(t testing.TB, how string) (*Client, string) {
	dir := unpack(t, "-- a.go --\npackage a\n")
	self, err := os.Executable()
	require.NoError(t, err)
	c := New(Options{Root: dir, Env: os.Environ(), Servers: []Server{{
		Name: "real", Command: self, Env: []string{"LSP_TEST_SERVER=" + how, "LSP_TEST_GIVEN=" + given()}, Languages: map[string]string{".go": "go"},
		StartTimeout: 2 * time.Minute, RequestTimeout: 2 * time.Minute,
	}}})
	return c, filepath.Join(dir, "a.go")
}

// TestProcesses: a real server of any behaviour is driven, and nothing of it is
// left after Close, which does not take long.
func TestProcesses(t *testing.T) {
	for how, want := range map[string]string{
		"behaves":            "",
		"dies":               "It said:\nfatal: no more",
		"dies at once":       "It said:\ncannot find my configuration",
		"says a lot":         "more than the 33554432 that are taken",
		"chatters on stderr": "",
		"leaves a child":     "",
		"deaf to TERM":       "",
		"deaf to exit":       "",
	} {
		t.Run(how, func(t *testing.T) {
			before := descriptors(t)
			c, path := realServer(t, how)
			a, err := c.Query(t.Context(), Query{Op: OpHover, Path: path, At: Position{1, 1}})
			if want == "" {
				require.NoError(t, err)
				assert.Equal(t, "here, with "+given(), a.Hover)
			} else {
				require.ErrorContains(t, err, want)
			}
			start := time.Now()
			require.NoError(t, c.Close())
			assert.Less(t, time.Since(start), 30*time.Second) // three are promised
			t.Log("closed in", time.Since(start).Round(time.Millisecond))
			nothingLeft(t, before)
		})
	}
}

// TestCloseHalfway: also if it is closed while it starts or works, nothing is left.
func TestCloseHalfway(t *testing.T) {
	for _, how := range []string{"reads nothing", "never answers", "behaves"} {
		for _, after := range []time.Duration{0, 5 * time.Millisecond, 200 * time.Millisecond} {
			before := descriptors(t)
			c, path := realServer(t, how)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			c.Open(path)
			go func() {
				_, err := c.Query(ctx, Query{Op: OpHover, Path: path, At: Position{1, 1}})
				done <- err
			}()
			time.Sleep(after)
			cancel()
			require.NoError(t, c.Close())
			<-done
			nothingLeft(t, before)
		}
	}
}

// TestStderrTail: of what a server says to its standard error only the end is kept.
func TestStderrTail(t *testing.T) {
	c, path := realServer(t, "chatters on stderr")
	defer c.Close()
	_, err := c.Query(t.Context(), Query{Op: OpHover, Path: path, At: Position{1, 1}})
	require.NoError(t, err)
	cur := c.serversFor(path)[0].running()
	require.Eventually(t, func() bool { return strings.HasSuffix(cur.proc.Stderr(), "and these were the last words") }, testTime, testTick)
	assert.LessOrEqual(t, len(cur.proc.Stderr()), stderrKept)
}

// TestProgram: what is run is what the host named, found outside of the project.
func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs execute bits")
	}
	dir := unpack(t, "-- bin/tool --\n#!/bin/sh\n-- a.go --\npackage a\n")
	outside := unpack(t, "-- tool --\n#!/bin/sh\n-- plain --\nx\n")
	for _, f := range []string{filepath.Join(dir, "bin", "tool"), filepath.Join(outside, "tool")} {
		require.NoError(t, os.Chmod(f, 0o755))
	}
	link := filepath.Join(outside, "linked")
	require.NoError(t, os.Symlink(filepath.Join(dir, "bin", "tool"), link))
	inProject, beside := "PATH="+filepath.Join(dir, "bin"), "PATH=bin:"+filepath.Join(dir, "bin")+":"+outside
	for _, c := range []struct{ command, env, want, err string }{
		{"tool", beside, filepath.Join(outside, "tool"), ""},
		{"tool", inProject, "", "tool was not found in PATH"},
		{"linked", beside, "", "linked was not found in PATH"},
		{"plain", beside, "", "plain was not found in PATH"},
		{filepath.Join(dir, "bin", "tool"), "PATH=", filepath.Join(dir, "bin", "tool"), ""},
		{filepath.Join(dir, "bin", "nope"), "PATH=", "", "cannot be run"},
		{"bin/tool", beside, "", "neither a name nor an absolute path"},
		{"", beside, "", "no command"},
	} {
		got, err := findProgram(&Server{Name: "srv", Command: c.command, Hint: "get it at the shop"}, []string{c.env}, dir)
		if c.err != "" {
			require.ErrorIs(t, err, ErrNotFound, c.command)
			require.ErrorContains(t, err, c.err)
			require.ErrorContains(t, err, "srv is not installed: ")
			require.ErrorContains(t, err, "To install it: get it at the shop")
			continue
		}
		require.NoError(t, err, c.command)
		assert.Equal(t, c.want, got)
	}
	c := New(Options{Root: dir, Env: []string{inProject}, Servers: []Server{{Name: "srv", Command: "tool", Languages: map[string]string{".go": "go"}}}})
	defer c.Close()
	for range 10 { // it is looked for anew each time: somebody may install it
		_, err := c.Query(t.Context(), Query{Op: OpHover, Path: filepath.Join(dir, "a.go"), At: Position{1, 1}})
		require.ErrorIs(t, err, ErrNotFound)
	}
}

func descriptors(t testing.TB) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// nothingLeft fails if there are more descriptors than before, or servers.
func nothingLeft(t testing.TB, before int) {
	t.Helper()
	require.Eventually(t, func() bool { return descriptors(t) <= before && servers(t) == 0 }, testTime, testTick)
}

// servers counts the processes that are servers of these tests.
func servers(t testing.TB) int {
	n := 0
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range list {
		if f == fmt.Sprintf("/proc/%d/environ", os.Getpid()) {
			continue
		}
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "LSP_TEST_GIVEN="+given()) {
			if stat, err := os.ReadFile(filepath.Join(filepath.Dir(f), "stat")); err == nil && !strings.Contains(string(stat), ") Z ") {
				n++
			}
		}
	}
	return n
}
