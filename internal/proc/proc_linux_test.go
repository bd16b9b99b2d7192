package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openFiles(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(names)
}

func alive(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.alive()
}

// checkNothingLeft fails if a process with one of the marks lives, or a child of
// this process is a zombie.
func checkNothingLeft(t *testing.T, ids []string) {
	t.Helper()
	marks := map[string]bool{}
	for _, id := range ids {
		marks[id] = true
	}
	names, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range names {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		b, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if f[1] == strconv.Itoa(os.Getpid()) {
			assert.NotEqual(t, "Z", f[0], "a zombie of ours: %s", b)
		}
		env, _ := os.ReadFile(dir + "/environ")
		for kv := range strings.SplitSeq(string(env), "\x00") {
			if value, ok := strings.CutPrefix(kv, Marker+"="); ok && pid != os.Getpid() {
				for id := range strings.FieldsSeq(value) {
					assert.False(t, marks[id], "left over: %d", pid)
				}
			}
		}
	}
}

// What leaves the session, and closes the pipe, is found by its mark.
func TestEscapees(t *testing.T) {
	for _, text := range []string{
		"setsid sleep 600 >/dev/null 2>&1 & echo $!; sleep 0.2; exit 0",
		"setsid setsid sleep 600 & echo $!; sleep 0.2; exit 0",
		"set -m; sleep 600 & echo $!; sleep 0.2; exit 0", // the same session, a group of its own
	} {
		p := start(t, command(t, text))
		r := p.Wait()
		require.NotEmpty(t, r.Leftovers, text)
		pid := r.Leftovers[0].PID
		assert.Equal(t, "sleep 600", r.Leftovers[0].Command)
		assert.True(t, alive(pid))
		within(t, 20*time.Second, func() { require.NoError(t, p.Close()) })
		assert.False(t, alive(pid))
		assert.NotEmpty(t, p.Result().Ended)
		checkNothingLeft(t, []string{p.ID()})
	}
	// The same at a timeout.
	spec := command(t, "setsid sh -c 'trap \"\" TERM; sleep 600' >/dev/null 2>&1 & sleep 600")
	spec.Timeout, spec.Grace = 300*time.Millisecond, 200*time.Millisecond
	p := start(t, spec)
	within(t, 20*time.Second, func() { <-p.Done() })
	assert.Empty(t, p.Result().Leftovers)
	checkNothingLeft(t, []string{p.ID()})
}

// A host that waits for all children takes the leader away from us. Nothing may
// be sent by its id then.
func TestLeaderReapedByHost(t *testing.T) {
	spec := command(t, "echo x")
	spec.Start = func(_ context.Context, cmd *exec.Cmd) error {
		if err := cmd.Start(); err != nil {
			return err
		}
		for {
			var ws syscall.WaitStatus
			if _, err := syscall.Wait4(cmd.Process.Pid, &ws, 0, nil); err != syscall.EINTR {
				return err
			}
		}
	}
	p := start(t, spec)
	within(t, 10*time.Second, func() { <-p.Done() })
	r := p.Result()
	assert.Equal(t, "x\n", r.Text)
	assert.Equal(t, -1, r.Exit)
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], "not known")
	assert.True(t, p.group.reaped)
}

func TestStrangersAreNeverSignalled(t *testing.T) {
	assert.False(t, mayHit(1))
	assert.False(t, mayHit(0))
	assert.False(t, mayHit(-1))
	assert.False(t, mayHit(os.Getpid()))
	// A member whose id was given to another process since.
	p := start(t, command(t, "sleep 600"))
	s, ok := readStat(p.PID())
	require.True(t, ok)
	signalMember(Member{PID: p.PID(), start: s.start + 1}, syscall.SIGKILL)
	p.group.signal(syscall.Signal(0), nil)
	time.Sleep(20 * time.Millisecond)
	assert.True(t, alive(p.PID()))
	// After reaping nothing is sent by the leader's id.
	g := &group{pid: p.PID(), leads: true, reaped: true}
	g.killAll(nil)
	time.Sleep(20 * time.Millisecond)
	assert.True(t, alive(p.PID()))
}

func TestWaitingForInput(t *testing.T) {
	spec := command(t, `printf 'Your name: '; read name; printf 'Proceed? [y/N] '; sleep 600`)
	spec.Input = true
	p := start(t, spec)
	p.Detach()
	p.WaitUntil(t.Context(), Until{Match: regexp.MustCompile("name: ")})
	assert.Eventually(t, func() bool {
		prompt, ok := p.Waiting()
		return ok && prompt == "Your name:"
	}, long, 20*time.Millisecond)
	require.NoError(t, p.WriteInput(t.Context(), []byte("x\n")))
	p.WaitUntil(t.Context(), Until{Match: regexp.MustCompile("y/N")})
	prompt, ok := p.Waiting()
	assert.True(t, ok, "by its looks")
	assert.Equal(t, "Your name: Proceed? [y/N]", prompt)

	// Reported live, and at the timeout.
	seen := make(chan string, 100)
	spec = command(t, `printf 'Password: '; sleep 600`)
	spec.Quiet, spec.UpdateEvery, spec.Timeout = 50*time.Millisecond, 10*time.Millisecond, 2*time.Second
	spec.Update = func(u Update) {
		if u.Waiting != "" {
			seen <- u.Waiting
		}
	}
	p = start(t, spec)
	select {
	case w := <-seen:
		assert.Equal(t, "Password:", w)
	case <-time.After(long):
		t.Fatal("no update")
	}
	assert.Equal(t, "Password:", p.Wait().Waiting)
}

// Memory stays small whatever is printed.
func TestMemoryIsBounded(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	for name, text := range map[string]string{
		"short lines": "yes | head -c 512M",
		"one line":    "head -c 200M /dev/zero | tr '\\0' x",
	} {
		t.Run(name, func(t *testing.T) {
			spec := command(t, text)
			spec.Collect.Errors, spec.Collect.Fold = 20, 4
			base, most := residentBytes(t), 0
			p := start(t, spec)
			for !ended(p.Ready()) {
				most = max(most, residentBytes(t))
				time.Sleep(5 * time.Millisecond)
			}
			r := p.Wait()
			assert.Less(t, most-base, 40<<20)
			assert.Greater(t, r.Cut.TotalBytes, 200<<20-1)
			assert.LessOrEqual(t, len(r.Text), 30_000)
		})
	}
}

func residentBytes(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.Fields(string(b))[1])
	require.NoError(t, err)
	return n * os.Getpagesize()
}

func TestQuickLookAgrees(t *testing.T) {
	p := start(t, command(t, "sleep 600 & sleep 600 & setsid sleep 600 & sleep 0.2"))
	<-p.Ready()
	quick, known := p.group.members(true)
	require.True(t, known)
	all, known := p.group.members(false)
	require.True(t, known)
	assert.Len(t, all, 3)
	assert.ElementsMatch(t, all, quick)
}

func TestStatWithOddName(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "a) Z (b")
	sh := shell(t)
	require.NoError(t, os.Symlink(sh.Path, link))
	p, err := Start(context.Background(), &Spec{Path: link, Args: []string{"-c", "sleep 600; :"}})
	require.NoError(t, err)
	defer p.Close()
	s, ok := readStat(p.PID())
	require.True(t, ok)
	assert.True(t, s.alive())
	assert.Equal(t, p.PID(), s.session)
	assert.Equal(t, p.PID(), s.pgrp)
}
