package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTodoWrite: each call works on the list that the ones before it left.
func TestTodoWrite(t *testing.T) {
	type step struct{ input, list, note, fails string }
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"replace, then by id", []step{
			{input: `{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending","priority":"high"}]}`, list: "1>a 2 b!high"},
			{input: `{"merge":true,"todos":[{"id":"1","status":"completed"},{"id":2,"status":"in_progress"}]}`, list: "1xa 2>b!high"},
			{input: `{"merge":true,"todos":[{"content":"c"}]}`, list: "1xa 2>b!high 3 c"},
			{input: `{"merge":true,"todos":[{"content":"c","status":"completed"}]}`, list: "1xa 2>b!high 3xc"},
			{input: `{"todos":[{"content":"b","status":"completed"},{"content":"a","status":"completed"},{"content":"c","status":"completed"}]}`, list: "2xb!high 1xa 3xc"},
			{input: `{"todos":[]}`, list: ""},
			{input: `{"todos":[{"content":"new"}]}`, list: "4 new"},
		}},
		{"words of other tools", []step{
			{input: `{"todos":[{"content":"a","status":"done","priority":"urgent"},{"content":"b","status":"In Progress","priority":"whatever"}]}`, list: "1xa!high 2>b!medium", note: `status "done" was taken as completed`},
			{input: `{"plan":[{"step":"a","status":"todo"},{"step":"b","status":"skipped"}]}`, list: "1 a!high 2-b!medium", note: `"skipped" was taken as cancelled`},
			{input: `{"todos":"[{\"content\":\"a\"},{\"content\":\"b\"}]"}`, list: "1 a!high 2-b!medium"},
		}},
		{"one in progress", []step{
			{input: `{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`, list: "1>a 2 b", note: "only one item can be in progress: that is 1, and 2 went back"},
			{input: `{"merge":true,"todos":[{"id":"2","status":"in_progress"}]}`, list: "1 a 2>b", note: "that is 2, and 1 went back"},
		}},
		{"twice", []step{
			{input: `{"todos":[{"id":"x","content":"a"},{"id":"x","content":"b","status":"completed"},{"id":"y","content":"b"}]}`, list: "x b", note: "was there twice"},
			{input: `{"todos":[{"content":" a  b "},{"content":"a b"}]}`, list: "1 a b", note: "was there twice"},
		}},
		{"an id that is claimed is not given to another", []step{
			{input: `{"todos":[{"content":"a"},{"content":"b"}]}`, list: "1 a 2 b"},
			{input: `{"todos":[{"content":"a"},{"id":"1","content":"c"}]}`, list: "3 a 1 c", note: "left out although neither completed nor cancelled: 2 (b)"},
		}},
		{"left out", []step{
			{input: `{"todos":[{"content":"a"},{"content":"b","status":"completed"},{"content":"c","status":"cancelled"}]}`, list: "1 a 2xb 3-c"},
			{input: `{"todos":[{"content":"d"}]}`, list: "4 d", note: "left out although neither completed nor cancelled: 1 (a);"},
		}},
		{"refused", []step{
			{input: `{"todos":[{"content":"a"}]}`, list: "1 a"},
			{input: `{"todos":[{"id":"9","status":"done"}]}`, list: "1 a", fails: `no item "9" in the list`},
			{input: `{"todos":[{"status":"done"}]}`, list: "1 a", fails: "item 1 has neither id nor content"},
			{input: `{"todos":[{"content":"b","status":"sideways"}]}`, list: "1 a", fails: `status "sideways" is not known`},
			{input: `{"todos":[{"content":"` + strings.Repeat("x", 1001) + `"}]}`, list: "1 a", fails: "longer than 1000"},
			{input: `{"todos":[{"id":"a b","content":"b"}]}`, list: "1 a", fails: "blanks"},
			{input: many(101), list: "1 a", fails: "at most 100"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "", Config{})
			for _, s := range c.steps {
				res, err := b.run("todowrite", s.input)
				if s.fails != "" {
					require.ErrorContains(t, err, s.fails, s.input)
				} else {
					require.NoError(t, err, s.input)
					assert.Contains(t, res.Text, s.note)
					if s.note == "" {
						assert.NotContains(t, res.Text, "Note:", s.input)
					}
				}
				assert.Equal(t, s.list, shorthand(b.ts.Todos("session_1")), s.input)
			}
		})
	}
}

func many(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"content":"item %d"}`, i)
	}
	return `{"todos":[` + strings.Join(items, ",") + `]}`
}

func shorthand(list []Todo) string {
	marks := map[TodoStatus]string{TodoPending: " ", TodoInProgress: ">", TodoCompleted: "x", TodoCancelled: "-"}
	var out []string
	for _, t := range list {
		s := t.ID + marks[t.Status] + t.Content
		if t.Priority != "" {
			s += "!" + t.Priority
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestTodoText: what models and people see.
func TestTodoText(t *testing.T) {
	b := newBench(t, "", Config{})
	assert.Equal(t, "The todo list is empty.", b.ok("todoread", in{}))
	res, err := b.run("todowrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress","priority":"low"},{"content":"c"}]}`)
	require.NoError(t, err)
	assert.Equal(t, "1 of 3 done ([>] in progress, [x] completed, [-] cancelled)\n1 [x] a\n2 [>] b (low)\n3 [ ] c", res.Text)
	assert.Equal(t, "2 todos", res.Title)
	assert.Equal(t, []string{"1", "2", "3"}, res.Metadata["added"])
	assert.Equal(t, []string{"todowrite *"}, b.asks())
	res, err = b.run("todowrite", `{"todos":[{"id":"2","status":"completed"},{"id":"3"}]}`)
	require.NoError(t, err)
	assert.Equal(t, []string{}, res.Metadata["added"])
	assert.Equal(t, []string{"2"}, res.Metadata["changed"])
	assert.Equal(t, []string{"1"}, res.Metadata["removed"])
	assert.Equal(t, res.Text, b.ok("todoread", in{}))
}

// TestTodoSessions: a session that was started by another has its own list and sees the other's.
func TestTodoSessions(t *testing.T) {
	b := newBench(t, "", Config{})
	require.NoError(t, b.ts.SetTodos("parent", []Todo{{Content: "plan"}}))
	b.ts.Fork("parent", "session_1")
	assert.Nil(t, b.ts.Todos("session_1"))
	b.ok("todowrite", `{"todos":[{"content":"own"}]}`)
	assert.Equal(t, "1 plan", shorthand(b.ts.Todos("parent")))
	text := b.ok("todoread", in{})
	assert.Contains(t, text, "1 [ ] own")
	assert.Contains(t, text, "cannot be changed here):\n0 of 1 done")
	b.ts.Forget("session_1")
	assert.Nil(t, b.ts.Todos("session_1"))
	assert.NotContains(t, b.ok("todoread", in{}), "plan")
}

// TestTodoRestore: what was kept as JSON comes back, and what is wrong alters nothing.
func TestTodoRestore(t *testing.T) {
	b := newBench(t, "", Config{})
	b.ok("todowrite", `{"todos":[{"content":"a","status":"in_progress"},{"content":"b","priority":"low"}]}`)
	kept, err := json.Marshal(b.ts.Todos("session_1"))
	require.NoError(t, err)
	var list []Todo
	require.NoError(t, json.Unmarshal(kept, &list))
	require.NoError(t, b.ts.SetTodos("other", list))
	assert.Equal(t, b.ts.Todos("session_1"), b.ts.Todos("other"))
	for _, bad := range [][]Todo{
		{{ID: "1", Content: "x"}, {ID: "1", Content: "y"}}, {{ID: "1"}}, {{Content: "x", Status: "done"}}, {{Content: "x", Priority: "P1"}},
		{{Content: "x", Status: TodoInProgress}, {Content: "y", Status: TodoInProgress}}, {{Content: strings.Repeat("x", 1001)}}, make([]Todo, 101),
	} {
		require.Error(t, b.ts.SetTodos("other", bad))
		assert.Equal(t, list, b.ts.Todos("other"))
	}
	require.NoError(t, b.ts.SetTodos("other", nil))
	assert.Empty(t, b.ts.Todos("other"))
}

// TestTodoEvents: the host hears of each change once, in an order it can tell, and its panic costs nothing.
func TestTodoEvents(t *testing.T) {
	var mu sync.Mutex
	var got []TodoChange
	b := newBench(t, "", Config{OnTodoChange: func(_ context.Context, ch TodoChange) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, ch)
		if len(ch.Todos) == 0 {
			panic("no list")
		}
		ch.Todos[0].Content = "the receiver's own"
	}})
	b.ok("todowrite", `{"todos":[{"content":"a"}]}`)
	b.ok("todowrite", `{"todos":[{"content":"a"}]}`)
	assert.Equal(t, "1 a", shorthand(b.ts.Todos("session_1")))
	res, err := b.run("todowrite", `{"todos":[]}`)
	require.NoError(t, err)
	assert.Equal(t, "panicked: no list", res.Metadata["observer"])
	require.Len(t, got, 2)
	assert.Equal(t, []int{1, 2}, []int{got[0].Revision, got[1].Revision})
	assert.Equal(t, []string{"1"}, got[0].Added)
	assert.Equal(t, []string{"1"}, got[1].Removed)
}

// TestTodoRace: calls at the same time lose nothing.
func TestTodoRace(t *testing.T) {
	b := newBench(t, "", Config{})
	w, _ := b.ts.Tool("todowrite")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := w.Run(t.Context(), b.call("todowrite", fmt.Sprintf(`{"merge":true,"todos":[{"content":"item %d"}]}`, i)))
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	list := b.ts.Todos("session_1")
	assert.Len(t, list, 20)
	seen := map[string]bool{}
	for _, td := range list {
		assert.False(t, seen[td.ID])
		seen[td.ID] = true
	}
}
