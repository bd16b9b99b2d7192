package lsp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checker is a server that says of every line with the word "bad" that it is
// wrong, after a while, with a version or without one.
func checker(delay func(n int) time.Duration, versions bool) script {
	n := 0
	check := func(f *fake, m *incoming) {
		var p struct {
			TextDocument textDocumentItem `json:"textDocument"`
		}
		_ = json.Unmarshal(m.Params, &p)
		path, _ := filePath(p.TextDocument.URI)
		f.mu.Lock()
		text := f.texts[p.TextDocument.URI]
		f.mu.Unlock()
		n++
		wait := delay(n)
		if wait < 0 {
			return
		}
		v := p.TextDocument.Version
		if !versions {
			v = 0
		}
		go func() {
			time.Sleep(wait)
			var wrong []string
			for i, line := range strings.Split(text, "\n") {
				if _, what, ok := strings.Cut(line, "bad"); ok {
					wrong = append(wrong, fmt.Sprintf("%d:bad%s", i, what))
				}
			}
			f.publish(path, v, wrong...)
		}()
	}
	return script{"textDocument/didOpen": check, "textDocument/didChange": check}
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func lines(list []Diagnostic) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s:%d %s", d.Path, d.Start.Line, d.Message))
	}
	return out
}

// TestNewDiagnostics: only what a change brought is told, wherever lines have
// moved to.
func TestNewDiagnostics(t *testing.T) {
	needSlash(t)
	const before = "one\nbad 1\ntwo\nbad 1\n"
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"nothing new":         {"one\ntwo\nbad 1\n", nil},
		"moved":               {"zero\nzero\none\nbad 1\ntwo\nbad 1\n", nil},
		"one more":            {"bad 2\none\nbad 1\ntwo\nbad 1\n", []string{"/w/a.go:1 bad 2"}},
		"the same once more":  {"one\nbad 1\ntwo\nbad 1\nbad 1\n", []string{"/w/a.go:5 bad 1"}},
		"in place of another": {"one\nbad 3\ntwo\nbad 1\n", []string{"/w/a.go:2 bad 3"}},
		"on the same line":    {"one\nx bad 1\ntwo\nbad 1\n", nil},
		"all gone":            {"fine\n", nil},
	} {
		for _, versions := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " versions ", versions), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := serve(t, map[string]string{"/w/a.go": before}, checker(always(100*time.Millisecond), versions))
					p.Open("/w/a.go")
					synctest.Wait()
					p.files.put("/w/a.go", c.after)
					r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: before}}, 2*time.Second)
					require.NoError(t, err)
					assert.Empty(t, r.Late)
					assert.Empty(t, r.Unsure)
					if c.want == nil {
						c.want = []string{}
					}
					assert.Equal(t, c.want, lines(r.New))
					require.NoError(t, p.Close())
				})
			})
		}
	}
}

// TestUnread: also of a file that was never opened is it known what is new.
func TestUnread(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, map[string]string{"/w/a.go": "bad 1\nbad 2\n", "/w/new.go": "bad 3\n"}, checker(always(300*time.Millisecond), true))
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "bad 1\n"}, {Path: "/w/new.go", Created: true}, {Path: "/w/gone.go", Before: "bad\n", Deleted: true}}, 2*time.Second)
		require.NoError(t, err)
		assert.Equal(t, []string{"/w/a.go:2 bad 2", "/w/new.go:1 bad 3"}, lines(r.New))
		assert.Contains(t, compact(p.last().got("workspace/didChangeWatchedFiles")[0].Params), `{"type":3,"uri":"file:///w/gone.go"}`)
		assert.NotEmpty(t, p.last().got("textDocument/didSave"))
		require.NoError(t, p.Close())
	})
}

// TestMoved: what was wrong in a file that was moved is not new.
func TestMoved(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, map[string]string{"/w/b.go": "bad 1\nbad 2\n"}, checker(always(0), true))
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/b.go", From: "/w/a.go", Before: "bad 1\n"}}, 2*time.Second)
		require.NoError(t, err)
		assert.Equal(t, []string{"/w/b.go:2 bad 2"}, lines(r.New))
		require.NoError(t, p.Close())
	})
}

// TestOtherFiles: a change that breaks another file says so; what was wrong there
// already is not told.
func TestOtherFiles(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		on := checker(always(0), true)
		change := on["textDocument/didChange"]
		on["textDocument/didOpen"] = func(f *fake, m *incoming) {
			change(f, m)
			f.publish("/w/other.go", 0, "0:old")
		}
		on["textDocument/didChange"] = func(f *fake, m *incoming) {
			change(f, m)
			go func() {
				time.Sleep(200 * time.Millisecond)
				f.publish("/w/other.go", 0, "0:old", "1:broken now")
			}()
		}
		p := serve(t, map[string]string{"/w/a.go": "x\n", "/w/other.go": "one\ntwo\n"}, on)
		p.Open("/w/a.go")
		synctest.Wait()
		p.files.put("/w/a.go", "y\n")
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "x\n"}}, 2*time.Second)
		require.NoError(t, err)
		assert.Equal(t, []string{"/w/other.go:2 broken now"}, lines(r.New))
		require.NoError(t, p.Close())
	})
}

// TestLateElsewhere: what a change broke in another file, and was said too late, is
// told with the next change, unless somebody else changed files meanwhile.
func TestLateElsewhere(t *testing.T) {
	needSlash(t)
	for _, foreign := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			on := checker(always(0), true)
			change := on["textDocument/didChange"]
			n := 0
			on["textDocument/didChange"] = func(f *fake, m *incoming) {
				change(f, m)
				if n++; n == 1 {
					go func() {
						time.Sleep(3 * time.Second)
						f.publish("/w/other.go", 0, "0:broken")
					}()
				}
			}
			p := serve(t, map[string]string{"/w/a.go": "1\n", "/w/other.go": "x\n"}, on)
			p.Open("/w/a.go")
			time.Sleep(time.Second)
			edit := func(before, after string) []string {
				p.files.put("/w/a.go", after)
				r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: before}}, 2*time.Second)
				require.NoError(t, err)
				return lines(r.New)
			}
			assert.Empty(t, edit("1\n", "2\n"))
			time.Sleep(5 * time.Second)
			if foreign {
				p.files.put("/w/third.go", "x\n")
				assert.Empty(t, edit("2\n", "3\n"))
			} else {
				assert.Equal(t, []string{"/w/other.go:1 broken"}, edit("2\n", "3\n"))
			}
			assert.Empty(t, edit("3\n", "4\n"), "and not again")
			require.NoError(t, p.Close())
		})
	}
}

// TestStaleDiagnostics: what is said about an older version does not count, and a
// server that is too slow is named; what it owes is told with the next change.
func TestStaleDiagnostics(t *testing.T) {
	needSlash(t)
	for _, versions := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := serve(t, map[string]string{"/w/a.go": "one\n"}, checker(func(n int) time.Duration {
				if n == 2 {
					return time.Minute
				}
				return 100 * time.Millisecond
			}, versions))
			p.Open("/w/a.go")
			time.Sleep(time.Second)
			synctest.Wait()
			f := p.last()
			time.AfterFunc(500*time.Millisecond, func() {
				if versions {
					f.publish("/w/a.go", 1, "0:about the past")
				}
			})
			p.files.put("/w/a.go", "one\nbad 1\n")
			start := time.Now()
			r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "one\n"}}, 2*time.Second)
			require.NoError(t, err)
			assert.Equal(t, 2*time.Second, time.Since(start))
			assert.Equal(t, []string{"fake"}, r.Late)
			assert.Empty(t, r.New)
			p.files.put("/w/a.go", "one\nbad 1\nbad 2\n")
			r, err = p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "one\nbad 1\n"}}, 2*time.Second)
			require.NoError(t, err)
			assert.Empty(t, r.Late)
			assert.Equal(t, []string{"/w/a.go:2 bad 1", "/w/a.go:3 bad 2"}, lines(r.New))
			require.NoError(t, p.Close())
			time.Sleep(2 * time.Minute) // the slow answer finds nobody
		})
	}
}

// TestBounds: however slow a server is, a change is not held up beyond its time;
// one that is only just starting gets eight seconds from its start, once.
func TestBounds(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, map[string]string{"/w/a.go": "one\n"}, script{"initialize": func(f *fake, m *incoming) {
			go func() {
				time.Sleep(25 * time.Second)
				f.reply(m, json.RawMessage(`{"capabilities":`+allCaps+`}`))
			}()
		}})
		for _, want := range []time.Duration{8, 2, 2} {
			start := time.Now()
			r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "one\n"}}, 2*time.Second)
			require.NoError(t, err)
			assert.Equal(t, []string{"fake"}, r.Late)
			assert.Equal(t, want*time.Second, time.Since(start))
		}
		require.NoError(t, p.Close())
		time.Sleep(time.Minute)
	})
}

// TestUnsure: if it never was known what was wrong before, that is said.
func TestUnsure(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, map[string]string{"/w/a.go": "bad 1\nbad 2\n"}, checker(func(n int) time.Duration {
			if n == 1 {
				return -1 // it skips the first version
			}
			return 0
		}, true))
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "bad 1\n"}}, 2*time.Second)
		require.NoError(t, err)
		assert.Equal(t, []string{"/w/a.go"}, r.Unsure)
		assert.Len(t, r.New, 2)
		require.NoError(t, p.Close())
	})
}

// TestPull: a server that answers when it is asked is asked.
func TestPull(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := newPark(t, map[string]string{"/w/a.go": "bad 1\nbad 2\n"}, Server{}, func(int) *fake {
			f := newFake(script{"textDocument/diagnostic": func(f *fake, m *incoming) {
				f.mu.Lock()
				text := f.texts["file:///w/a.go"]
				f.mu.Unlock()
				items := []any{}
				for i, l := range strings.Split(text, "\n") {
					if strings.HasPrefix(l, "bad") {
						items = append(items, map[string]any{"range": wireRange{wirePosition{int64(i), 0}, wirePosition{int64(i), 3}}, "message": l, "code": 17})
					}
				}
				f.reply(m, map[string]any{"kind": "full", "items": items})
			}})
			f.caps = `{"textDocumentSync":1,"diagnosticProvider":{"interFileDependencies":true}}`
			return f
		})
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "bad 1\n"}}, 2*time.Second)
		require.NoError(t, err)
		assert.Equal(t, []string{"/w/a.go:2 bad 2"}, lines(r.New))
		assert.Equal(t, "17", r.New[0].Code)
		list, busy, err := p.Diagnostics(t.Context(), "/w/a.go", 2*time.Second)
		require.NoError(t, err)
		assert.Empty(t, busy)
		assert.Equal(t, []string{"/w/a.go:1 bad 1", "/w/a.go:2 bad 2"}, lines(list))
		require.NoError(t, p.Close())
	})
}

// TestRefresh: a server that says that it would answer otherwise now is asked
// again, and one that refuses to answer is asked until the time is over.
func TestRefresh(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := newPark(t, map[string]string{"/w/a.go": "new\n"}, Server{}, func(int) *fake {
			f := newFake(script{"textDocument/diagnostic": func(f *fake, m *incoming) {
				switch n++; {
				case n == 1: // before the change
					f.reply(m, map[string]any{"kind": "full", "items": []any{}})
				case n < 4:
					f.fail(m, -32603, "not yet")
				default:
					f.reply(m, map[string]any{"kind": "full", "items": []any{map[string]any{"range": wireRange{}, "message": "wrong"}}})
				}
			}})
			f.caps = `{"textDocumentSync":1,"diagnosticProvider":{}}`
			return f
		})
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "old\n"}}, 5*time.Second)
		require.NoError(t, err)
		assert.Equal(t, []string{"/w/a.go:1 wrong"}, lines(r.New))
		p.last().send(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "workspace/diagnostic/refresh"})
		synctest.Wait()
		list, _, err := p.Diagnostics(t.Context(), "/w/a.go", 2*time.Second)
		require.NoError(t, err)
		assert.Len(t, list, 1)
		assert.Equal(t, 5, n)
		require.NoError(t, p.Close())
	})
}

// TestCrashDuringChange: a server that dies over a change is an error beside the
// report, at once.
func TestCrashDuringChange(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, map[string]string{"/w/a.go": "two\n"}, script{"textDocument/didChange": func(f *fake, _ *incoming) { f.die() }})
		start := time.Now()
		r, err := p.Changed(t.Context(), []Change{{Path: "/w/a.go", Before: "one\n"}}, 5*time.Second)
		require.ErrorIs(t, err, ErrCrashed)
		assert.NotNil(t, r)
		assert.LessOrEqual(t, time.Since(start), 10*time.Second)
		require.NoError(t, p.Close())
	})
}

// TestForeignChanges: what commands did to files is told before anything is asked.
func TestForeignChanges(t *testing.T) {
	needSlash(t)
	p := newPark(t, map[string]string{"/w/a.go": "one\n", "/w/b.go": "b\n", "/w/c.go": "c\n", "/w/go.mod": "m\n"}, Server{RootMarkers: []string{"go.mod"}}, func(int) *fake {
		return newFake(script{"textDocument/hover": hover("x")})
	})
	ask := func() {
		_, err := p.Query(t.Context(), Query{Op: OpHover, Path: "/w/a.go", At: Position{1, 1}})
		require.NoError(t, err)
	}
	ask()
	assert.Empty(t, p.last().got("workspace/didChangeWatchedFiles"))
	p.files.put("/w/a.go", "two\n")
	p.files.put("/w/b.go", "bb\n")
	p.files.put("/w/d.go", "d\n")
	p.files.put("/w/go.mod", "mm\n")
	p.files.put("/w/notes.txt", "t\n")
	p.files.remove("/w/c.go")
	ask()
	events := p.last().got("workspace/didChangeWatchedFiles")
	require.Len(t, events, 1)
	assert.Equal(t, `{"changes":[{"type":2,"uri":"file:///w/a.go"},{"type":2,"uri":"file:///w/b.go"},{"type":1,"uri":"file:///w/d.go"},{"type":2,"uri":"file:///w/go.mod"},{"type":3,"uri":"file:///w/c.go"}]}`, compact(events[0].Params))
	p.last().mu.Lock()
	assert.Equal(t, "two\n", p.last().texts["file:///w/a.go"])
	p.last().mu.Unlock()
	p.files.remove("/w/a.go")
	_, err := p.Query(t.Context(), Query{Op: OpHover, Path: "/w/a.go", At: Position{1, 1}})
	require.Error(t, err)
	require.Eventually(t, func() bool { return len(p.last().got("textDocument/didClose")) == 1 }, 10*time.Second, time.Millisecond)
}

// TestDocumentsStayInStep: after any changes, in any encoding, incremental or
// full, the server sees the text that the client means.
func TestDocumentsStayInStep(t *testing.T) {
	needSlash(t)
	pieces := []string{"a", "é", "漢", "🙂", "\n", "\r\n", "\t", "e\u0301", "word ", ""}
	for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
		for _, kind := range []int{0, 1, 2} {
			r := rand.New(rand.NewPCG(1, uint64(kind)))
			random := func(n int) string {
				var b strings.Builder
				for range n {
					b.WriteString(pieces[r.IntN(len(pieces))])
				}
				return b.String()
			}
			p := newPark(t, map[string]string{"/w/a.go": ""}, Server{}, func(int) *fake {
				f := newFake(script{"textDocument/hover": hover("x")})
				f.enc, f.caps = enc, fmt.Sprintf(`{"positionEncoding":%q,"hoverProvider":true,"textDocumentSync":%d}`, enc, kind)
				return f
			})
			text := random(20)
			for i := range 200 {
				runes := []rune(text)
				from := r.IntN(len(runes) + 1)
				to := from + r.IntN(len(runes)-from+1)
				text = string(runes[:from]) + random(r.IntN(5)) + string(runes[to:])
				p.files.put("/w/a.go", text)
				_, err := p.Query(t.Context(), Query{Op: OpHover, Path: "/w/a.go", At: Position{1, 1}})
				require.NoError(t, err)
				f := p.last()
				f.mu.Lock()
				require.Equal(t, text, f.texts["file:///w/a.go"], "%s, change %d", enc, i)
				f.mu.Unlock()
			}
			require.NoError(t, p.Close())
		}
	}
}

// TestManyChanges: of a change of very many files the first are looked into, and
// the server learns of all.
func TestManyChanges(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{}
		var changes []Change
		for i := range 300 {
			name := fmt.Sprintf("/w/f%03d.go", i)
			files[name] = "bad 1\nbad 2\n"
			changes = append(changes, Change{Path: name, Before: "bad 1\n"})
		}
		p := serve(t, files, checker(always(0), true))
		r, err := p.Changed(t.Context(), changes, 5*time.Second)
		require.NoError(t, err)
		assert.Empty(t, r.Late)
		assert.Len(t, r.New, maxCompared)
		assert.Contains(t, string(p.last().got("workspace/didChangeWatchedFiles")[0].Params), "f299.go")
		require.NoError(t, p.Close())
	})
}

// TestManyDocuments: a server has a bounded number of files open.
func TestManyDocuments(t *testing.T) {
	needSlash(t)
	files := map[string]string{}
	for i := range 150 {
		files[fmt.Sprintf("/w/f%03d.go", i)] = "x\n"
	}
	p := serve(t, files, script{"textDocument/hover": hover("x")})
	for _, path := range sortedKeys(files) {
		_, err := p.Query(t.Context(), Query{Op: OpHover, Path: path, At: Position{1, 1}})
		require.NoError(t, err)
	}
	f := p.last()
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Len(t, f.texts, maxDocuments)
	assert.Contains(t, f.texts, "file:///w/f149.go")
	assert.NotContains(t, f.texts, "file:///w/f000.go")
}

// TestOpenWhileStarting: a file that is read while the server starts is opened
// when it is ready, with what it holds then.
func TestOpenWhileStarting(t *testing.T) {
	needSlash(t)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, oneFile, script{"initialize": func(f *fake, m *incoming) {
			go func() {
				time.Sleep(time.Second)
				f.reply(m, json.RawMessage(`{"capabilities":`+allCaps+`}`))
			}()
		}})
		start := time.Now()
		p.Open("/w/a.go")
		p.Open("/w/none.txt")
		assert.Zero(t, time.Since(start))
		synctest.Wait()
		assert.Empty(t, p.last().got("textDocument/didOpen"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, p.last().got("textDocument/didOpen"), 1)
		assert.Equal(t, `{"textDocument":{"uri":"file:///w/a.go","languageId":"go","version":1,"text":"package a\n\nvar x = 1\n"}}`, compact(p.last().got("textDocument/didOpen")[0].Params))
		require.NoError(t, p.Close())
	})
}
