//go:build unix

package builtin

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSpecialFiles: nothing that is not a file is ever waited for.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t, "-- a.txt --\nneedle\n", Config{})
	require.NoError(t, syscall.Mkfifo(b.path("pipe"), 0o666))
	l, err := net.Listen("unix", b.path("sock"))
	require.NoError(t, err)
	defer l.Close()
	start := time.Now()
	for path, want := range map[string]string{
		"pipe": "named pipe", "sock": "socket",
		"/dev/zero": "of the kernel or of devices", "/proc/1": "of the kernel or of devices", "/sys": "of the kernel or of devices",
	} {
		assert.Contains(t, b.fails("read", in{"filePath": path}), want)
		assert.Contains(t, b.fails("write", in{"filePath": path, "content": "x"}), want)
		assert.Contains(t, b.fails("edit", in{"filePath": path, "oldString": "x", "newString": "y"}), want)
		assert.Contains(t, b.fails("grep", in{"pattern": "x", "path": path}), want)
		assert.Empty(t, b.asks())
	}
	if _, err := os.Stat("/proc/version"); err == nil {
		assert.Contains(t, b.ok("read", in{"filePath": "/proc/version"}), "Linux")
		require.Equal(t, []string{"external_directory /proc/version", "read /proc/version"}, b.asks())
		assert.True(t, b.asked[0].Protected, "a rule for everything does not cover what the kernel makes up")
		assert.Contains(t, b.fails("write", in{"filePath": "/proc/version", "content": "x"}), "file of the kernel")
	}
	require.NoError(t, syscall.Mkfifo(b.path(".gitignore"), 0o666))
	assert.Contains(t, b.ok("grep", in{"pattern": "needle"}), "1 match in 1 file")
	b.ok("glob", in{"pattern": "*"})
	assert.Less(t, time.Since(start), hang)
}
