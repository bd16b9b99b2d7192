//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agenttool/tool/truncate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is how long a test waits before it takes something for hung: ten times
// what is expected and more.
const long = 40 * time.Second

func shell(t testing.TB) *Shell {
	t.Helper()
	sh, err := FindShell("")
	if err != nil {
		t.Skip(err)
	}
	return sh
}

// command returns a Spec that runs text.
func command(t testing.TB, text string) *Spec {
	sh := shell(t)
	return &Spec{Path: sh.Path, Args: sh.Args(text), Timeout: long, Show: truncate.Policy{MaxBytes: 30_000, Keep: truncate.HeadTail}}
}

func start(t testing.TB, spec *Spec) *Process {
	t.Helper()
	p, err := Start(context.Background(), spec)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// within runs f and fails if it takes longer than d, ten times the expected time.
func within(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("hangs: not back after %v", d)
	}
}

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want, status string
		exit               int
	}{
		"output and code":     {"echo hi; exit 3", "hi\n", "exit 3", 3},
		"both streams":        {"echo a; echo b >&2; echo c", "a\nb\nc\n", "exit 0", 0},
		"no output":           {"true", "", "exit 0", 0},
		"signal":              {"kill -9 $$", "", "killed by SIGKILL", -1},
		"late output":         {"(sleep 0.05; echo late) & echo first", "first\nlate\n", "exit 0", 0},
		"input is empty":      {"cat; echo end", "end\n", "exit 0", 0},
		"no terminal":         {"(: </dev/tty) 2>/dev/null || echo none", "none\n", "exit 0", 0},
		"progress":            {`printf '10%%\r50%%\r100%%\n'`, "100%\n", "exit 0", 0},
		"colours":             {`printf '\033[31mred\033[0m\n'`, "red\n", "exit 0", 0},
		"descriptors":         {"for f in 3 4 5 6 7 8 9; do { : >&$f; } 2>/dev/null && echo open $f; done; true", "", "exit 0", 0},
		"half a character":    {`printf '\344\275'; sleep 0.05; printf '\240\n'`, "你\n", "exit 0", 0},
		"command not found":   {"exec 2>&1; no-such-program-here || echo $?", "", "exit 0", 0},
		"exit code of a pipe": {"true | (exit 7)", "", "exit 7", 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, command(t, tc.text))
			r := p.Wait()
			if name != "command not found" {
				assert.Equal(t, tc.want, r.Text)
			} else {
				assert.Contains(t, r.Text, "127")
			}
			assert.Equal(t, tc.exit, r.Exit)
			assert.True(t, strings.HasPrefix(r.Status(), tc.status), r.Status())
			assert.False(t, r.TimedOut || r.Cancelled || r.Killed || r.Running)
			<-p.Done()
			assert.Empty(t, p.Result().Leftovers)
		})
	}
}

// The leader ends, a child holds the output open.
func TestReturnsWhenLeaderEnds(t *testing.T) {
	p := start(t, command(t, "sleep 600 & echo hi"))
	var r *Result
	within(t, 5*time.Second, func() { r = p.Wait() })
	assert.Equal(t, "hi\n", r.Text)
	assert.Equal(t, 0, r.Exit)
	assert.False(t, r.Running)
	require.Len(t, r.Leftovers, 1)
	assert.Equal(t, "sleep 600", r.Leftovers[0].Command)
	assert.False(t, ended(p.Done()), "it goes on as a job")
	pid := r.Leftovers[0].PID
	require.NoError(t, p.Close())
	assert.False(t, alive(pid))
	final := p.Result()
	assert.Equal(t, 0, final.Exit)
	assert.False(t, final.Killed, "the leader was not killed")
	require.Len(t, final.Ended, 1)
	assert.Empty(t, final.Leftovers)
}

func TestEndlessBackgroundWriter(t *testing.T) {
	spec := command(t, "while :; do echo y; sleep 0.01; done & echo first")
	spec.MaxDrain = 300 * time.Millisecond
	p := start(t, spec)
	within(t, 10*time.Second, func() {
		r := p.Wait()
		assert.True(t, strings.HasPrefix(r.Text, "first\ny\n"), r.Text)
		assert.NotEmpty(t, r.Leftovers)
	})
}

func TestLeftoversKilled(t *testing.T) {
	spec := command(t, "sleep 600 & echo $!")
	spec.Leftovers = LeftoversKill
	p := start(t, spec)
	within(t, 5*time.Second, func() { <-p.Done() })
	r := p.Result()
	assert.Equal(t, 0, r.Exit)
	require.Len(t, r.Ended, 1)
	assert.Equal(t, fmt.Sprintln(r.Ended[0].PID), r.Text)
	assert.False(t, alive(r.Ended[0].PID))
}

// A job that ends by itself is reaped, and its late output is there.
func TestLeftoverEndsByItself(t *testing.T) {
	p := start(t, command(t, "(sleep 0.4; echo from the job) & echo first; exit 5"))
	r := p.Wait()
	assert.Equal(t, "first\n", r.Text)
	assert.Equal(t, 5, r.Exit)
	within(t, 10*time.Second, func() { <-p.Done() })
	assert.Equal(t, "first\nfrom the job\n", p.Result().Text)
	assert.Equal(t, 5, p.Result().Exit)
	assert.Empty(t, p.Result().Leftovers)
}

func TestTimeoutKeepsOutput(t *testing.T) {
	spec := command(t, "trap '' TERM; echo before; sleep 600")
	spec.Timeout, spec.Grace = 300*time.Millisecond, 300*time.Millisecond
	p := start(t, spec)
	within(t, 20*time.Second, func() { <-p.Done() })
	r := p.Result()
	assert.Equal(t, "before\n", r.Text)
	assert.True(t, r.TimedOut)
	assert.Equal(t, "SIGKILL", r.Signal)
	assert.Equal(t, -1, r.Exit)
	assert.GreaterOrEqual(t, r.Duration, 600*time.Millisecond)
	assert.True(t, strings.HasPrefix(r.Status(), "timed out after "), r.Status())
}

// Who obeys the polite signal has time to say something, and is not waited for.
func TestTimeoutIsPolite(t *testing.T) {
	spec := command(t, "trap 'echo cleaned up; exit 9' TERM; echo before; sleep 600 & wait")
	spec.Timeout, spec.Grace = 200*time.Millisecond, long
	p := start(t, spec)
	within(t, 20*time.Second, func() { <-p.Done() })
	assert.Equal(t, "before\ncleaned up\n", p.Result().Text)
	assert.Equal(t, 9, p.Result().Exit)
	assert.True(t, p.Result().TimedOut)
}

// A stopped process hears the signal too.
func TestTimeoutOfStoppedProcess(t *testing.T) {
	spec := command(t, "kill -STOP $$")
	spec.Timeout, spec.Grace = 200*time.Millisecond, long
	p := start(t, spec)
	within(t, 20*time.Second, func() { <-p.Done() })
	assert.Equal(t, "SIGTERM", p.Result().Signal)
}

func TestTimeoutDetaches(t *testing.T) {
	spec := command(t, "echo first; sleep 0.6; echo done; exit 4")
	spec.Timeout, spec.OnTimeout = 200*time.Millisecond, TimeoutDetach
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, spec)
	require.NoError(t, err)
	defer p.Close()
	r := p.Wait()
	assert.True(t, r.Running)
	assert.True(t, r.TimedOut)
	assert.Equal(t, "first\n", r.Text)
	assert.True(t, strings.HasPrefix(r.Status(), "still running after "))
	cancel() // the call is over, the job is not
	seen := p.Since(0, 1000)
	assert.Equal(t, "first\n", seen.Text)
	within(t, 10*time.Second, func() { <-p.Done() })
	assert.Equal(t, "done\n", p.Since(seen.Next, 1000).Text)
	r = p.Result()
	assert.Equal(t, 4, r.Exit)
	assert.Equal(t, "first\ndone\n", r.Text)
	assert.False(t, r.Running)
}

func TestDetach(t *testing.T) {
	p := start(t, command(t, "sleep 600"))
	p.Detach()
	p.Detach()
	r := p.Wait()
	assert.True(t, r.Running)
	assert.False(t, r.TimedOut)
	var final *Result
	within(t, 10*time.Second, func() {
		var err error
		final, err = p.Kill(t.Context())
		require.NoError(t, err)
	})
	assert.True(t, final.Killed)
	assert.Equal(t, "SIGTERM", final.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = p.Kill(ctx) // again, and with a dead context: no matter
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spec := command(t, "echo started; sleep 600 & sleep 600")
	p, err := Start(ctx, spec)
	require.NoError(t, err)
	defer p.Close()
	p.WaitUntil(t.Context(), Until{Match: regexp.MustCompile("started")})
	cancel()
	within(t, 10*time.Second, func() { <-p.Done() })
	r := p.Result()
	assert.True(t, r.Cancelled)
	assert.Equal(t, "started\n", r.Text)
	assert.True(t, strings.HasPrefix(r.Status(), "cancelled after "))

	_, err = Start(ctx, spec)
	require.ErrorIs(t, err, context.Canceled)
}

func TestCancelWhileDraining(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spec := command(t, "while :; do echo y; sleep 0.01; done & echo first")
	spec.MaxDrain = long
	p, err := Start(ctx, spec)
	require.NoError(t, err)
	defer p.Close()
	p.WaitUntil(t.Context(), Until{Match: regexp.MustCompile("y\ny\ny\ny\ny\n")})
	cancel()
	within(t, 10*time.Second, func() { <-p.Done() })
	assert.NotEmpty(t, p.Result().Ended)
	assert.Equal(t, 0, p.Result().Exit)
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(text), mode))
		return p
	}
	huge := &Spec{Path: shell(t).Path, Args: []string{"-c", strings.Repeat("x", 4<<20)}}
	failing := func(err error) *Spec {
		return &Spec{Path: "/bin/sh", Start: func(context.Context, *exec.Cmd) error {
			return &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: err}
		}}
	}
	for name, tc := range map[string]struct {
		spec *Spec
		want string
		is   error
	}{
		"missing":            {&Spec{Path: filepath.Join(dir, "none")}, "does not exist", os.ErrNotExist},
		"relative":           {&Spec{Path: "sh"}, "absolute path", nil},
		"not executable":     {&Spec{Path: file("plain", "x", 0o600)}, "permission denied", os.ErrPermission},
		"no program":         {&Spec{Path: file("noexec", "\x7fnothing", 0o700)}, "not a program", nil},
		"interpreter":        {&Spec{Path: file("interp", "#!/no/such/interpreter\n", 0o700)}, "interpreter", os.ErrNotExist},
		"too long":           {huge, "too long", syscall.E2BIG},
		"too many processes": {failing(syscall.EAGAIN), "as many processes as allowed", syscall.EAGAIN},
		"no memory":          {failing(syscall.ENOMEM), "out of memory", syscall.ENOMEM},
		"descriptors":        {failing(syscall.EMFILE), "too many open files", syscall.EMFILE},
		"other":              {failing(errors.New("odd")), "odd", nil},
		"directory":          {&Spec{Path: "/bin/sh", Dir: filepath.Join(dir, "a", "b")}, "the nearest that does is " + dir, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			_, err := Start(t.Context(), tc.spec)
			require.ErrorContains(t, err, tc.want)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			if before > 0 {
				assert.Equal(t, before, openFiles(t))
			}
		})
	}
}

func TestRemovedDirectory(t *testing.T) {
	base := t.TempDir()
	base, err := filepath.EvalSymlinks(base)
	require.NoError(t, err)
	gone := filepath.Join(base, "a", "b")
	require.NoError(t, os.MkdirAll(gone, 0o700))
	spec := command(t, "pwd; echo $PWD")
	spec.Dir = gone
	r := start(t, spec).Wait()
	assert.Equal(t, gone+"\n"+gone+"\n", r.Text)
	assert.Empty(t, r.Notes)
	require.NoError(t, os.RemoveAll(filepath.Join(base, "a")))
	_, err = Start(t.Context(), spec)
	var derr *DirError
	require.ErrorAs(t, err, &derr)
	assert.Equal(t, DirError{Dir: gone, Nearest: base}, *derr)

	spec.NearestDir = true
	r = start(t, spec).Wait()
	assert.Equal(t, base+"\n"+base+"\n", r.Text)
	assert.Equal(t, base, r.Dir)
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], gone+" does not exist any more")
}

// The directory of the host itself is removed.
func TestRemovedDirectoryOfHost(t *testing.T) {
	old, err := os.Getwd()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "gone")
	require.NoError(t, err)
	require.NoError(t, os.Chdir(dir))
	defer func() { require.NoError(t, os.Chdir(old)) }()
	require.NoError(t, os.Remove(dir))
	spec := command(t, "echo works")
	spec.NearestDir = true
	assert.Equal(t, "works\n", start(t, spec).Wait().Text)
}

func TestInput(t *testing.T) {
	spec := command(t, `echo "name?"; read name; echo "hello $name"; cat`)
	spec.Input = true
	p := start(t, spec)
	p.Detach()
	why, m := p.WaitUntil(t.Context(), Until{Match: regexp.MustCompile(`name\?`)})
	require.Equal(t, ReasonMatch, why)
	assert.Equal(t, "name?", m)
	require.NoError(t, p.WriteInput(t.Context(), []byte("you\nrest")))
	require.NoError(t, p.CloseInput())
	require.NoError(t, p.CloseInput())
	within(t, 10*time.Second, func() { <-p.Done() })
	assert.Equal(t, "name?\nhello you\nrest", p.Result().Text)
	require.ErrorIs(t, p.WriteInput(t.Context(), []byte("x")), ErrNoInput)
	assert.ErrorIs(t, start(t, command(t, "true")).WriteInput(t.Context(), []byte("x")), ErrNoInput)
}

func TestInputNobodyReads(t *testing.T) {
	spec := command(t, "sleep 600")
	spec.Input = true
	p := start(t, spec)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	within(t, 10*time.Second, func() {
		err := p.WriteInput(ctx, make([]byte, 1<<20))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "of 1048576 bytes")
	})
	// The next try is not held up by the last one's deadline.
	ctx2, cancel2 := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel2()
	require.ErrorIs(t, p.WriteInput(ctx2, make([]byte, 1<<20)), context.DeadlineExceeded)
	// A writer that waits is freed when the process ends.
	go p.Kill(context.Background())
	within(t, 10*time.Second, func() { require.ErrorIs(t, p.WriteInput(context.Background(), make([]byte, 1<<20)), ErrNoInput) })
}

func TestWaitUntil(t *testing.T) {
	p := start(t, command(t, "echo one; sleep 0.3; echo two; sleep 600"))
	p.Detach()
	ctx := t.Context()
	why, m := p.WaitUntil(ctx, Until{Match: regexp.MustCompile(`t.o`)})
	assert.Equal(t, ReasonMatch, why)
	assert.Equal(t, "two", m)
	cursor := p.Since(0, 1000).Next
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	why, _ = p.WaitUntil(short, Until{Match: regexp.MustCompile(`t.o`), Cursor: cursor})
	assert.Equal(t, ReasonContext, why, "what was seen does not count")
	why, _ = p.WaitUntil(ctx, Until{Idle: 50 * time.Millisecond})
	assert.Equal(t, ReasonIdle, why)
	go p.Kill(ctx)
	within(t, 10*time.Second, func() {
		why, _ = p.WaitUntil(ctx, Until{})
		assert.Equal(t, ReasonDone, why)
	})

	p = start(t, command(t, "sleep 0.2; echo last words; sleep 600 & exit 2"))
	p.Detach()
	why, _ = p.WaitUntil(ctx, Until{Exit: true})
	assert.Equal(t, ReasonExit, why)
	assert.Equal(t, "last words\n", p.Since(0, 100).Text)
}

func TestUpdates(t *testing.T) {
	var mu sync.Mutex
	var got []Update
	spec := command(t, "for i in 1 2 3 4 5 6 7 8 9 10; do seq 1 100000; done")
	spec.Update = func(u Update) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, u)
	}
	p := start(t, spec)
	begin := time.Now()
	r := p.Wait()
	took := time.Since(begin)
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, got)
	assert.LessOrEqual(t, len(got), int(took.Seconds()*20)+3)
	last := got[len(got)-1]
	assert.True(t, last.Final)
	assert.Equal(t, r.Text, last.Text)
	assert.EqualValues(t, 1_000_000, last.Lines)
	assert.EqualValues(t, r.Cut.TotalBytes, last.Bytes)
	for _, u := range got[:len(got)-1] {
		assert.False(t, u.Final)
		assert.LessOrEqual(t, len(u.Text), 8<<10)
	}
}

func TestUpdateReceiverMisbehaves(t *testing.T) {
	spec := command(t, "echo x; sleep 0.2; echo y")
	spec.UpdateEvery = time.Millisecond
	spec.Update = func(Update) { panic("host") }
	assert.Equal(t, "x\ny\n", start(t, spec).Wait().Text)

	release := make(chan struct{})
	spec.Update = func(Update) { <-release }
	p := start(t, spec)
	within(t, 20*time.Second, func() { assert.Equal(t, "x\ny\n", p.Wait().Text) })
	close(release)
}

func TestStdoutToWriter(t *testing.T) {
	var b closeBuffer
	spec := command(t, "echo out; echo err >&2; printf 'a\\0b'")
	spec.Stdout = &b
	p := start(t, spec)
	r := p.Wait()
	assert.Equal(t, "err\n", r.Text)
	assert.Equal(t, "out\na\x00b", b.String())
	assert.Equal(t, 1, b.closed)

	// As a server is driven: requests in, answers out.
	pr, pw := io.Pipe()
	spec = command(t, "while read line; do echo \"got $line\"; done")
	spec.Stdout, spec.Input = pw, true
	p = start(t, spec)
	p.Detach()
	require.NoError(t, p.WriteInput(t.Context(), []byte("1\n")))
	buf := make([]byte, 6)
	_, err := io.ReadFull(pr, buf)
	require.NoError(t, err)
	assert.Equal(t, "got 1\n", string(buf))
	require.NoError(t, p.WriteInput(t.Context(), []byte("2\n"))) // nobody will read the answer
	within(t, 20*time.Second, func() { require.NoError(t, p.Close()) })
	_, err = io.ReadAll(pr)
	require.NoError(t, err)
}

type closeBuffer struct {
	bytes.Buffer
	closed int
}

func (b *closeBuffer) Close() error { b.closed++; return nil }

func TestBinary(t *testing.T) {
	store, err := truncate.OpenStore(t.TempDir(), nil)
	require.NoError(t, err)
	defer store.Close()
	spec := command(t, `printf 'GIF\0\1\2\3'`)
	spec.Collect.Spill = store
	p := start(t, spec)
	r := p.Wait()
	assert.True(t, r.Binary)
	assert.Equal(t, fmt.Sprintf("[binary output, 7 bytes, saved to %s]", r.Cut.Path), r.Text)
	<-p.Done()
	got, err := os.ReadFile(r.Cut.Path)
	require.NoError(t, err)
	assert.Equal(t, "GIF\x00\x01\x02\x03", string(got))
}

func TestSpillHasRawBytes(t *testing.T) {
	store, err := truncate.OpenStore(t.TempDir(), nil)
	require.NoError(t, err)
	defer store.Close()
	spec := command(t, `for i in $(seq 1 2000); do printf '\033[3%dmline %d\033[0m\r\n' 1 $i; done`)
	spec.Collect.Spill = store
	spec.Show = truncate.Policy{MaxBytes: 2000, Keep: truncate.HeadTail}
	p := start(t, spec)
	r := p.Wait()
	assert.True(t, strings.HasPrefix(r.Text, "line 1\nline 2\n"), r.Text)
	assert.True(t, strings.HasSuffix(r.Text, "line 1999\nline 2000\n"), r.Text)
	<-p.Done()
	raw, err := os.ReadFile(r.Cut.Path)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(raw), "\x1b[31mline 1\x1b[0m\r\n"))
	assert.EqualValues(t, len(raw), r.Raw)
	assert.Equal(t, 2000, r.Cut.TotalLines)
}

func TestSandboxStart(t *testing.T) {
	spec := command(t, "echo confined")
	started := false
	spec.Start = func(ctx context.Context, cmd *exec.Cmd) error {
		started = true
		errc := make(chan error)
		go func() { // from a thread of its own, as some confinement needs
			runtime.LockOSThread()
			errc <- cmd.Start()
		}()
		return <-errc
	}
	assert.Equal(t, "confined\n", start(t, spec).Wait().Text)
	assert.True(t, started)
	spec.Start = func(context.Context, *exec.Cmd) error { return nil }
	_, err := Start(t.Context(), spec)
	require.ErrorContains(t, err, "did not start")
}

func TestMarkerIsAChain(t *testing.T) {
	spec := command(t, "echo $"+Marker)
	spec.Env = []string{Marker + "=outer1 outer2", "PATH=" + os.Getenv("PATH")}
	p := start(t, spec)
	assert.Equal(t, "outer1 outer2 "+p.ID()+"\n", p.Wait().Text)
}

// Many at once: nothing is mixed up, and nothing is left over.
func TestManyInParallel(t *testing.T) {
	sh := shell(t)
	start(t, command(t, "true")).Wait() // the poller has descriptors of its own
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	n := 500
	if testing.Short() {
		n = 50
	}
	bystander := exec.Command("sleep", "600")
	require.NoError(t, bystander.Start())
	ids := make([]string, n)
	var wg sync.WaitGroup
	sem := make(chan struct{}, 64)
	for i := range n {
		wg.Go(func() {
			sem <- struct{}{}
			defer func() { <-sem }()
			spec := &Spec{Path: sh.Path, Timeout: long}
			want := fmt.Sprintf("out %d\n", i)
			switch i % 5 {
			case 0: // leaves a child
				spec.Args = sh.Args(fmt.Sprintf("sleep 600 & echo out %d", i))
			case 1: // ignores the polite signal
				spec.Args = sh.Args(fmt.Sprintf("trap '' TERM; echo out %d; sleep 600", i))
				spec.Timeout, spec.Grace = 300*time.Millisecond, 10*time.Millisecond
			default:
				spec.Args = sh.Args(fmt.Sprintf("echo out %d; exit %d", i, i%100))
			}
			p, err := Start(context.Background(), spec)
			if !assert.NoError(t, err) {
				return
			}
			ids[i] = p.ID()
			r := p.Wait()
			if i%5 != 1 {
				assert.Equal(t, want, r.Text, "%+v", r)
			}
			if i%5 > 1 {
				assert.Equal(t, i%100, r.Exit)
			}
			assert.NoError(t, p.Close())
			assert.Empty(t, p.Result().Leftovers)
		})
	}
	wg.Wait()
	assert.True(t, alive(bystander.Process.Pid), "a foreign process was hit")
	require.NoError(t, bystander.Process.Kill())
	_ = bystander.Wait()
	checkNothingLeft(t, ids)
	assert.Equal(t, files, openFiles(t), "descriptors")
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, long, 10*time.Millisecond, "goroutines")
}

func TestStatus(t *testing.T) {
	for want, r := range map[string]Result{
		"exit 0, 12ms":             {Duration: 12 * time.Millisecond},
		"exit 1, 1.2s":             {Exit: 1, Duration: 1234 * time.Millisecond},
		"exit 0, 60s":              {Duration: time.Minute},
		"killed by SIGSEGV, 2m05s": {Exit: -1, Signal: "SIGSEGV", Duration: 125 * time.Second},
		"timed out after 2s":       {Exit: -1, TimedOut: true, Signal: "SIGTERM", Duration: 2 * time.Second},
		"cancelled after 0ms":      {Cancelled: true},
		"killed after 1h02m":       {Killed: true, Duration: time.Hour + 2*time.Minute},
		"still running after 10s":  {Running: true, TimedOut: true, Duration: 10 * time.Second},
		"running, 99s":             {Running: true, Duration: 99 * time.Second},
		"killed by SIGKILL, 1m40s": {Signal: "SIGKILL", Duration: 100 * time.Second},
		"killed by SIGABRT, 100ms": {Signal: "SIGABRT", Duration: 100 * time.Millisecond},
	} {
		assert.Equal(t, want, r.Status())
	}
}
