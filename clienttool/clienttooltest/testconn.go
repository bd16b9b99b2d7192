package clienttooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// Pair is two connected ends for [TestConn].
type Pair struct {
	Host, Client clienttool.Conn
	Cut          func()         // severs the link without goodbye; nil: cannot
	Raw          func(b []byte) // sends the host bytes that need not be a message, as a stranger would; nil: cannot
	MaxMessage   int            // bytes of output that must pass; 0: 4 MiB
	Unlimited    bool           // the carrier refuses no size
	Concurrent   bool           // Send may be called from several goroutines, which the contract does not ask for
}

// hang is how long anything may take before it counts as hanging.
const hang = 30 * time.Second

// TestConn tests that a pair of Conns made by mk keeps the contract of [clienttool.Conn].
func TestConn(t *testing.T, mk func(t *testing.T) Pair) {
	for _, c := range []struct {
		name, why string
		f         func(t *testing.T, p Pair)
	}{
		{"both directions", "a link carries messages both ways", bothWays},
		{"order", "promise 4, progress in order, rests on the order of a link", order},
		{"fidelity", "a tool's arguments and output must arrive as they were sent", fidelity},
		{"largest message", "a result of the size that welcome announced must pass", largest},
		{"too large", "a message over the limit is refused with ErrTooLarge or ends the link, never silently (promise 5)", tooLarge},
		{"sender may reuse", "the hub reuses the messages that it sends", reuse},
		{"close frees recv", "a link that is given up must not keep its reader", closeFreesRecv},
		{"close frees send", "promise 6: a stalled carrier must let go of its writer", closeFreesSend},
		{"close twice", "several goroutines find out at once that a link is dead", closeTwice},
		{"close is quick", "promise 6: a silent peer must not hold up Close", closeQuick},
		{"send after close", "a message is not to be lost silently (promise 5)", sendAfterClose},
		{"drained then EOF", "results that were sent before a goodbye count", drained},
		{"cut", "a lost link must be noticed to be replaced", cut},
		{"contexts", "a link ends with the context that it was given", contexts},
		{"stall", "promise 5: what a peer does not read must not pile up", stall},
		{"resume after a stall", "promise 5: what was accepted for a slow peer arrives once it reads", resumeAfterStall},
		{"receiver may keep", "the hub and the client keep parts of the messages that they get", keep},
		{"concurrent", "where a carrier promises it, messages from several goroutines do not mix", concurrent},
		{"malformed", "a stranger's bytes must end the link or be skipped, not the process", malformed},
		{"eight at once", "links must not mix", nil},
		{"goroutines", "a closed link leaves nothing behind", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("why it matters: %s", c.why)
				}
			})
			if c.f == nil {
				many(t, mk, c.name == "goroutines")
				return
			}
			p := mk(t)
			t.Cleanup(func() { p.Host.Close(nil); p.Client.Close(nil) })
			c.f(t, p)
		})
	}
}

func send(t *testing.T, c clienttool.Conn, m *clienttool.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if err := c.Send(ctx, m); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

func receive(t *testing.T, c clienttool.Conn) *clienttool.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	m, err := c.Recv(ctx)
	if err != nil {
		t.Fatalf("Recv: %v", err)
	}
	return m
}

// within fails unless f returns before anything counts as hanging.
func within(t *testing.T, what string, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("%s did not return within %s", what, d)
	}
}

func progressMessage(i int) *clienttool.Message {
	return &clienttool.Message{Type: clienttool.TypeProgress, RequestID: "req_1", Progress: &clienttool.Progress{N: uint64(i), Delta: "x"}}
}

func requestMessage(i int) *clienttool.Message {
	return &clienttool.Message{Type: clienttool.TypeRequest, Seq: uint64(i), Request: &clienttool.ExecutionRequest{
		Type: clienttool.TypeToolRequest, RequestID: fmt.Sprintf("req_%d", i), Tool: "client_a_x", Input: json.RawMessage(`{}`)}}
}

func bothWays(t *testing.T, p Pair) {
	send(t, p.Host, requestMessage(1))
	if m := receive(t, p.Client); m.Type != clienttool.TypeRequest || m.Request == nil || m.Request.RequestID != "req_1" {
		t.Errorf("the client received %+v", m)
	}
	send(t, p.Client, progressMessage(1))
	if m := receive(t, p.Host); m.Type != clienttool.TypeProgress || m.Progress == nil || m.Progress.N != 1 {
		t.Errorf("the host received %+v", m)
	}
}

func order(t *testing.T, p Pair) {
	const n = 2000
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i <= n; i++ {
			if p.Host.Send(context.Background(), requestMessage(i)) != nil {
				return
			}
		}
	})
	for i := 1; i <= n; i++ {
		if m := receive(t, p.Client); m.Seq != uint64(i) {
			t.Fatalf("frame %d came in place of %d", m.Seq, i)
		}
	}
	wg.Wait()
	wg.Go(func() {
		for i := 1; i <= n/4; i++ {
			if p.Client.Send(context.Background(), progressMessage(i)) != nil {
				return
			}
		}
	})
	for i := 1; i <= n/4; i++ {
		if m := receive(t, p.Host); m.Progress == nil || m.Progress.N != uint64(i) {
			t.Fatalf("progress came out of order: %+v in place of %d", m.Progress, i)
		}
	}
	wg.Wait()
}

func fidelity(t *testing.T, p Pair) {
	down := &clienttool.Message{Type: clienttool.TypeRequest, Seq: 1, Request: &clienttool.ExecutionRequest{
		Type: clienttool.TypeToolRequest, RequestID: "req_ü", SessionID: "s", MessageID: "m", CallID: "c", Tool: "t", Name: "n", TimeoutMs: 5, Attempt: 2,
		Input: json.RawMessage(`{"big":9007199254740993,"nil":null,"list":[],"html":"<&>","order":{"z":1,"a":2}}`)}}
	send(t, p.Host, down)
	got := receive(t, p.Client)
	if string(got.Request.Input) != string(down.Request.Input) {
		t.Errorf("input arrived as %s", got.Request.Input)
	}
	if !reflect.DeepEqual(got.Request, down.Request) {
		t.Errorf("the request arrived as %+v", got.Request)
	}
	texts := []string{"", "grüße 🙂", "line\u2028end\u2029", "nul\x00bell\a", strings.Repeat("\n", 50), "data: x\n\nevent: y\n\n", `{"type":"bye"}`}
	for _, s := range texts {
		up := &clienttool.Message{Type: clienttool.TypeProgress, RequestID: "req_1", Progress: &clienttool.Progress{N: 1, Output: s, Metadata: json.RawMessage(`{"n":9007199254740993}`)}}
		send(t, p.Client, up)
		if m := receive(t, p.Host); m.Progress.Output != s || string(m.Progress.Metadata) != string(up.Progress.Metadata) {
			t.Errorf("%q arrived as %q", s, m.Progress.Output)
		}
		send(t, p.Host, &clienttool.Message{Type: clienttool.TypeError, Error: s})
		if m := receive(t, p.Client); m.Error != s {
			t.Errorf("%q arrived as %q", s, m.Error)
		}
	}
	for _, ids := range [][]string{nil, {}, {"a"}} {
		send(t, p.Host, &clienttool.Message{Type: clienttool.TypeUnregistered, ToolIDs: ids})
		if m := receive(t, p.Client); (m.ToolIDs == nil) != (ids == nil) || len(m.ToolIDs) != len(ids) {
			t.Errorf("toolIDs %#v arrived as %#v", ids, m.ToolIDs)
		}
	}
}

func (p Pair) max() int {
	if p.MaxMessage == 0 {
		return 4 << 20
	}
	return p.MaxMessage
}

func largest(t *testing.T, p Pair) {
	big := strings.Repeat("x", p.max())
	go p.Client.Send(context.Background(), &clienttool.Message{Type: clienttool.TypeProgress, RequestID: "req_1", Progress: &clienttool.Progress{Output: big}})
	if m := receive(t, p.Host); m.Progress == nil || m.Progress.Output != big {
		t.Error("the largest message did not arrive whole")
	}
	go p.Host.Send(context.Background(), &clienttool.Message{Type: clienttool.TypeError, Error: big})
	if m := receive(t, p.Client); m.Error != big {
		t.Error("the largest message did not arrive whole")
	}
}

func tooLarge(t *testing.T, p Pair) {
	if p.Unlimited {
		t.Skip("this carrier takes any size")
	}
	huge := strings.Repeat("x", 2*p.max()+1<<20)
	var sent error
	within(t, "Send of a message that is too large", hang, func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		sent = p.Client.Send(ctx, &clienttool.Message{Type: clienttool.TypeProgress, RequestID: "req_1", Progress: &clienttool.Progress{Output: huge}})
	})
	if errors.Is(sent, clienttool.ErrTooLarge) { // the link must have survived
		send(t, p.Client, progressMessage(7))
		if m := receive(t, p.Host); m.Progress == nil || m.Progress.N != 7 {
			t.Errorf("after ErrTooLarge the host received %+v", m)
		}
		return
	}
	if sent != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if m, err := p.Host.Recv(ctx); err == nil && len(m.Progress.Output) != len(huge) {
		t.Errorf("the message was cut to %d bytes", len(m.Progress.Output))
	} else if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the message vanished and the link stayed")
	}
}

func reuse(t *testing.T, p Pair) {
	req := clienttool.ExecutionRequest{Type: clienttool.TypeToolRequest, Tool: "t", Input: json.RawMessage(`{"a":1}`)}
	m := clienttool.Message{Type: clienttool.TypeRequest, Request: &req}
	for i := 1; i <= 4; i++ {
		m.Seq, req.RequestID = uint64(i), fmt.Sprint("req_", i)
		req.Input = append(req.Input[:0], fmt.Sprintf(`{"a":%d}`, i)...)
		send(t, p.Host, &m)
		if got := receive(t, p.Client); i > 1 && (got.Seq != uint64(i) || string(got.Request.Input) != fmt.Sprintf(`{"a":%d}`, i)) {
			t.Errorf("frame %d arrived as %d with %s", i, got.Seq, got.Request.Input)
		}
	}
}

func closeFreesRecv(t *testing.T, p Pair) {
	for _, c := range []clienttool.Conn{p.Host, p.Client} {
		done := make(chan error, 1)
		go func() { _, err := c.Recv(context.Background()); done <- err }()
		time.Sleep(20 * time.Millisecond)
		c.Close(errors.New("enough"))
		within(t, "Recv after Close", hang, func() {
			if err := <-done; err == nil {
				t.Error("Recv returned a message after Close")
			}
		})
	}
}

func closeFreesSend(t *testing.T, p Pair) {
	done := make(chan error, 1)
	go func() {
		big := strings.Repeat("x", 256<<10)
		for {
			if err := p.Host.Send(context.Background(), &clienttool.Message{Type: clienttool.TypeError, Error: big}); err != nil {
				done <- err
				return
			}
		}
	}()
	time.Sleep(100 * time.Millisecond)
	within(t, "Close", hang, func() { p.Host.Close(errors.New("enough")) })
	within(t, "a blocked Send after Close", hang, func() { <-done })
}

func closeTwice(t *testing.T, p Pair) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { p.Client.Close(nil); p.Host.Close(nil) })
	}
	within(t, "Close from eight goroutines", hang, wg.Wait)
}

func closeQuick(t *testing.T, p Pair) {
	within(t, "Close beside a silent peer", 3*time.Second, func() { p.Host.Close(nil) })
}

func sendAfterClose(t *testing.T, p Pair) {
	p.Client.Close(nil)
	p.Host.Close(nil)
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if p.Host.Send(ctx, requestMessage(1)) == nil {
		t.Error("the host's Send after Close returned nil")
	}
	if p.Client.Send(ctx, progressMessage(1)) == nil {
		t.Error("the client's Send after Close returned nil")
	}
}

func drained(t *testing.T, p Pair) {
	const n = 8
	for i := 1; i <= n; i++ {
		send(t, p.Host, requestMessage(i))
	}
	p.Host.Close(nil)
	for i := 1; i <= n; i++ {
		if m := receive(t, p.Client); m.Seq != uint64(i) {
			t.Fatalf("frame %d came in place of %d", m.Seq, i)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if _, err := p.Client.Recv(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("after the peer closed, Recv returned %v, not io.EOF", err)
	}
}

func cut(t *testing.T, p Pair) {
	if p.Cut == nil {
		t.Skip("this carrier cannot be cut")
	}
	p.Cut()
	for name, c := range map[string]clienttool.Conn{"host": p.Host, "client": p.Client} {
		within(t, "Recv of the "+name+" after a cut", hang, func() {
			if _, err := c.Recv(context.Background()); err == nil {
				t.Errorf("the %s received something over a link that was cut", name)
			}
		})
	}
}

func contexts(t *testing.T, p Pair) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := p.Client.Recv(ctx); done <- err }()
	time.Sleep(20 * time.Millisecond)
	cancel()
	within(t, "Recv after its context ended", hang, func() {
		if <-done == nil {
			t.Error("Recv returned nil after its context ended")
		}
	})
	within(t, "Send with a context that ended", hang, func() {
		if p.Host.Send(ctx, requestMessage(1)) == nil {
			t.Error("Send with a context that ended returned nil")
		}
	})
}

func stall(t *testing.T, p Pair) {
	// Nobody receives. Whatever the buffers on the way, Send must come to wait.
	big := strings.Repeat("x", 1<<20)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	var err error
	n := 0
	within(t, "Send to a peer that does not read", hang, func() {
		for ; err == nil && n < 256; n++ {
			err = p.Host.Send(ctx, &clienttool.Message{Type: clienttool.TypeError, Error: big})
		}
	})
	if err == nil {
		t.Errorf("%d MiB were accepted for a peer that does not read", n)
	}
}

// many uses several links at once, and counts what is left of them.
func many(t *testing.T, mk func(t *testing.T) Pair, count bool) {
	before := runtime.NumGoroutine()
	pairs := make([]Pair, 8)
	for i := range pairs {
		pairs[i] = mk(t)
	}
	var wg sync.WaitGroup
	for i, p := range pairs {
		wg.Go(func() {
			for n := range 50 {
				m := requestMessage(n)
				m.Request.Tool = fmt.Sprint("tool", i)
				if err := p.Host.Send(context.Background(), m); err != nil {
					t.Errorf("link %d: Send: %v", i, err)
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), hang)
				got, err := p.Client.Recv(ctx)
				cancel()
				if err != nil || got.Request.Tool != m.Request.Tool {
					t.Errorf("link %d received %+v, %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, p := range pairs {
		p.Client.Close(nil)
		p.Host.Close(nil)
	}
	if !count {
		return
	}
	// Servers keep an accepted connection's goroutine a little longer.
	for end := time.Now().Add(hang); runtime.NumGoroutine() > before+4; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
			return
		}
	}
}

func resumeAfterStall(t *testing.T, p Pair) {
	const n = 24
	big := strings.Repeat("x", 256<<10)
	sent := make(chan error, 1)
	go func() {
		for i := 1; i <= n; i++ {
			if err := p.Host.Send(context.Background(), &clienttool.Message{Type: clienttool.TypeError, Seq: uint64(i), Error: big}); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	time.Sleep(50 * time.Millisecond) // nobody reads
	for i := 1; i <= n; i++ {
		if m := receive(t, p.Client); m.Seq != uint64(i) || len(m.Error) != len(big) {
			t.Fatalf("frame %d of %d bytes came in place of %d", m.Seq, len(m.Error), i)
		}
	}
	within(t, "the end of Send", hang, func() {
		if err := <-sent; err != nil {
			t.Errorf("Send: %v", err)
		}
	})
}

func keep(t *testing.T, p Pair) {
	var kept []*clienttool.Message
	for i := 1; i <= 8; i++ {
		m := requestMessage(i)
		m.Request.Input = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		send(t, p.Host, m)
		kept = append(kept, receive(t, p.Client))
	}
	for i, m := range kept {
		if want := fmt.Sprintf(`{"n":%d}`, i+1); string(m.Request.Input) != want || m.Seq != uint64(i+1) {
			t.Errorf("frame %d has become frame %d with %s", i+1, m.Seq, m.Request.Input)
		}
	}
}

func concurrent(t *testing.T, p Pair) {
	if !p.Concurrent {
		t.Skip("this carrier does not promise it")
	}
	const senders, each = 8, 20
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				m := requestMessage(i + 1)
				m.Request.Tool = fmt.Sprint(s)
				send(t, p.Host, m)
			}
		})
	}
	last := make(map[string]uint64)
	for range senders * each {
		m := receive(t, p.Client)
		if m.Seq != last[m.Request.Tool]+1 {
			t.Fatalf("frame %d of sender %s came after %d", m.Seq, m.Request.Tool, last[m.Request.Tool])
		}
		last[m.Request.Tool] = m.Seq
	}
	wg.Wait()
}

func malformed(t *testing.T, p Pair) {
	if p.Raw == nil {
		t.Skip("this carrier has no bytes")
	}
	received := make(chan error, 1)
	go func() {
		for {
			if m, err := p.Host.Recv(context.Background()); err != nil || m.Type == clienttool.TypeProgress {
				received <- err
				return
			}
		}
	}()
	// The same bytes each time: noise, and messages with one byte changed.
	rnd := rand.New(rand.NewPCG(1, 2))
	good := []byte(`{"type":"result","requestID":"req_1","result":{"status":"success","output":"text","metadata":{"a":[1,2,null]}}}`)
	for i := range 200 {
		b := bytes.Clone(good)
		if i%2 == 0 {
			b = b[:rnd.IntN(len(b))]
			for k := range b {
				b[k] = byte(rnd.Uint32())
			}
		} else {
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
		}
		p.Raw(b)
	}
	// Either the link is over, or it still carries messages.
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	p.Client.Send(ctx, progressMessage(1))
	within(t, "Recv after garbage", 2*hang, func() { <-received })
}
