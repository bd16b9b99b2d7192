package clienttool_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/clienttool/httptransport"
	"github.com/agenttool/tool/clienttool/wstransport"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// envClients makes the test binary the other end of BenchmarkConnected: carrier, address, number.
const envClients = "CLIENTTOOL_BENCH_CLIENTS"

func TestMain(m *testing.M) {
	if spec := strings.Fields(os.Getenv(envClients)); len(spec) == 3 {
		n, err := strconv.Atoi(spec[2])
		if err != nil {
			panic(err)
		}
		connectMany(spec[0], spec[1], n)
		return
	}
	os.Exit(m.Run())
}

// connectMany runs clients until standard input is closed.
func connectMany(carrier, addr string, n int) {
	ctx, cancel := context.WithCancel(context.Background())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for i := range n {
		id := fmt.Sprint("c", i)
		t := httptransport.Dial(addr, httptransport.DialOptions{Client: client})
		if carrier == "ws" {
			t = wstransport.Dial(addr+"/ws/"+id, wstransport.DialOptions{})
		}
		c := clienttool.NewClient(id, t, clienttool.ClientOptions{HelloTimeout: time.Minute})
		if err := c.Add(definition("x"), func(context.Context, *clienttool.Invocation) (*clienttool.ToolResult, error) { return nil, nil }); err != nil {
			panic(err)
		}
		go c.Run(ctx)
		if i%50 == 49 {
			time.Sleep(10 * time.Millisecond) // a backlog holds only so many
		}
	}
	io.Copy(io.Discard, os.Stdin)
	cancel()
}

// idle is the interval of pings in BenchmarkConnected; it waits for two, as a client
// counts as idle only then.
const idle = 15 * time.Second

// BenchmarkConnected is the memory of a host with ten thousand clients that are
// connected and idle, each with a tool. The clients of real carriers are another
// process; a pipe's other end is part of the figure.
func BenchmarkConnected(b *testing.B) {
	for _, carrier := range []string{"pipe", "ws", "sse"} {
		b.Run(carrier, func(b *testing.B) {
			n := 10_000
			var lim unix.Rlimit
			require.NoError(b, unix.Getrlimit(unix.RLIMIT_NOFILE, &lim))
			if room := int(min(lim.Cur, 1<<20)) - 200; carrier != "pipe" && n > room {
				n = room
			}
			debug.FreeOSMemory()
			before := resident(b)
			var h *clienttool.Hub
			if carrier == "pipe" {
				h = benchHub(b, n, pipes)
			} else {
				h = connectedHub(b, carrier, n)
			}
			time.Sleep(2 * idle)
			for range 4 { // each halves the stacks that have grown
				runtime.GC()
			}
			debug.FreeOSMemory()
			total := resident(b) - before
			b.ReportMetric(float64(total)/float64(n)/1024, "KiB/client")
			b.ReportMetric(float64(total)/float64(n)*10_000/(1<<20), "MiB/10000")
			var ms runtime.MemStats
			runtime.ReadMemStats(&ms)
			b.ReportMetric(float64(ms.HeapInuse)/float64(n)/1024, "heap-KiB/client")
			b.ReportMetric(float64(ms.StackInuse)/float64(n)/1024, "stack-KiB/client")
			b.ReportMetric(float64(len(h.Clients())), "clients")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func connectedHub(b *testing.B, carrier string, n int) *clienttool.Hub {
	h, err := clienttool.NewHub(unlimited(clienttool.Options{AllowAnonymous: true, HelloTimeout: time.Minute, DetachGrace: 5 * time.Minute, PingInterval: idle}))
	require.NoError(b, err)
	handler := wstransport.Handler(h, wstransport.Options{})
	if carrier == "sse" {
		handler = httptransport.Handler(h, httptransport.Options{})
	}
	srv := httptest.NewServer(handler)
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", envClients, carrier, srv.URL, n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		cmd.Process.Kill() // ten thousand goodbyes are not what is measured
		cmd.Wait()
		h.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	for end := time.Now().Add(5 * time.Minute); len(h.ClientTools("")) < n; time.Sleep(50 * time.Millisecond) {
		require.True(b, time.Now().Before(end), "%d of %d clients are connected", len(h.Clients()), n)
	}
	return h
}

// resident is the memory of this process that is in RAM.
func resident(b *testing.B) int64 {
	f, err := os.Open("/proc/self/statm")
	require.NoError(b, err)
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	require.NoError(b, err)
	pages, err := strconv.ParseInt(strings.Fields(line)[1], 10, 64)
	require.NoError(b, err)
	return pages * int64(os.Getpagesize())
}
