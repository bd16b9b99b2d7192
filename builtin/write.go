package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // descriptions
	"fmt"
	"io/fs"
	"strings"

	"github.com/agenttool/tool"
)

//go:embed write.md
var writeDescription string

type writeInput struct {
	FilePath string `json:"filePath" jsonschema:"file to write, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	Content  string `json:"content" jsonschema:"the whole new content" alias:"contents,text,file_text,fileText"`
}

func defineWrite(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "write", Title: "Write", Description: strings.TrimSpace(writeDescription),
		Hints:   tool.Hints{Destructive: true, Idempotent: true},
		Aliases: []string{"write_file", "create_file", "create", "save_file"},
	}, ts.planWrite)
}

func (ts *Toolset) planWrite(ctx context.Context, call *tool.Call, in writeInput) (*plan, error) {
	l, err := ts.fsys.resolve(in.FilePath)
	if err != nil {
		return nil, err
	}
	c, err := ts.planContent(ctx, call, l, in.Content)
	return ts.planChange(l, "Overwrite ", c, err)
}

// change is new content for one file.
type change struct {
	l      location
	before []byte
	after  []byte
	info   fs.FileInfo // of the file as it was read; nil for a new one
	diff   difference
	whole  bool   // the session knows all of after
	note   string // for the result, if the file was not what the session had read
	report func(*change) string
}

// planContent is the plan of replacing a file's content altogether.
func (ts *Toolset) planContent(ctx context.Context, call *tool.Call, l location, content string) (*change, error) {
	c := &change{l: l, after: []byte(content), whole: true, report: reportWrite}
	if int64(len(content)) > ts.limits.FileBytes {
		return c, fmt.Errorf("the content has %d bytes, more than the %d that write takes; write it in parts with bash", len(content), ts.limits.FileBytes)
	}
	if !l.exists() {
		return c, nil
	}
	if err := ts.readBefore(ctx, c); err != nil {
		return c, err
	}
	if err := ts.checkKnown(call, c); err != nil {
		return c, err
	}
	c.after = keepForm(c.before, content)
	if bytes.Equal(c.before, c.after) {
		return c, fmt.Errorf("%s already has exactly this content; nothing was changed", l.given)
	}
	return c, nil
}

// readBefore fills in what the file holds now.
func (ts *Toolset) readBefore(ctx context.Context, c *change) error {
	if err := checkKind(c.l.given, c.l.info.Mode()); err != nil {
		return err
	}
	if c.l.isDir() {
		return fmt.Errorf("%s is a directory; name a file in it", c.l.given)
	}
	var err error
	c.before, c.info, err = ts.fsys.readFile(ctx, c.l, ts.limits.FileBytes)
	return err
}

// checkKnown refuses to replace what the session has not seen.
func (ts *Toolset) checkKnown(call *tool.Call, c *change) error {
	if len(c.before) == 0 {
		return nil
	}
	s, ok := ts.seen.get(call.SessionID, c.l.abs)
	n := countLines(c.before)
	switch {
	case !ok:
		return fmt.Errorf("%s already exists (%s) and was not read in this session; nothing was written. Read it first, or change parts of it with edit", c.l.given, plural(n, "line"))
	case !s.is(c.before, c.info):
		return fmt.Errorf("%s changed since it was read; nothing was written. Read it again, or change parts of it with edit", c.l.given)
	case !s.whole():
		return fmt.Errorf("%s has %s, of which only %s were read; nothing was written. Read the rest, or change parts of it with edit", c.l.given, plural(n, "line"), spansText(s.shown))
	}
	return nil
}

func spansText(spans []span) string {
	if len(spans) == 0 {
		return "none"
	}
	var parts []string
	for _, s := range spans {
		parts = append(parts, fmt.Sprintf("%d-%d", s.from, s.to))
	}
	return strings.Join(parts, ", ")
}

// keepForm gives content the line endings and the byte order mark of the file
// that it replaces, unless it brings CR LF itself.
func keepForm(before []byte, content string) []byte {
	if mostlyCRLF(before) && !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	if bytes.HasPrefix(before, bom) && !strings.HasPrefix(content, string(bom)) {
		content = string(bom) + content
	}
	return []byte(content)
}

// planChange makes a plan of a change, or of its failure if err is not nil. verb
// is for the prompt, if there is a file already.
func (ts *Toolset) planChange(l location, verb string, c *change, err error) (*plan, error) {
	if err != nil && l.inside && ts.open(l) {
		return nil, err
	}
	p := &plan{asks: ts.askOutside(l), locks: []string{l.abs}, fail: err}
	if !l.exists() {
		verb = "Create new file "
	}
	req := pathRequest("edit", verb+l.display, l.display, l.secret || l.protected)
	a := ask{req: req}
	if err == nil {
		c.diff = diff(l.display, clean(c.before), clean(c.after))
		req.Metadata["diff"] = c.diff.unified
		a.effect = c.effect()
	}
	p.asks = append(p.asks, a)
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) { return ts.applyChange(call, c) }
	return p, nil
}

// effect is what an approval of c depends on: the lines removed and added, and
// the bytes if the lines do not show all of the difference.
func (c *change) effect() string {
	if c.diff.unified == "" || !bytes.Equal([]byte(clean(c.after)), c.after) {
		return digest(sha256.Sum256(c.before)).String() + digest(sha256.Sum256(c.after)).String()
	}
	return c.diff.touched
}

func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// applyChange writes the file. It runs under the file's lock, and c was planned
// under it too.
func (ts *Toolset) applyChange(call *tool.Call, c *change) (*outcome, error) {
	if err := ts.fsys.write(c.l, c.after); err != nil {
		return nil, err
	}
	var info fs.FileInfo
	if now, err := ts.fsys.resolve(c.l.abs); err == nil {
		info = now.info
	}
	ts.seen.wrote(call.SessionID, c.l.abs, c.after, info, c.whole)
	fc := FileChange{Path: c.l.abs, After: digest(sha256.Sum256(c.after)).String()}
	if c.info != nil {
		fc.Before = digest(sha256.Sum256(c.before)).String()
	}
	return &outcome{
		result: &tool.Result{
			Title: c.l.display, Text: c.report(c),
			Metadata: map[string]any{
				"filepath": c.l.abs, "exists": c.info != nil,
				"diff": c.diff.unified, "filediff": c.fileDiff(), "diagnostics": map[string]any{},
			},
		},
		changes: []FileChange{fc},
	}, nil
}

// maxShown bounds the texts in the metadata; beyond it only the diff is given.
const maxShown = 1 << 20

func (c *change) fileDiff() map[string]any {
	d := map[string]any{
		"file": c.l.abs, "before": "", "after": "",
		"additions": c.diff.additions, "deletions": c.diff.deletions,
	}
	if len(c.before)+len(c.after) <= maxShown {
		d["before"], d["after"] = clean(c.before), clean(c.after)
	}
	return d
}

func reportWrite(c *change) string {
	if c.info == nil {
		return fmt.Sprintf("Created %s (%s).", c.l.display, plural(countLines(c.after), "line"))
	}
	return fmt.Sprintf("Overwrote %s (+%d -%d lines, now %d).", c.l.display, c.diff.additions, c.diff.deletions, countLines(c.after))
}
