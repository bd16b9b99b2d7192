package js_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool/js"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// node returns where Node 20 or newer is, or skips.
func node(t *testing.T) string {
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	out, err := exec.Command(path, "--version").Output()
	require.NoError(t, err)
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		t.Skipf("node is %s; 20 is needed", strings.TrimSpace(string(out)))
	}
	return path
}

// TestNode runs the tests of the module, which have a host of their own.
func TestNode(t *testing.T) {
	path := node(t)
	if testing.Short() {
		t.Skip("it takes twenty seconds")
	}
	host := filepath.Join(t.TempDir(), "testhost")
	if runtime.GOOS == "windows" {
		host += ".exe"
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the host with")
	}
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", host, "./internal/testhost").CombinedOutput()
	require.NoError(t, err, "%s", out)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--test", "--test-reporter=tap")
	cmd.Env = append(os.Environ(), "CLIENTTOOL_TESTHOST="+host)
	cmd.WaitDelay = 10 * time.Second
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "# fail 0")
	assert.NotContains(t, string(out), "# pass 0\n")
}

// TestTypes lets the TypeScript compiler read the declarations and what a user writes.
func TestTypes(t *testing.T) {
	tsc := os.Getenv("CLIENTTOOL_TSC")
	if tsc == "" {
		var err error
		if tsc, err = exec.LookPath("tsc"); err != nil {
			t.Skip("tsc is not installed, and CLIENTTOOL_TSC does not say where it is")
		}
	}
	out, err := exec.Command(tsc, "-p", "testdata/tsconfig.json").CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestHandler(t *testing.T) {
	h := js.Handler()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/clienttool.js", nil))
	assert.Equal(t, 200, w.Code)
	assert.Equal(t, "text/javascript; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Equal(t, js.Source(), w.Body.String())
	assert.Contains(t, js.Source(), "export class ClientTools ")
	r := httptest.NewRequest("GET", "/clienttool.js", nil)
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Equal(t, 304, w.Code)
}

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("GET /clienttool.js", js.Handler()) // <script type="module"> may import it now
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/clienttool.js", nil))
	os.Stdout.WriteString(w.Header().Get("Content-Type"))
	// Output: text/javascript; charset=utf-8
}
