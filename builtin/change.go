package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenttool/tool/internal/diff"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/match"
	"github.com/agenttool/tool/internal/textfile"
)

// change is what becomes of one file.
type change struct {
	op textfile.Op
	l  location
	at *fsroot.Path // l, as it can be opened

	to   location // of a move: where to
	toAt *fsroot.Path

	raw   []byte         // what the file holds; nil for a new one
	old   *textfile.File // the same as text; nil for a new file and for one that is no text
	state textfile.State
	known knowledge

	after   []byte            // what it will hold; nil after Delete, and for a Move of it as it is
	newText string            // the same as text
	new     *textfile.File    // the same; nil if it is no text
	splices []textfile.Splice // what is replaced in a file too large to be held, in the place of all the above
	spans   []textfile.Span   // how old becomes new; nil if it is written anew

	places []match.Place // where the edit matched
	other  string        // another file that has the text, of an edit that did not match
	notes  []string      // for the result
	syntax []string      // errors that after has and raw has not
	view   string        // what to show of the result in the place of its lines
	script bool          // the file gets the execute bits
	back   bool          // it takes back an earlier change

	formatting  string // what the host's formatter changed, for the result
	unformatted string // why it changed nothing

	diff    *diff.Diff
	unified string
}

// replaces reports whether the change gives the file other content.
func (c *change) replaces() bool {
	return c.op == textfile.Create || c.op == textfile.Update || c.op == textfile.Move && c.after != nil
}

// name is how the file is called afterwards, for a result.
func (c *change) name() string {
	if c.op == textfile.Move {
		return c.to.display
	}
	return c.l.display
}

// openFile begins the change of the file at l, which need not exist. What is
// opened is given up with p.
func (ts *Toolset) openFile(p *plan, l location) (*change, error) {
	c := &change{l: l, op: textfile.Update}
	if l.Kernel {
		return nil, &fsroot.PathError{Path: l.given, Why: "is a file of the kernel; use bash if it must be written", Err: fsroot.ErrSpecial}
	}
	if l.info != nil && !l.Link {
		if err := fsroot.CheckRegular(l.given, l.info.Mode()); err != nil {
			return nil, err
		}
	}
	at, done, err := ts.fsys.reach(l)
	if err != nil {
		return nil, err
	}
	p.done = append(p.done, done)
	c.at = at
	if !l.exists() {
		c.op = textfile.Create
	}
	return c, nil
}

// readFile fills in what the file holds now, and what the session knows of it.
func (ts *Toolset) readFile(ctx context.Context, sessionID string, c *change) error {
	err := atRest(ctx, func() (err error) {
		c.raw, c.state, err = textfile.ReadFile(ctx, ts.fsys.root, c.at, ts.limits.FileBytes)
		return err
	})
	if err != nil {
		return readError(c.l, errTooLarge(c, err))
	}
	c.known = ts.memory.check(sessionID, c.l, c.state)
	c.old, err = textfile.Decode(c.raw, ts.decodeOptions(c.at))
	if errors.Is(err, textfile.ErrBinary) {
		return nil
	}
	return err
}

// atRest tries f again while the file that it reads is being replaced by others.
func atRest(ctx context.Context, f func() error) error {
	const tries = 12
	wait := time.Millisecond
	for i := 1; ; i++ {
		err := f()
		if i == tries || !errors.Is(err, fsroot.ErrChanged) && !errors.Is(err, textfile.ErrUnstable) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		wait = min(2*wait, 50*time.Millisecond)
	}
}

// text returns the file's text, or why it cannot be edited as text.
func (c *change) text() (string, error) {
	if c.old == nil {
		return "", fmt.Errorf("%s is a binary file; it can only be changed with a command", oneLine(c.l.given))
	}
	if err := c.old.Editable(); err != nil {
		return "", fmt.Errorf("%s: %w", oneLine(c.l.given), err)
	}
	return c.old.Text, nil
}

// edit makes spans of the text the change of the file.
func (c *change) edit(spans []match.Span) error {
	c.spans = make([]textfile.Span, len(spans))
	for i, s := range spans {
		c.spans[i] = textfile.Span{Start: s.Start, End: s.End, New: s.Text}
	}
	after, err := c.old.Apply(c.spans)
	if err != nil {
		return c.encodeError(err)
	}
	return c.become(after)
}

// become sets what the file will hold.
func (c *change) become(after []byte) error {
	c.after = after
	opts := &textfile.DecodeOptions{}
	if c.old != nil {
		opts.Charset = c.old.Encoding.Name
	}
	var err error
	if c.new, err = textfile.Decode(after, opts); err != nil {
		return fmt.Errorf("%s would no longer be a text file; nothing was changed", oneLine(c.l.given))
	}
	c.newText = c.new.Text
	return nil
}

// encodeError says what to do about a character that the file's encoding lacks.
func (c *change) encodeError(err error) error {
	var e *textfile.EncodeError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", oneLine(c.l.given), err)
	}
	return fmt.Errorf("%s is stored as %s, which has no %q (U+%04X); nothing was changed. Do without it, or convert the file: write it whole with encoding \"utf-8\"",
		oneLine(c.l.given), e.Encoding, e.Rune, e.Rune)
}

const (
	diffLimit   = 100 * time.Millisecond
	foreignDiff = 40 // lines
)

// foreign says what changed in the file since the session saw it; "" if nothing did.
func (c *change) foreign() string {
	k := c.known
	if !k.Known || k.Fresh {
		return ""
	}
	by := ""
	if k.By != "" {
		by = ", by another session,"
	}
	if k.Before == nil {
		return "The file changed" + by + " since you read it; read it again to see how."
	}
	before, err := textfile.Decode(k.Before, nil)
	if err != nil || c.old == nil {
		return "The file changed" + by + " since you read it."
	}
	d := diff.Compute(before.Text, c.old.Text, &diff.Options{Context: 1, Timeout: diffLimit})
	if len(d.Hunks) == 0 {
		return "The file changed" + by + " since you read it, in line ends or encoding only."
	}
	return "The file changed" + by + " since you read it:\n" + visible(strings.TrimRight(d.Compact(foreignDiff), "\n"))
}

// diffText is a file's text for a diff: with its line ends, and whatever cannot be
// shown as U+FFFD.
func diffText(f *textfile.File, raw []byte) string {
	switch {
	case f == nil:
		return clean(raw)
	case f.Encoding.Plain():
		return clean(raw)
	case f.Encoding.Name == "utf-8" || f.Encoding.Name == "":
		return clean(bytes.TrimPrefix(raw, bom))
	}
	if f.EOL == textfile.EOLCRLF {
		return strings.ReplaceAll(f.Text, "\n", "\r\n")
	}
	return f.Text
}

// compare computes the diff of the change.
func (c *change) compare() {
	if c.splices != nil {
		return // done when they were found
	}
	c.diff = diff.Compute(c.beforeText(), c.afterText(), &diff.Options{Timeout: diffLimit})
	h := diff.Header{Old: c.l.display, New: c.name(), Created: c.op == textfile.Create, Deleted: c.op == textfile.Delete}
	switch {
	case c.op == textfile.Move, (h.Created || h.Deleted) && len(c.diff.Hunks) == 0:
		h.Executable = c.script || c.l.info != nil && c.l.info.Mode().Perm()&0o111 != 0
		c.unified = c.diff.Git(h)
	case h.Created:
		c.unified = c.diff.Unified(diff.DevNull, "b/"+h.New)
	case h.Deleted:
		c.unified = c.diff.Unified("a/"+h.Old, diff.DevNull)
	default:
		c.unified = c.diff.Unified("a/"+h.Old, "b/"+h.New)
	}
}

func (c *change) beforeText() string {
	if c.raw == nil {
		return ""
	}
	return diffText(c.old, c.raw)
}

func (c *change) afterText() string {
	switch {
	case c.op == textfile.Delete:
		return ""
	case c.after == nil:
		return c.beforeText()
	}
	return diffText(c.new, c.after)
}

// effect is what an approval of the change depends on: what is done to which
// file, and the lines removed and added, or all bytes if lines do not show it.
func (c *change) effect() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %s\n", c.op, c.l.abs, c.to.abs)
	if c.splices != nil {
		fmt.Fprintf(&b, "%d %d\n", len(c.splices), c.splices[0].End-c.splices[0].Start)
	}
	faithful := c.op != textfile.Delete && (c.old == nil || c.old.Encoding.Plain()) && (c.new == nil || c.new.Encoding.Plain())
	if !faithful || c.diff.Coarse || len(c.diff.Hunks) == 0 {
		fmt.Fprintf(&b, "%x %x", textfile.Sum(c.raw), textfile.Sum(c.after))
		return b.String()
	}
	for _, h := range c.diff.Hunks {
		for _, l := range h.Lines {
			if l.Op != diff.Equal {
				fmt.Fprintf(&b, "%d%v%s\n", l.Op, l.NoEOL, l.Text)
			}
		}
	}
	return b.String()
}
