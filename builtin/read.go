package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
)

//go:embed read.md
var readDescription string

type readInput struct {
	FilePath   string      `json:"filePath" jsonschema:"file or directory, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	Offset     int         `json:"offset,omitempty" jsonschema:"first line to show, from 1; -100: the last 100 lines" alias:"start_line,startLine"`
	Limit      int         `json:"limit,omitempty" jsonschema:"number of lines to show (default 2000)" minimum:"1" alias:"num_lines,max_lines,maxLines"`
	LineOffset int         `json:"lineOffset,omitempty" jsonschema:"characters of the first line to skip, to page through a very long line" minimum:"0" alias:"line_offset"`
	Ranges     []readRange `json:"ranges,omitempty" jsonschema:"several stretches at once, in place of offset and limit" maxItems:"50"`
	Pages      string      `json:"pages,omitempty" jsonschema:"pages of a PDF, as 1-5,9 (default: the first 10)"`
	Raw        bool        `json:"raw,omitempty" jsonschema:"show a notebook as the JSON that it is"`
}

type readRange struct {
	Offset int `json:"offset" jsonschema:"first line, from 1" alias:"start,start_line,startLine"`
	Limit  int `json:"limit" jsonschema:"number of lines" minimum:"1" alias:"num_lines"`
}

func defineRead(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "read", Title: "Read", Description: strings.TrimSpace(readDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"read_file", "view", "view_file", "open_file", "cat"},
	}, ts.planRead)
}

func (ts *Toolset) planRead(ctx context.Context, call *tool.Call, in readInput) (*plan, error) {
	l, note, err := ts.find(ctx, in.FilePath)
	if err != nil {
		return nil, err
	}
	p := &plan{asks: ts.spared(call, l, ts.askRead(l))}
	fail := ts.missing(ctx, l)
	if fail == nil {
		fail = checkKind(in.FilePath, l.info.Mode())
	}
	if fail != nil {
		if ts.open(l) {
			return nil, fail
		}
		p.fail = fail
		return p, nil
	}
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		at, done, err := ts.fsys.reach(l)
		if err != nil {
			return nil, err
		}
		defer done()
		var res *tool.Result
		if l.isDir() {
			res, err = ts.listing(ctx, l, listInput{Depth: 1, Offset: in.Offset, Limit: in.Limit}, "read")
		} else {
			r := &reading{ts: ts, ctx: ctx, call: call, l: l, at: at, in: in}
			res, err = r.result()
			if err == nil {
				ts.lookedAt(l)
			}
		}
		if err != nil {
			return nil, err
		}
		if note != "" {
			res.Text = "(" + note + ")\n" + res.Text
		}
		return &outcome{result: res}, nil
	}
	return p, nil
}

// open reports whether what is known of l may be told before anybody was asked.
func (ts *Toolset) open(l location) bool { return (l.inside || l.spill) && !l.secret }

// askOutside returns the question for a location that no root covers.
func (ts *Toolset) askOutside(l location) []ask {
	if l.inside {
		return nil
	}
	return ts.askScopes([]string{l.scope()}, l.abs, l.Kernel)
}

// askScopes is the question for directories outside of the root, or for a file
// that the kernel makes up, which takes a grant of exactly that name.
func (ts *Toolset) askScopes(scopes []string, name string, exact bool) []ask {
	patterns := make([]string, len(scopes))
	for i, s := range scopes {
		patterns[i] = dirPattern(s)
		if exact {
			patterns[i] = filepath.ToSlash(s)
		}
	}
	return []ask{{req: &tool.Request{
		Permission: "external_directory",
		Title:      "Access " + strings.Join(slashed(scopes), ", ") + ", outside the project",
		Patterns:   patterns, Always: patterns, Protected: exact,
		Metadata: map[string]any{"filepath": name, "parentDir": scopes[0]},
	}}}
}

func slashed(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = oneLine(filepath.ToSlash(n))
	}
	return out
}

func dirPattern(dir string) string {
	return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/*"
}

// spared drops the questions about what belongs to a skill that the session was given.
func (ts *Toolset) spared(call *tool.Call, l location, asks []ask) []ask {
	if len(asks) > 0 && ts.ofSkill(call.SessionID, l) {
		return nil
	}
	return asks
}

// askRead returns the questions for reading l: none for kept output of our own.
func (ts *Toolset) askRead(l location) []ask {
	if l.spill {
		return nil
	}
	return append(ts.askOutside(l), ask{req: readRequest(l)})
}

func readRequest(l location) *tool.Request {
	return pathRequest("read", "Read "+oneLine(l.display), l.display, l.secret)
}

// pathRequest is a question about one file. What is protected is granted for
// that file at most.
func pathRequest(permission, title, name string, guarded bool) *tool.Request {
	r := &tool.Request{
		Permission: permission, Title: title, Patterns: []string{name}, Always: []string{"*"}, Protected: guarded,
		Metadata: map[string]any{"filepath": name},
	}
	if guarded {
		r.Always = []string{name}
	}
	return r
}

// find resolves the name of something that should exist. If it does not, but one
// name beside it differs only in how its characters are stored, that is taken,
// and note says so.
func (ts *Toolset) find(ctx context.Context, name string) (l location, note string, err error) {
	if l, err = ts.fsys.resolve(name); err != nil || l.exists() || !l.inside {
		return l, "", err
	}
	same := ts.fsys.root.Suggest(ctx, l.Path).Same
	if same == "" {
		return l, "", nil
	}
	other, err := ts.fsys.resolve(same)
	if err != nil || !other.exists() || !other.inside {
		return l, "", nil
	}
	return other, fmt.Sprintf("there is no %q; this is %q, whose name differs only in blanks or in how characters are encoded", name, same), nil
}

// missing says that l does not exist, with names that may have been meant.
func (ts *Toolset) missing(ctx context.Context, l location) error {
	if l.exists() {
		return nil
	}
	if l.Dangling {
		return fmt.Errorf("%s is a link to %s, which does not exist", oneLine(l.given), oneLine(l.display))
	}
	at := l.Path
	if p, done, err := ts.fsys.reach(l); err == nil {
		defer done()
		at = p
	}
	dir, err := ts.fsys.resolve(filepath.Dir(l.abs))
	hint := "Find it with glob, or list its directory with ls"
	if err != nil || !dir.isDir() {
		hint = "Its directory does not exist either; find the file with glob"
	}
	names := ts.fsys.root.Suggest(ctx, at).Paths
	if len(names) > 0 {
		for i, n := range names { // in the form that was used
			if filepath.IsAbs(l.given) && !path.IsAbs(n) {
				names[i] = path.Join(filepath.ToSlash(ts.fsys.dir), n)
			}
		}
		hint = "Did you mean " + strings.Join(quoted(names), " or ") + "?"
	}
	return &notFoundError{fmt.Sprintf("file not found: %s. %s", oneLine(clip(l.given, 300)), hint)}
}

// notFoundError says that a file does not exist.
type notFoundError struct{ text string }

func (e *notFoundError) Error() string { return e.text }

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		if out[i] = visible(n); out[i] != n || strings.ContainsAny(n, " ,") {
			out[i] = fmt.Sprintf("%q", n)
		}
	}
	return out
}

// decodeOptions says what is known of how the file at p is encoded.
func (ts *Toolset) decodeOptions(p *fsroot.Path) *textfile.DecodeOptions {
	o := &textfile.DecodeOptions{Default: ts.cfg.Charset}
	if !ts.cfg.IgnoreSettings {
		o.Charset = textfile.ReadSettings(ts.fsys.root, p).Charset
	}
	return o
}

// readError puts the file's name before an error that does not name it.
func readError(l location, err error) error {
	var named *fsroot.PathError
	if errors.As(err, &named) || strings.HasPrefix(err.Error(), l.display+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", oneLine(l.given), plainError(err))
}
