package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func needSlash(t testing.TB) {
	if runtime.GOOS == "windows" {
		t.Skip("the fake files have names of Unix")
	}
}

var oneFile = map[string]string{"/w/a.go": "package a\n\nvar x = 1\n"}

func hoverQuery() Query { return Query{Op: OpHover, Path: "/w/a.go", At: Position{3, 5}} }

// TestOutOfOrder: each answer reaches who asked, in whatever order they come, and
// answers that nobody asked for do no harm.
func TestOutOfOrder(t *testing.T) {
	needSlash(t)
	var mu sync.Mutex
	var waiting []*incoming
	p := serve(t, oneFile, script{"textDocument/hover": func(f *fake, m *incoming) {
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, m)
		if len(waiting) < 3 {
			return
		}
		f.send(map[string]any{"jsonrpc": "2.0", "id": 99999, "result": "nobody asked"})
		f.send(map[string]any{"jsonrpc": "2.0", "id": "a-string", "result": "nor this"})
		f.send(map[string]any{"jsonrpc": "2.0", "id": nil, "result": "nor this"})
		for i := len(waiting) - 1; i >= 0; i-- {
			var at positionParams
			_ = json.Unmarshal(waiting[i].Params, &at)
			f.reply(waiting[i], map[string]any{"contents": fmt.Sprint("column ", at.Position.Character)})
			f.reply(waiting[i], map[string]any{"contents": "twice"})
		}
	}})
	var wg sync.WaitGroup
	for col := 1; col <= 3; col++ {
		wg.Go(func() {
			q := hoverQuery()
			q.At.Column = col
			a, err := p.Query(t.Context(), q)
			if assert.NoError(t, err) {
				assert.Equal(t, fmt.Sprint("column ", col-1), a.Hover)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 1, p.starts())
}

// TestNeverAnswers: a question ends at its time or with its context, and the
// server is told.
func TestNeverAnswers(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, oneFile, script{"textDocument/hover": func(f *fake, _ *incoming) {
			f.notify("$/progress", map[string]any{"token": 1, "value": map[string]any{"kind": "begin", "title": "Indexing", "percentage": 40}})
		}})
		start := time.Now()
		_, err := p.Query(t.Context(), hoverQuery())
		require.ErrorIs(t, err, ErrSlow)
		assert.ErrorContains(t, err, "busy: Indexing (40%)")
		assert.Equal(t, 20*time.Second, time.Since(start))

		stop := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		_, err = p.Query(ctx, hoverQuery())
		require.ErrorIs(t, err, stop)
		synctest.Wait()
		var ids []string
		for _, m := range p.last().got("textDocument/hover") {
			ids = append(ids, `{"id":`+string(m.ID)+`}`)
		}
		require.Len(t, ids, 2)
		for i, m := range p.last().got("$/cancelRequest") {
			assert.Equal(t, ids[i], compact(m.Params))
		}
		require.NoError(t, p.Close())
	})
}

// TestCrashes: a server that crashes is started again after one second, two and
// four, then not before ten minutes are over; the error has its last words.
func TestCrashes(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := newPark(t, oneFile, Server{}, func(n int) *fake {
			f := newFake(script{"textDocument/hover": func(f *fake, _ *incoming) { f.die() }})
			if f.stderr = "panic: out of luck"; n == 4 {
				f.on = script{"textDocument/hover": hover("back")}
			}
			return f
		})
		begin := time.Now()
		for n, after := range []time.Duration{0, 1, 3, 7} {
			_, err := p.Query(t.Context(), hoverQuery())
			require.ErrorIs(t, err, ErrCrashed)
			assert.ErrorContains(t, err, "fake ended (exit 7). It said:\npanic: out of luck")
			assert.Equal(t, n+1, p.starts())
			assert.Equal(t, after*time.Second, time.Since(begin).Truncate(time.Second))
		}
		_, err := p.Query(t.Context(), hoverQuery())
		require.ErrorContains(t, err, "fake failed 4 times and is not started again within the next 9m5")
		require.ErrorContains(t, err, "out of luck")
		require.ErrorIs(t, err, ErrCrashed)
		assert.Equal(t, 4, p.starts())
		time.Sleep(10 * time.Minute)
		a, err := p.Query(t.Context(), hoverQuery())
		require.NoError(t, err)
		assert.Equal(t, "back", a.Hover)
		require.NoError(t, p.Close())
	})
}

// TestStartUp: a handshake that does not come about ends in time and says why.
func TestStartUp(t *testing.T) {
	needSlash(t)
	for name, c := range map[string]struct {
		fake func() *fake
		want string
		is   error
	}{
		"silent": {func() *fake { return newFake(script{"initialize": func(*fake, *incoming) {}}) }, "did not start up within 30s", ErrSlow},
		"refuses": {func() *fake {
			return newFake(script{"initialize": func(f *fake, m *incoming) { f.fail(m, -32603, "no licence") }})
		}, "starting up: no licence", ErrCrashed},
		"ends": {func() *fake { return newFake(script{"initialize": func(f *fake, _ *incoming) { f.die() }}) }, "fake ended (exit 7)", ErrCrashed},
		"chatters": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("Listening on port 1234\n\n") }})
		}, `it wrote "Listening on port 1234" to its standard output`, ErrProtocol},
		"no length": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("Content-Type: x\r\n\r\n{}") }})
		}, "no Content-Length", ErrProtocol},
		"bad length": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("Content-Length: -5\r\n\r\n{}") }})
		}, `Content-Length is " -5"`, ErrProtocol},
		"huge length": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("Content-Length: 99999999999\r\n\r\n{}") }})
		}, "announced a message of 99999999999 bytes", ErrProtocol},
		"long header": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("X: " + strings.Repeat("y", 10_000)) }})
		}, "a header has more than 8192 bytes", ErrProtocol},
		"no JSON": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("Content-Length: 5\r\n\r\nhello") }})
		}, `it sent "hello"`, ErrProtocol},
		"half a message": {func() *fake {
			return newFake(script{"initialize": func(f *fake, _ *incoming) { f.raw("Content-Length: 50\r\n\r\n{\"id\""); f.die() }})
		}, "fake ended (exit 7)", io.ErrUnexpectedEOF},
		"other encoding": {func() *fake { f := newFake(nil); f.caps = `{"positionEncoding":"ebcdic"}`; return f }, "ebcdic", ErrProtocol},
	} {
		if c.is == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPark(t, oneFile, Server{}, func(int) *fake { return c.fake() })
				start := time.Now()
				_, err := p.Query(t.Context(), hoverQuery())
				require.ErrorIs(t, err, ErrCrashed)
				require.ErrorIs(t, err, c.is)
				assert.ErrorContains(t, err, c.want)
				assert.LessOrEqual(t, time.Since(start), 31*time.Second)
				require.NoError(t, p.Close())
			})
		})
	}
}

// TestLargeMessages: a message over the limit costs its own request only.
func TestLargeMessages(t *testing.T) {
	needSlash(t)
	for name, body := range map[string]func(id, filler string) string{
		"id first": func(id, filler string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"contents":"` + filler + `"}}`
		},
		"id last": func(id, filler string) string {
			return `{"result":{"contents":"` + filler + `"},"jsonrpc":"2.0","id":` + id + `}`
		},
		"no id": func(_, filler string) string { return `{"jsonrpc":"2.0","result":{"contents":"` + filler + `"}}` },
	} {
		t.Run(name, func(t *testing.T) {
			filler := strings.Repeat("x", 50<<20)
			p := newPark(t, oneFile, Server{RequestTimeout: 5 * time.Minute}, func(int) *fake {
				return newFake(script{
					"textDocument/hover": func(f *fake, m *incoming) {
						b := body(string(m.ID), filler)
						f.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n", len(b)))
						f.raw(b)
					},
					"textDocument/definition": func(f *fake, m *incoming) { f.reply(m, nil) },
				})
			})
			_, err := p.Query(t.Context(), hoverQuery())
			require.ErrorContains(t, err, "more than the 33554432 that are taken")
			q := hoverQuery()
			q.Op = OpDefinition
			_, err = p.Query(t.Context(), q)
			require.NoError(t, err, "the server goes on")
			assert.Equal(t, 1, p.starts())
		})
	}
}

// TestServerRequests: what a server asks is answered, and nothing is done for it.
func TestServerRequests(t *testing.T) {
	needSlash(t)
	answers := make(chan string, 20)
	p := newPark(t, oneFile, Server{Settings: map[string]any{"a": map[string]any{"b": 1}, "x.y": "flat"}}, func(int) *fake {
		return newFake(script{
			"textDocument/hover": func(f *fake, m *incoming) {
				for i, r := range []struct{ method, params string }{
					{"workspace/configuration", `{"items":[{"section":"a.b"},{"section":"x.y"},{"section":"nope"},{}]}`},
					{"client/registerCapability", `{"registrations":[{"id":"1","method":"workspace/didChangeWatchedFiles"}]}`},
					{"window/workDoneProgress/create", `{"token":1}`},
					{"workspace/applyEdit", `{"edit":{"changes":{"file:///w/a.go":[]}}}`},
					{"window/showMessageRequest", `{"type":1,"message":"Download?","actions":[{"title":"Yes"}]}`},
					{"window/showDocument", `{"uri":"https://example.com"}`},
					{"workspace/workspaceFolders", `null`},
					{"made/up", `{}`},
				} {
					f.send(map[string]any{"jsonrpc": "2.0", "id": fmt.Sprint("s", i), "method": r.method, "params": json.RawMessage(r.params)})
				}
				f.reply(m, nil)
			},
			"": func(f *fake, m *incoming) {
				b, _ := json.Marshal(m.Error)
				answers <- string(m.ID) + " " + compact(m.Result) + " " + string(b)
			},
		})
	})
	_, err := p.Query(t.Context(), hoverQuery())
	require.NoError(t, err)
	for _, want := range []string{
		`"s0" [1,"flat",null,{"a":{"b":1},"x.y":"flat"}] null`, `"s1" null null`, `"s2" null null`,
		`"s3" {"applied":false,"failureReason":"files are changed only after the user has seen the change"} null`,
		`"s4" null null`, `"s5" {"success":false} null`, `"s6" [{"name":"w","uri":"file:///w"}] null`,
		`"s7"  {"code":-32601,"message":"the client does not know made/up"}`,
	} {
		assert.Equal(t, want, <-answers)
	}
}

// TestFlood: a server that talks without end costs bounded memory and holds
// nobody up.
func TestFlood(t *testing.T) {
	needSlash(t)
	p := newPark(t, oneFile, Server{RequestTimeout: 5 * time.Minute}, func(int) *fake {
		return newFake(script{"textDocument/hover": func(f *fake, m *incoming) {
			for i := range maxFiles + 200 {
				f.publish(fmt.Sprintf("/w/f%d.go", i), 0, strings.Repeat("m", maxMessage+100))
				f.notify("window/logMessage", map[string]any{"type": 4, "message": "chatter"})
				f.notify("$/progress", map[string]any{"token": i, "value": map[string]any{"kind": "begin", "title": "t"}})
			}
			f.reply(m, map[string]any{"contents": "still here"})
		}})
	})
	a, err := p.Query(t.Context(), hoverQuery())
	require.NoError(t, err)
	assert.Equal(t, "still here", a.Hover)
	cur := p.serversFor("/w/a.go")[0].running()
	cur.mu.Lock()
	defer cur.mu.Unlock()
	assert.LessOrEqual(t, len(cur.diags), maxFiles+1)
	assert.LessOrEqual(t, len(cur.progress), maxTasks)
	for _, f := range cur.diags {
		assert.LessOrEqual(t, len(f.items[0].Message), maxMessage+3)
	}
}

// TestDoesNotRead: what is sent to a server that does not read it is bounded.
func TestDoesNotRead(t *testing.T) {
	c := newConn(&stuck{free: make(chan struct{})}, nil)
	defer func() {
		c.stream.(*stuck).once.Do(func() { close(c.stream.(*stuck).free) })
		c.wg.Wait()
	}()
	big := strings.Repeat("x", 1<<20)
	var err error
	for range 100 {
		if err = c.notify("n", big); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, ErrProtocol)
	require.ErrorContains(t, err, "does not read")
}

// stuck is a stream on which nothing moves until it is freed.
type stuck struct {
	free chan struct{}
	once sync.Once
}

func (s *stuck) Read([]byte) (int, error)  { <-s.free; return 0, io.EOF }
func (s *stuck) Write([]byte) (int, error) { <-s.free; return 0, io.ErrClosedPipe }

// TestIdle: a server that is not used is ended politely, and started again when it
// is wanted.
func TestIdle(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, oneFile, script{"textDocument/hover": hover("x")})
		for range 3 {
			_, err := p.Query(t.Context(), hoverQuery())
			require.NoError(t, err)
			time.Sleep(9 * time.Minute)
		}
		assert.Equal(t, 1, p.starts())
		f := p.last()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, f.got("shutdown"), 1)
		require.Len(t, f.got("exit"), 1)
		_, err := p.Query(t.Context(), hoverQuery())
		require.NoError(t, err)
		assert.Equal(t, 2, p.starts())
		assert.Len(t, p.last().got("textDocument/didOpen"), 1, "the new one is told of the file")
		require.NoError(t, p.Close())
	})
}

// TestClose: whatever goes on, Close ends it soon, and calls fail then.
func TestClose(t *testing.T) {
	needSlash(t)
	never := func(*fake, *incoming) {}
	for name, on := range map[string]script{
		"idle":                  {"textDocument/hover": hover("x")},
		"while it starts":       {"initialize": never},
		"while it works":        {"textDocument/hover": never},
		"deaf to shutdown":      {"textDocument/hover": never, "shutdown": never},
		"deaf to exit":          {"textDocument/hover": never, "exit": never},
		"crashes when it's due": {"shutdown": func(f *fake, _ *incoming) { f.die() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
				p := serve(t, oneFile, on)
				got := make(chan error, 1)
				go func() {
					_, err := p.Query(t.Context(), hoverQuery())
					got <- err
				}()
				p.Open("/w/a.go")
				synctest.Wait()
				start := time.Now()
				require.NoError(t, p.Close())
				assert.LessOrEqual(t, time.Since(start), 3*time.Second)
				if err := <-got; name != "idle" && name != "crashes when it's due" {
					require.ErrorIs(t, err, ErrClosed)
				}
				_, err := p.Query(t.Context(), hoverQuery())
				require.ErrorIs(t, err, ErrClosed)
				_, err = p.Changed(t.Context(), []Change{{Path: "/w/a.go"}}, time.Second)
				require.ErrorIs(t, err, ErrClosed)
				p.Open("/w/a.go")
			})
		})
	}
}

// TestRoots: each root has a server of its own, found by its markers.
func TestRoots(t *testing.T) {
	needSlash(t)
	var roots []string
	var mu sync.Mutex
	files := newMemFiles(map[string]string{
		"/w/go.mod": "", "/w/a.go": "", "/w/sub/go.mod": "", "/w/sub/deep/b.go": "", "/w/x/c.go": "", "/w/all/go.work": "", "/w/all/m/go.mod": "", "/w/all/m/d.go": "", "/w/n.txt": "",
	})
	c := New(Options{Root: "/w", Files: files, Servers: []Server{{Name: "g", Languages: map[string]string{".go": "go"}, RootMarkers: []string{"go.work", "go.mod"}}},
		Start: func(_ *Server, root string) (Process, error) {
			mu.Lock()
			defer mu.Unlock()
			roots = append(roots, root)
			f := newFake(nil)
			go f.run()
			return f, nil
		}})
	defer c.Close()
	for _, path := range []string{"/w/a.go", "/w/x/c.go", "/w/sub/deep/b.go", "/w/all/m/d.go", "/usr/lib/go/fmt.go"} {
		_, err := c.Query(t.Context(), Query{Op: OpHover, Path: path, At: Position{1, 1}})
		require.NoError(t, err, path)
	}
	assert.Equal(t, []string{"/w", "/w/sub", "/w/all"}, roots)
	_, err := c.Query(t.Context(), Query{Op: OpHover, Path: "/w/n.txt", At: Position{1, 1}})
	require.ErrorIs(t, err, ErrNoServer)
	assert.ErrorContains(t, err, "no language server is configured for .txt files; there is g (.go)")
}

// TestUnsupported: what a server cannot do is said, without asking it.
func TestUnsupported(t *testing.T) {
	needSlash(t)
	p := newPark(t, oneFile, Server{}, func(int) *fake {
		f := newFake(script{"textDocument/references": func(f *fake, m *incoming) { f.fail(m, codeMethodNotFound, "what?") }})
		f.caps = `{"hoverProvider":false,"referencesProvider":true}`
		return f
	})
	for _, op := range []Op{OpHover, OpDefinition, OpRename, OpReferences} {
		_, err := p.Query(t.Context(), Query{Op: op, Path: "/w/a.go", At: Position{1, 1}})
		require.ErrorIs(t, err, ErrUnsupported, op)
	}
	assert.Empty(t, p.last().got("textDocument/hover"))
}

// TestTriesAgain: a server that asks for another try gets it, and one that is
// still loading and has found nothing is waited for.
func TestTriesAgain(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		p := serve(t, oneFile, script{
			"textDocument/hover": func(f *fake, m *incoming) {
				if tries++; tries < 3 {
					f.fail(m, codeContentModified, "content modified")
					return
				}
				f.reply(m, map[string]any{"contents": []any{"one", map[string]any{"language": "go", "value": "two"}}})
			},
			"workspace/symbol": func(f *fake, m *incoming) {
				if len(f.got("workspace/symbol")) > 1 {
					f.reply(m, []any{map[string]any{"name": "X", "kind": 12, "location": map[string]any{"uri": "file:///w/a.go", "range": wireRange{}}}})
					return
				}
				progress := func(kind string) {
					f.notify("$/progress", map[string]any{"token": "t", "value": map[string]any{"kind": kind, "title": "Loading"}})
				}
				progress("begin")
				f.reply(m, nil)
				go func() {
					time.Sleep(5 * time.Second)
					progress("end")
				}()
			},
		})
		a, err := p.Query(t.Context(), hoverQuery())
		require.NoError(t, err)
		assert.Equal(t, "one\n\n```go\ntwo\n```", a.Hover)
		a, err = p.Query(t.Context(), Query{Op: OpWorkspaceSymbol, Name: "X", IndexFor: 15 * time.Second})
		require.NoError(t, err)
		require.Len(t, a.Symbols, 1)
		assert.Empty(t, a.Busy)
		require.NoError(t, p.Close())
	})
}

// TestTwoServers: the first that can answers, and both say what is wrong.
func TestTwoServers(t *testing.T) {
	needSlash(t)
	files := newMemFiles(map[string]string{"/w/a.py": "x\n"})
	c := New(Options{Root: "/w", Files: files, Servers: []Server{
		{Name: "linter", Languages: map[string]string{".py": "python"}}, {Name: "types", Languages: map[string]string{".py": "python"}},
	}, Start: func(cfg *Server, _ string) (Process, error) {
		f := newFake(script{"textDocument/hover": hover("from types"), "textDocument/didOpen": func(f *fake, _ *incoming) { f.publish("/w/a.py", 1, "0:"+cfg.Name) }})
		if cfg.Name == "linter" {
			f.caps = `{"textDocumentSync":1}`
		}
		go f.run()
		return f, nil
	}})
	defer c.Close()
	a, err := c.Query(t.Context(), Query{Op: OpHover, Path: "/w/a.py", At: Position{1, 1}})
	require.NoError(t, err)
	assert.Equal(t, "from types", a.Hover)
	assert.Equal(t, "types", a.Server)
	list, _, err := c.Diagnostics(t.Context(), "/w/a.py", testTime)
	require.NoError(t, err)
	assert.Equal(t, []string{"/w/a.py:1 linter", "/w/a.py:1 types"}, lines(list))
}
