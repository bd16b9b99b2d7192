package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agenttool/tool"
)

//go:embed todowrite.md
var todoWriteDescription string

//go:embed todoread.md
var todoReadDescription string

// Todo is one item of the list that todowrite keeps for a session.
type Todo struct {
	ID       string     `json:"id"`      // distinct within the list; never empty in one that was kept
	Content  string     `json:"content"` // what is to be done, in one line
	Status   TodoStatus `json:"status"`
	Priority string     `json:"priority,omitempty"` // "high", "medium", "low", or "" if none was given
}

// TodoStatus is how far an item is. "" is read as TodoPending.
type TodoStatus string

// The states of an item.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress" // of at most one item of a list
	TodoCompleted  TodoStatus = "completed"
	TodoCancelled  TodoStatus = "cancelled"
)

func (s TodoStatus) open() bool { return s == TodoPending || s == TodoInProgress }

// TodoChange tells of a list that todowrite altered.
type TodoChange struct {
	SessionID string
	CallID    string
	Revision  int      // grows by one with each change of the session's list, from 1
	Todos     []Todo   // the list as it is now; the receiver's own
	Added     []string // ids
	Changed   []string // ids
	Removed   []string // ids
}

// todoID is an id, which models also write as a number.
type todoID string

// JSONSchema says so.
func (todoID) JSONSchema() any {
	return json.RawMessage(`{"type":["string","integer"],"description":"from the list; left out: a new item"}`)
}

// UnmarshalJSON reads both.
func (id *todoID) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*id = todoID(strings.TrimSpace(s))
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*id = todoID(n.String())
	return nil
}

type todoInput struct {
	ID       todoID `json:"id,omitempty" alias:"key"`
	Content  string `json:"content,omitempty" jsonschema:"what is to be done" alias:"text,title,task,step,description"`
	Status   string `json:"status,omitempty" jsonschema:"pending, in_progress, completed or cancelled" alias:"state"`
	Priority string `json:"priority,omitempty" jsonschema:"high, medium or low"`
}

type todoWriteInput struct {
	Todos []todoInput `json:"todos" alias:"items,tasks,plan,list,todo_list,todoList"`
	Merge bool        `json:"merge,omitempty" jsonschema:"change or add just these items" alias:"patch,update"`
}

type todoReadInput struct{}

func defineTodoWrite(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "todowrite", Title: "Todos", Description: strings.TrimSpace(todoWriteDescription),
		Hints: tool.Hints{Idempotent: true}, MaxOutput: -1,
		Aliases: []string{"todo_write", "TodoWrite", "write_todos", "update_todo_list", "update_plan"},
	}, ts.planTodoWrite)
}

func defineTodoRead(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "todoread", Title: "Todos", Description: strings.TrimSpace(todoReadDescription),
		Hints: tool.Hints{ReadOnly: true, Idempotent: true}, Parallel: true, MaxOutput: -1,
		Aliases: []string{"todo_read", "TodoRead", "read_todos"},
	}, ts.planTodoRead)
}

func todoRequest(permission, title string) *tool.Request {
	return &tool.Request{Permission: permission, Title: title, Patterns: []string{"*"}, Always: []string{"*"}}
}

func (ts *Toolset) planTodoWrite(_ context.Context, call *tool.Call, in todoWriteInput) (*plan, error) {
	given, notes, err := readTodos(in.Todos)
	if err != nil {
		return nil, err
	}
	return &plan{
		asks: []ask{{req: todoRequest("todowrite", "Update the todo list")}},
		apply: func(ctx context.Context, _ *tool.Call) (*outcome, error) {
			d, err := ts.todos.write(call.SessionID, given, in.Merge)
			if err != nil {
				return nil, err
			}
			notes := append(notes, d.notes...)
			res := todoResult(d.list)
			res.Metadata["added"], res.Metadata["changed"], res.Metadata["removed"] = ids(d.added), ids(d.changed), ids(d.removed)
			for _, n := range notes {
				res.Text += "\nNote: " + n + "."
			}
			if d.altered() && ts.cfg.OnTodoChange != nil {
				ch := TodoChange{
					SessionID: call.SessionID, CallID: call.ID, Revision: d.revision, Todos: append([]Todo{}, d.list...),
					Added: ids(d.added), Changed: ids(d.changed), Removed: ids(d.removed),
				}
				if note := guarded(func() { ts.cfg.OnTodoChange(ctx, ch) }); note != "" {
					res.Metadata["observer"] = note
				}
			}
			return &outcome{result: res}, nil
		},
	}, nil
}

func (ts *Toolset) planTodoRead(_ context.Context, call *tool.Call, _ todoReadInput) (*plan, error) {
	return &plan{
		asks: []ask{{req: todoRequest("todoread", "Read the todo list")}},
		apply: func(context.Context, *tool.Call) (*outcome, error) {
			own, parents := ts.todos.read(call.SessionID)
			res := todoResult(own)
			if len(parents) > 0 {
				res.Text += "\n\nThe list of the session that started this one (it cannot be changed here):\n" + todoText(parents)
				res.Metadata["parent"] = parents
			}
			return &outcome{result: res}, nil
		},
	}, nil
}

func todoResult(list []Todo) *tool.Result {
	open := 0
	for _, t := range list {
		if t.Status.open() {
			open++
		}
	}
	return &tool.Result{
		Title: plural(open, "todo"), Text: todoText(list),
		Metadata: map[string]any{"todos": append([]Todo{}, list...), "open": open},
	}
}

// todoText is the list as a model reads it, one line an item.
func todoText(list []Todo) string {
	if len(list) == 0 {
		return "The todo list is empty."
	}
	done := 0
	var b strings.Builder
	for _, t := range list {
		mark := " "
		switch t.Status {
		case TodoInProgress:
			mark = ">"
		case TodoCompleted:
			mark = "x"
			done++
		case TodoCancelled:
			mark = "-"
		}
		fmt.Fprintf(&b, "\n%s [%s] %s", oneLine(t.ID), mark, oneLine(t.Content))
		if t.Priority != "" && t.Status.open() {
			b.WriteString(" (" + t.Priority + ")")
		}
	}
	return fmt.Sprintf("%d of %d done ([>] in progress, [x] completed, [-] cancelled)", done, len(list)) + b.String()
}

func ids(list []Todo) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.ID
	}
	return out
}

// Todos returns the session's list as it is now, nil if it is empty. It is the
// caller's own, and marshals to JSON for the host to keep; [Toolset.SetTodos]
// takes it back.
func (ts *Toolset) Todos(sessionID string) []Todo {
	own, _ := ts.todos.read(sessionID)
	return own
}

// SetTodos puts list in the place of the session's, as when a session is resumed
// or the user edits it. Nil clears it. Items without an id get one. Ids that
// appear twice, empty or overlong content, unknown states and priorities, two
// items in progress, and more than 100 items are an error, and alter nothing.
// [Config.OnTodoChange] is not called.
func (ts *Toolset) SetTodos(sessionID string, list []Todo) error {
	return ts.todos.set(sessionID, list)
}
