package builtin

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxTodos       = 100
	maxTodoContent = 1000 // runes
	maxTodoID      = 64   // bytes
)

// todos are the lists of the sessions. The zero value is ready.
type todos struct {
	mu      sync.Mutex
	lists   map[string]*todoList
	parents map[string]string // of sessions that were forked
}

type todoList struct {
	items    []Todo // replaced, never changed in place
	revision int
	last     int // the highest number that was given as an id
}

// todoDiff is what a write did.
type todoDiff struct {
	list                    []Todo
	added, changed, removed []Todo
	notes                   []string
	revision                int // 0 if the list is as it was
}

func (d *todoDiff) altered() bool { return d.revision > 0 }

// statusOf and priorityOf know the words that models use for the same thing.
func statusOf(s string) (TodoStatus, bool) {
	switch foldWord(s) {
	case "pending", "todo", "open", "notstarted", "new", "waiting", "queued", "planned", "blocked", "":
		return TodoPending, true
	case "inprogress", "doing", "active", "started", "working", "current", "ongoing", "wip", "running":
		return TodoInProgress, true
	case "completed", "complete", "done", "finished", "closed", "resolved", "success", "x":
		return TodoCompleted, true
	case "cancelled", "canceled", "skipped", "dropped", "abandoned", "obsolete", "wontfix", "removed", "deleted":
		return TodoCancelled, true
	}
	return "", false
}

func priorityOf(s string) (string, bool) {
	switch foldWord(s) {
	case "":
		return "", true
	case "high", "urgent", "critical", "highest", "important", "p0", "p1", "1":
		return "high", true
	case "medium", "normal", "med", "moderate", "default", "p2", "2":
		return "medium", true
	case "low", "lowest", "minor", "optional", "p3", "p4", "3":
		return "low", true
	}
	return "medium", false
}

// foldWord drops case and separators.
func foldWord(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// givenTodo is an item as a call has it: what is not set stays as it was.
type givenTodo struct {
	Todo
	hasStatus, hasPriority bool
}

// readTodos takes the words of a call for what they mean, and notes where they
// are not those of the tool.
func readTodos(in []todoInput) (out []givenTodo, notes []string, err error) {
	if len(in) > maxTodos {
		return nil, nil, fmt.Errorf("the list has %d items; at most %d are taken. Nothing was changed. Put steps that belong together into one item", len(in), maxTodos)
	}
	var words []string
	for i, t := range in {
		g := givenTodo{Todo: Todo{ID: string(t.ID), Content: strings.Join(strings.Fields(t.Content), " ")}}
		g.hasStatus, g.hasPriority = t.Status != "", t.Priority != ""
		var ok bool
		if g.Status, ok = statusOf(t.Status); !ok {
			return nil, nil, fmt.Errorf("item %d: status %q is not known; use pending, in_progress, completed or cancelled. Nothing was changed", i+1, clip(t.Status, 40))
		}
		if g.hasStatus && t.Status != string(g.Status) {
			words = append(words, fmt.Sprintf("status %q was taken as %s", clip(t.Status, 40), g.Status))
		}
		if g.Priority, _ = priorityOf(t.Priority); g.hasPriority && t.Priority != g.Priority {
			words = append(words, fmt.Sprintf("priority %q was taken as %s", clip(t.Priority, 40), g.Priority))
		}
		if g.ID == "" && g.Content == "" {
			return nil, nil, fmt.Errorf("item %d has neither id nor content. Nothing was changed", i+1)
		}
		if err := checkTodo(g.Todo); err != nil {
			return nil, nil, fmt.Errorf("item %d: %w. Nothing was changed", i+1, err)
		}
		out = append(out, g)
	}
	for _, w := range words {
		if !slices.Contains(notes, w) {
			notes = append(notes, w)
		}
	}
	return out, notes, nil
}

func checkTodo(t Todo) error {
	switch {
	case utf8.RuneCountInString(t.Content) > maxTodoContent:
		return fmt.Errorf("content is longer than %d characters; shorten it", maxTodoContent)
	case len(t.ID) > maxTodoID:
		return fmt.Errorf("id is longer than %d bytes", maxTodoID)
	case strings.ContainsFunc(t.ID, func(r rune) bool { return r <= ' ' }):
		return fmt.Errorf("id %q has blanks in it", t.ID)
	}
	return nil
}

func (l *todoList) byID(id string) int {
	return slices.IndexFunc(l.items, func(t Todo) bool { return t.ID == id })
}

func (l *todoList) byContent(s string) int {
	return slices.IndexFunc(l.items, func(t Todo) bool { return t.Content == s })
}

// find returns the item of l that g is about, -1 if it is a new one.
func (l *todoList) find(g givenTodo) int {
	if g.ID != "" {
		return l.byID(g.ID)
	}
	return l.byContent(g.Content)
}

// onto returns old with what g says laid over it.
func (g givenTodo) onto(old Todo) Todo {
	if g.Content != "" {
		old.Content = g.Content
	}
	if g.hasStatus {
		old.Status = g.Status
	}
	if g.hasPriority {
		old.Priority = g.Priority
	}
	return old
}

// get returns the session's list, which it makes. It is called with ts.mu held.
func (ts *todos) get(session string) *todoList {
	l := ts.lists[session]
	if l == nil {
		l = &todoList{}
		if ts.lists == nil {
			ts.lists = make(map[string]*todoList)
		}
		ts.lists[session] = l
	}
	return l
}

// write replaces the session's list, or changes the given items of it.
func (ts *todos) write(session string, given []givenTodo, merge bool) (*todoDiff, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	l := ts.get(session)
	d := &todoDiff{}
	next := &todoList{last: l.last, revision: l.revision}
	if merge {
		next.items = slices.Clone(l.items)
	}
	claimed := make(map[string]bool)
	for _, g := range given {
		claimed[g.ID] = true
	}
	set := make(map[int]bool) // of next.items: by this call
	for _, g := range given {
		if at := next.find(g); at >= 0 {
			if set[at] {
				d.notes = append(d.notes, fmt.Sprintf("%q was there twice and is one item now; the last status counts", clip(next.items[at].Content, 60)))
			}
			next.items[at], set[at] = g.onto(next.items[at]), true
			continue
		}
		t := Todo{ID: g.ID, Status: TodoPending}
		if at := l.find(g); at >= 0 && (g.ID != "" || !claimed[l.items[at].ID]) {
			t = l.items[at]
		}
		t = g.onto(t)
		if t.Content == "" {
			return nil, fmt.Errorf("there is no item %q in the list, and a new one needs content. Nothing was changed. %s", g.ID, todoText(l.items))
		}
		set[len(next.items)] = true
		next.items = append(next.items, t)
	}
	next.unite(d)
	if len(next.items) > maxTodos {
		return nil, fmt.Errorf("the list would have %d items; at most %d are kept. Nothing was changed. Leave out what is done", len(next.items), maxTodos)
	}
	next.number(l.items)
	next.single(l, d)
	l.compare(next, d)
	if d.list = next.items; !slices.Equal(l.items, next.items) {
		next.revision++
		d.revision = next.revision
	}
	*l = *next
	return d, nil
}

// unite makes one item of those with the same content, in the place of the first.
func (l *todoList) unite(d *todoDiff) {
	var out []Todo
	for _, t := range l.items {
		at := slices.IndexFunc(out, func(o Todo) bool { return o.Content == t.Content })
		if at < 0 {
			out = append(out, t)
			continue
		}
		d.notes = append(d.notes, fmt.Sprintf("%q was there twice and is one item now; the last status counts", clip(t.Content, 60)))
		id := out[at].ID
		if id == "" {
			id = t.ID
		}
		out[at] = t
		out[at].ID = id
	}
	l.items = out
}

// number gives ids to items that have none: numbers that were never used before.
func (l *todoList) number(before []Todo) {
	for _, list := range [][]Todo{before, l.items} {
		for _, t := range list {
			if n, err := strconv.Atoi(t.ID); err == nil && n > l.last && n < 1<<30 {
				l.last = n
			}
		}
	}
	for i := range l.items {
		if l.items[i].ID == "" {
			l.last++
			l.items[i].ID = strconv.Itoa(l.last)
		}
	}
}

// single leaves one item in progress: one that was not so before, if there is.
func (l *todoList) single(before *todoList, d *todoDiff) {
	var now, fresh []int
	for i, t := range l.items {
		if t.Status != TodoInProgress {
			continue
		}
		now = append(now, i)
		if at := before.byID(t.ID); at < 0 || before.items[at].Status != TodoInProgress {
			fresh = append(fresh, i)
		}
	}
	if len(now) < 2 {
		return
	}
	keep := now[0]
	if len(fresh) > 0 {
		keep = fresh[0]
	}
	var back []string
	for _, i := range now {
		if i != keep {
			l.items[i].Status = TodoPending
			back = append(back, l.items[i].ID)
		}
	}
	d.notes = append(d.notes, fmt.Sprintf("only one item can be in progress: that is %s, and %s went back to pending", l.items[keep].ID, strings.Join(back, ", ")))
}

// compare says what becomes of l if it becomes next.
func (l *todoList) compare(next *todoList, d *todoDiff) {
	for _, t := range next.items {
		switch at := l.byID(t.ID); {
		case at < 0:
			d.added = append(d.added, t)
		case l.items[at] != t:
			d.changed = append(d.changed, t)
		}
	}
	var lost []string
	for _, t := range l.items {
		if next.byID(t.ID) >= 0 {
			continue
		}
		d.removed = append(d.removed, t)
		if t.Status.open() {
			lost = append(lost, fmt.Sprintf("%s (%s)", t.ID, clip(t.Content, 60)))
		}
	}
	if len(lost) > 0 {
		d.notes = append(d.notes, "left out although neither completed nor cancelled: "+strings.Join(lost, ", ")+"; add what is still to be done again")
	}
}

// read returns copies of the session's list and of that of the session that started it.
func (ts *todos) read(session string) (own, parents []Todo) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if l := ts.lists[session]; l != nil {
		own = slices.Clone(l.items)
	}
	if p, ok := ts.parents[session]; ok && ts.lists[p] != nil {
		parents = slices.Clone(ts.lists[p].items)
	}
	return own, parents
}

// newTodoList makes a list of items that the host has.
func newTodoList(list []Todo) (*todoList, error) {
	next := &todoList{}
	if len(list) > maxTodos {
		return nil, fmt.Errorf("%d todos are more than %d", len(list), maxTodos)
	}
	progress := 0
	for i, t := range list {
		if t.Status == "" {
			t.Status = TodoPending
		}
		switch st, ok := statusOf(string(t.Status)); {
		case !ok || st != t.Status:
			return nil, fmt.Errorf("todo %d: unknown status %q", i+1, t.Status)
		case t.Content == "":
			return nil, fmt.Errorf("todo %d has no content", i+1)
		case t.ID != "" && next.byID(t.ID) >= 0:
			return nil, fmt.Errorf("two todos have the id %q", t.ID)
		case !slices.Contains([]string{"", "high", "medium", "low"}, t.Priority):
			return nil, fmt.Errorf("todo %d: unknown priority %q", i+1, t.Priority)
		}
		if err := checkTodo(t); err != nil {
			return nil, fmt.Errorf("todo %d: %w", i+1, err)
		}
		if t.Status == TodoInProgress {
			progress++
		}
		next.items = append(next.items, t)
	}
	if progress > 1 {
		return nil, errors.New("more than one todo is in progress")
	}
	return next, nil
}

func (ts *todos) set(session string, list []Todo) error {
	next, err := newTodoList(list)
	if err != nil {
		return err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	l := ts.get(session)
	next.last, next.revision = l.last, l.revision+1
	next.number(l.items)
	*l = *next
	return nil
}

// fork lets a session see the list of the one that started it.
func (ts *todos) fork(parent, child string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.parents == nil {
		ts.parents = make(map[string]string)
	}
	ts.parents[child] = parent
}

func (ts *todos) forget(session string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.lists, session)
	delete(ts.parents, session)
}
