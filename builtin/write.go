package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/textfile"
)

//go:embed write.md
var writeDescription string

type writeInput struct {
	FilePath string `json:"filePath" jsonschema:"file to write, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	Content  string `json:"content" jsonschema:"the whole new content" alias:"contents,text,file_text,fileText"`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf-8 converts a file that is stored otherwise" enum:"utf-8"`
}

func defineWrite(ts *Toolset) (operation, error) {
	return defineChange(ts, tool.Def{
		Name: "write", Title: "Write", Description: strings.TrimSpace(writeDescription),
		Hints:   tool.Hints{Destructive: true, Idempotent: true},
		Aliases: []string{"write_file", "create_file", "create", "save_file"},
	}, ts.planWrite)
}

func (ts *Toolset) planWrite(ctx context.Context, a *attempt, in writeInput) (*plan, error) {
	l, err := ts.fsys.resolve(in.FilePath)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	c, err := ts.planContent(ctx, a, p, l, in)
	var same *unchangedError
	if errors.As(err, &same) && ts.open(l) {
		p.release()
		return &plan{apply: func(context.Context, *tool.Call) (*outcome, error) { return &outcome{result: same.result()}, nil }}, nil
	}
	return ts.planChanges(ctx, a, p, []location{l}, contentChanges(c), err)
}

// contentChanges is the change of a file that is written whole.
func contentChanges(c *change) *changes {
	if c == nil {
		return nil
	}
	cs := &changes{list: []*change{c}, report: reportWrite, title: "Overwrite " + oneLine(c.l.display)}
	if c.op == textfile.Create {
		cs.title = "Create new file " + oneLine(c.l.display)
	}
	return cs
}

// unchangedError says that a file has the content already that it was to get.
type unchangedError struct{ l location }

func (e *unchangedError) Error() string {
	return fmt.Sprintf("%s already has exactly this content; nothing was written", oneLine(e.l.given))
}

func (e *unchangedError) result() *tool.Result {
	return &tool.Result{Title: e.l.display, Text: e.Error() + ".", Metadata: map[string]any{
		"filepath": e.l.abs, "exists": true, "diff": "", "unchanged": true, "diagnostics": map[string]any{},
	}}
}

// planContent is the change of a file's content altogether.
func (ts *Toolset) planContent(ctx context.Context, a *attempt, p *plan, l location, in writeInput) (*change, error) {
	if len(in.Content) > ts.limits.WriteBytes {
		return nil, fmt.Errorf("the content has %d bytes, more than the %d that write takes; write the file in parts with bash", len(in.Content), ts.limits.WriteBytes)
	}
	c, err := ts.openFile(p, l)
	if err != nil {
		return nil, err
	}
	if c.op == textfile.Create {
		settings := textfile.Settings{}
		if !ts.cfg.IgnoreSettings {
			settings = textfile.ReadSettings(ts.fsys.root, c.at)
		}
		if in.Encoding != "" {
			settings.Charset = in.Encoding
		}
		after, err := textfile.EncodeNew(in.Content, settings)
		if err != nil {
			return nil, c.encodeError(err)
		}
		c.script = ts.cfg.ExecutableScripts && strings.HasPrefix(in.Content, "#!")
		return c, c.become(after)
	}
	if err := ts.readFile(ctx, a.call.SessionID, c); err != nil {
		return nil, err
	}
	after, err := c.replace(in)
	if err == nil && string(after) == string(c.raw) {
		return nil, &unchangedError{l}
	}
	if known := ts.checkKnown(c); known != nil {
		return nil, known
	}
	if err != nil {
		return nil, err
	}
	if err := ts.checkShrink(c, in.Content); err != nil {
		return nil, err
	}
	return c, c.become(after)
}

// replace returns the bytes of the file with the content put in its place, in the
// form that the file has.
func (c *change) replace(in writeInput) ([]byte, error) {
	f := c.old
	if f == nil {
		if len(c.raw) > 0 {
			return nil, fmt.Errorf("%s is a binary file; delete it first if it is to become a text", oneLine(c.l.given))
		}
		return textfile.EncodeNew(in.Content, textfile.Settings{})
	}
	if in.Encoding != "" && !f.Encoding.Plain() {
		var err error
		if f, err = f.AsUTF8(); err != nil {
			return nil, fmt.Errorf("%s: %w", oneLine(c.l.given), err)
		}
	}
	after, err := f.Replace(in.Content)
	if err != nil {
		return nil, c.encodeError(err)
	}
	return after, nil
}

// checkKnown refuses to replace what the session has not seen.
func (ts *Toolset) checkKnown(c *change) error {
	if len(c.raw) == 0 {
		return nil
	}
	name := oneLine(c.l.given)
	k := c.known
	switch {
	case !k.shown:
		return ts.refuseUnread(c)
	case !k.Fresh:
		return fmt.Errorf("%s was not written, because it changed since it was read. %s\nRead it again, or change parts of it with edit", name, c.foreign())
	case c.old != nil && !k.Record.SawAll():
		n := c.old.Lines()
		return fmt.Errorf("%s was not written: of its %s, lines %s were never shown to you. Read them first, or change parts of it with edit",
			name, plural(n, "line"), rangesText(k.Record.Unseen(1, n)))
	}
	return nil
}

const firstLines = 20 // of a file that was not read, in the refusal to overwrite it

// refuseUnread refuses to overwrite a file that the session does not know, and
// shows how it begins to who may read it.
func (ts *Toolset) refuseUnread(c *change) error {
	name := oneLine(c.l.given)
	if c.old == nil {
		return fmt.Errorf("%s already exists (a binary file of %d bytes); nothing was written. Choose another name, or delete it first", name, len(c.raw))
	}
	n := c.old.Lines()
	plain := fmt.Errorf("%s already exists (%s, %d bytes) and was not read in this session; nothing was written. Read it first, or change parts of it with edit", name, plural(n, "line"), len(c.raw))
	var b strings.Builder
	for i, l := range splitLines(c.old.Text) {
		if i == firstLines {
			break
		}
		fmt.Fprintf(&b, "\n%d\t%s", i+1, visible(cutLine(strings.TrimSuffix(l, "\n"), 200)))
	}
	more := ""
	if n > firstLines {
		more = "\n…"
	}
	return &shownError{err: fmt.Errorf("%w. It begins:%s%s", plain, b.String(), more), plain: plain, places: []location{c.l}}
}

// checkShrink refuses content that leaves out most of a file and says so in a
// line that stands for it. Shrinking alone is noted.
func (ts *Toolset) checkShrink(c *change, content string) error {
	const large = 50
	before, after := countLines(c.old.Text), countLines(content)
	if before <= large || after*2 >= before {
		return nil
	}
	if !ts.cfg.AllowPlaceholders {
		if _, err := match.Find(c.old.Text, match.Edit{Old: c.old.Text, New: content}); errors.Is(err, match.ErrPlaceholder) {
			return fmt.Errorf("%s was not written: it has %d lines, and the new content has %d, one of which stands for code that was left out. Give the whole content, or change parts of it with edit", oneLine(c.l.given), before, after)
		}
	}
	c.notes = append(c.notes, fmt.Sprintf("the file had %d lines and has %d now; if that was not meant, take it back with edit and undo", before, after))
	return nil
}

func reportWrite(cs *changes) string {
	c := cs.list[0]
	name := oneLine(c.l.display)
	var b strings.Builder
	if c.op == textfile.Create {
		fmt.Fprintf(&b, "Created %s (%s).", name, plural(countLines(c.newText), "line"))
	} else {
		fmt.Fprintf(&b, "Overwrote %s (+%d -%d lines, now %d).", name, c.diff.Additions, c.diff.Deletions, countLines(c.newText))
	}
	c.writeNotes(&b)
	return b.String()
}

// writeNotes adds what else there is to say about a change.
func (c *change) writeNotes(b *strings.Builder) {
	for _, n := range c.notes {
		b.WriteString("\nNote: " + n + ".")
	}
	if c.formatting != "" {
		b.WriteString("\n" + c.formatting)
	}
	if len(c.syntax) > 0 {
		fmt.Fprintf(b, "\nSyntax errors that were not there before:\n%s", visible(strings.Join(c.syntax, "\n")))
	}
}
