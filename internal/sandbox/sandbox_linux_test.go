package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// all returns the sandboxes that work here.
func all(t *testing.T) map[string]Sandbox {
	list := map[string]Sandbox{}
	if l, err := NewLandlock(); err == nil {
		list["landlock"] = l
	}
	if b, err := FindBubblewrap(t.Context(), ""); err == nil {
		list["bubblewrap"] = b
	}
	if len(list) == 0 {
		t.Skip("no sandbox works here")
	}
	return list
}

// run runs a text of shell and returns its output.
func run(ctx context.Context, s Sandbox, p *Policy, dir, text string) (string, *Enforced, error) {
	cmd := exec.Command("/bin/sh", "-c", text)
	var out strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	e, err := s.Start(ctx, cmd, p)
	if err != nil {
		return "", nil, err
	}
	err = cmd.Wait()
	return out.String(), e, err
}

func TestWrite(t *testing.T) {
	for name, s := range all(t) {
		t.Run(name, func(t *testing.T) {
			in, out := t.TempDir(), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(out, "there"), []byte("x"), 0o666))
			require.NoError(t, os.Symlink(out, filepath.Join(in, "link")))
			p := &Policy{Write: []string{in}}
			for _, text := range []string{
				"echo x > %s/new", "echo x >> %s/there", "rm %s/there", "mkdir %s/d", "ln -s /x %s/l", "mv %s/there there", ": > %s/there", "cp /bin/sh %s/sh",
				"(echo x > %s/new) & wait $!", "sh -c 'echo x > %s/new'", "echo x > link/new # %s",
			} {
				_, _, err := run(t.Context(), s, p, in, fmt.Sprintf(text, out))
				var exit *exec.ExitError
				assert.ErrorAs(t, err, &exit, text)
			}
			list, err := os.ReadDir(out)
			require.NoError(t, err)
			require.Len(t, list, 1)
			b, err := os.ReadFile(filepath.Join(out, "there"))
			require.NoError(t, err)
			assert.Equal(t, "x", string(b))

			text, e, err := run(t.Context(), s, p, in, "echo x > a && mkdir d && mv a d/b && cat d/b "+out+"/there >/dev/null && rm -r d && echo fine")
			require.NoError(t, err, text)
			assert.Equal(t, "fine\n", text)
			assert.Equal(t, name, e.Method)
			assert.True(t, e.Write)
			assert.True(t, e.Network)
		})
	}
}

func TestRead(t *testing.T) {
	for name, s := range all(t) {
		t.Run(name, func(t *testing.T) {
			in, out := t.TempDir(), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(out, "secret"), []byte("x"), 0o666))
			p := &Policy{Read: []string{"/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"}, Write: []string{in}}
			text, _, err := run(t.Context(), s, p, in, "cat "+out+"/secret")
			assert.Error(t, err, text)
			_, e, err := run(t.Context(), s, p, in, "ls / >/dev/null 2>&1; echo x > a; cat a")
			require.NoError(t, err)
			assert.True(t, e.Read)
		})
	}
}

// TestRoot: root gets no further than others do.
func TestRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only for root")
	}
	for name, s := range all(t) {
		t.Run(name, func(t *testing.T) {
			in, out := t.TempDir(), t.TempDir()
			p := &Policy{Write: []string{in}}
			for _, text := range []string{
				"mount -o remount,rw,bind / && touch %s/x", "mount -t tmpfs x %s", "mknod b b 7 0", "mknod c c 1 3", "n=$(cat /proc/sys/kernel/hostname) && echo $n > /proc/sys/kernel/hostname",
				"unshare -m true", "chroot / sh -c 'touch %s/x'", "nsenter -t 1 -m true", "sysctl -w kernel.hostname=$(hostname)",
			} {
				if strings.Contains(text, "%s") {
					text = fmt.Sprintf(text, out)
				}
				output, _, err := run(t.Context(), s, p, in, text)
				var exit *exec.ExitError
				assert.ErrorAs(t, err, &exit, "%s: %s", text, output)
			}
			output, _, err := run(t.Context(), s, p, in, "touch a && chown 0 a && chmod 600 a && echo x >> a && cat a && rm a")
			assert.NoError(t, err, output)
		})
	}
}

// TestHideAndProtect: what lies below what may be written, and may not.
func TestHideAndProtect(t *testing.T) {
	b, err := FindBubblewrap(t.Context(), "")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(dir+"/.git/hooks", 0o777))
	require.NoError(t, os.Mkdir(dir+"/keys", 0o777))
	for _, f := range []string{".env", ".git/config", "keys/k"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), []byte("secret"), 0o666))
	}
	p := &Policy{Write: []string{dir}, Protect: []string{dir + "/.git/hooks", dir + "/.git/config", dir + "/.vscode/tasks.json"}, Hide: []string{dir + "/.env", dir + "/keys"}}
	text, e, err := run(t.Context(), b, p, dir, "cat .env keys/k; ls keys; echo x > .env; echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git g; rm -rf .git/hooks; mkdir -p .vscode && echo x > .vscode/tasks.json; true")
	require.NoError(t, err, text)
	assert.NotContains(t, text, "secret")
	assert.True(t, e.Hide && e.Protect && e.Write)
	assert.NoFileExists(t, dir+"/.git/hooks/pre-commit")
	assert.NoFileExists(t, dir+"/.vscode/tasks.json")
	assert.DirExists(t, dir+"/.git/hooks")
	for _, f := range []string{".env", ".git/config", "keys/k"} {
		got, err := os.ReadFile(filepath.Join(dir, f))
		require.NoError(t, err)
		assert.Equal(t, "secret", string(got), f)
	}

}

// TestTruthful: what cannot be enforced is refused, or reported as not enforced.
func TestTruthful(t *testing.T) {
	l, err := NewLandlock()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, p := range []*Policy{{Network: NetworkNone}, {Hide: []string{"/etc"}}, {Write: []string{dir}, Protect: []string{dir + "/.git"}}} {
		_, _, err := run(t.Context(), l, p, dir, "true")
		require.ErrorIs(t, err, ErrUnsupported)
		p.BestEffort = true
		_, e, err := run(t.Context(), l, p, dir, "true")
		require.NoError(t, err)
		assert.False(t, e.Network && e.Hide && e.Protect)
		assert.NotEmpty(t, e.Gaps)
	}
	_, _, err = run(t.Context(), l, &Policy{Write: []string{dir + "/nope"}}, dir, "true")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNetwork(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	text := "bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "' && echo connected"
	for name, s := range all(t) {
		if l, ok := s.(*Landlock); ok && l.abi < 4 {
			continue
		}
		out, _, err := run(t.Context(), s, &Policy{}, "/", text)
		require.NoError(t, err, name)
		assert.Equal(t, "connected\n", out)
		out, _, err = run(t.Context(), s, &Policy{Network: NetworkNone, BestEffort: true}, "/", text)
		assert.Error(t, err, name)
		assert.NotContains(t, out, "connected")
	}
}

// TestHostIsUnconfined: neither this process nor other commands feel anything.
func TestHostIsUnconfined(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	for name, s := range all(t) {
		if name == "bubblewrap" {
			n = 50
		}
		out := t.TempDir()
		var wg sync.WaitGroup
		limit := make(chan bool, 8)
		for i := range n {
			limit <- true
			wg.Go(func() {
				defer func() { <-limit }()
				_, _, err := run(t.Context(), s, &Policy{}, "/", "echo x > "+out+"/confined")
				var exit *exec.ExitError
				assert.True(t, errors.As(err, &exit), "%v", err)
				assert.NoError(t, os.WriteFile(filepath.Join(out, fmt.Sprint(i)), nil, 0o666))
			})
		}
		wg.Wait()
		assert.NoFileExists(t, filepath.Join(out, "confined"))
		list, err := os.ReadDir(out)
		require.NoError(t, err)
		assert.Len(t, list, n)
		confined := func() (list []string) {
			tasks, err := filepath.Glob("/proc/self/task/*/status")
			require.NoError(t, err)
			for _, f := range tasks {
				if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "NoNewPrivs:\t1") {
					list = append(list, f)
				}
			}
			return list
		}
		assert.Eventually(t, func() bool { return len(confined()) == 0 }, 20*time.Second, 10*time.Millisecond, "threads that were used end")
		require.NoError(t, exec.Command("/bin/sh", "-c", "echo x > "+out+"/free").Run())
	}
}

func TestBubblewrapArguments(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/.env", nil, 0o666))
	require.NoError(t, os.Mkdir(dir+"/.git", 0o777))
	b := &Bubblewrap{path: "/usr/bin/bwrap", net: true}
	args := strings.Join(b.args(&Policy{
		Write: []string{dir}, Protect: []string{dir + "/.git/hooks"}, Hide: []string{dir + "/.env", dir + "/nope"}, Network: NetworkNone,
	}, dir), " ")
	caps := ""
	if os.Geteuid() == 0 {
		caps = "--cap-add " + strings.Join(rootCaps, " --cap-add ") + " "
	}
	assert.Equal(t, strings.ReplaceAll(strings.ReplaceAll("--ro-bind / / --dev /dev --proc /proc --unshare-user-try --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL CAPS"+
		"--ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger --ro-bind-try /proc/irq /proc/irq "+
		"--ro-bind-try /proc/bus /proc/bus --ro-bind-try /proc/fs /proc/fs --bind DIR DIR --ro-bind DIR/.git DIR/.git --ro-bind /dev/null DIR/.env --unshare-net --chdir DIR --", "DIR", dir), "CAPS", caps), args)
	_, err := FindBubblewrap(t.Context(), "/no/such/bwrap")
	require.ErrorIs(t, err, ErrUnsupported)
}
