package builtin

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed" // descriptions
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenttool/tool"
)

//go:embed read.md
var readDescription string

type readInput struct {
	FilePath string `json:"filePath" jsonschema:"file or directory, relative to the project or absolute" alias:"file_path,path,file,filename,filepath"`
	Offset   int    `json:"offset,omitempty" jsonschema:"first line to show, from 1" minimum:"0" alias:"start_line,startLine"`
	Limit    int    `json:"limit,omitempty" jsonschema:"number of lines to show (default 2000)" minimum:"1" alias:"num_lines,max_lines,maxLines"`
}

func defineRead(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "read", Title: "Read", Description: strings.TrimSpace(readDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"read_file", "view", "view_file", "open_file", "cat"},
	}, ts.planRead)
}

func (ts *Toolset) planRead(_ context.Context, _ *tool.Call, in readInput) (*plan, error) {
	l, err := ts.fsys.resolve(in.FilePath)
	if err != nil {
		return nil, err
	}
	p := &plan{asks: ts.askRead(l)}
	fail := ts.missing(l)
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
	from, limit := max(in.Offset, 1), in.Limit
	if limit == 0 {
		limit = ts.limits.ReadLines
	}
	p.apply = func(ctx context.Context, call *tool.Call) (*outcome, error) {
		if l.isDir() {
			return ts.listDir(l, from, limit)
		}
		return ts.readText(ctx, call, l, from, limit)
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
	dir := l.scope()
	pattern := dirPattern(dir)
	return []ask{{req: &tool.Request{
		Permission: "external_directory",
		Title:      "Access " + filepath.ToSlash(dir) + ", outside the project",
		Patterns:   []string{pattern}, Always: []string{pattern},
		Metadata: map[string]any{"filepath": l.abs, "parentDir": dir},
	}}}
}

func dirPattern(dir string) string {
	return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/*"
}

// askRead returns the questions for reading l: none for kept output of our own.
func (ts *Toolset) askRead(l location) []ask {
	if l.spill {
		return nil
	}
	return append(ts.askOutside(l), ask{req: pathRequest("read", "Read "+l.display, l.display, l.secret)})
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

// missing says that l does not exist, with names that may have been meant.
func (ts *Toolset) missing(l location) error {
	if l.exists() {
		return nil
	}
	if l.dangling {
		return fmt.Errorf("%s leads to %s, which does not exist", l.given, l.display)
	}
	dir := path.Dir(filepath.ToSlash(l.given))
	parent, err := ts.fsys.resolve(filepath.Dir(l.abs))
	if err != nil || !parent.isDir() {
		return fmt.Errorf("file not found: %s. Its directory does not exist either; find the file with glob", l.given)
	}
	list, err := ts.fsys.entries(parent)
	if err == nil {
		if names := similar(filepath.Base(l.abs), list, 3); len(names) > 0 {
			for i, n := range names {
				names[i] = path.Join(dir, n)
			}
			return fmt.Errorf("file not found: %s. Did you mean %s?", l.given, strings.Join(names, " or "))
		}
	}
	return fmt.Errorf("file not found: %s. Find it with glob, or list its directory with read", l.given)
}

// listDir shows what is in a directory, a page at a time.
func (ts *Toolset) listDir(l location, from, limit int) (*outcome, error) {
	list, err := ts.fsys.entries(l)
	if err != nil {
		return nil, err
	}
	const most = 200 // entries, unless a limit says otherwise
	if limit == ts.limits.ReadLines {
		limit = min(limit, most)
	}
	var b strings.Builder
	shown := 0
	for i := from - 1; i < len(list) && shown < limit && b.Len() < ts.limits.ReadBytes; i++ {
		e := list[i]
		name := visible(e.Name())
		switch {
		case e.IsDir():
			name += "/"
		case e.Type()&fs.ModeSymlink != 0:
			name += "@"
		}
		b.WriteString(name + "\n")
		shown++
	}
	cut := from-1+shown < len(list)
	switch {
	case len(list) == 0:
		b.WriteString("(empty directory)")
	case shown == 0:
		fmt.Fprintf(&b, "(the directory has %s; offset %d is beyond the end)", entriesWord(len(list)), from)
	case cut:
		fmt.Fprintf(&b, "(entries %d-%d of %d; use offset=%d to see more)", from, from+shown-1, len(list), from+shown)
	}
	return &outcome{result: &tool.Result{
		Title: l.display, Text: strings.TrimRight(b.String(), "\n"),
		Metadata: map[string]any{"preview": preview(b.String()), "truncated": cut, "entries": len(list)},
	}}, nil
}

func entriesWord(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

const (
	// hashLimit is the size of files that are told apart by content. Larger ones
	// are told apart by size and time, so that reading a part stays quick.
	hashLimit = 16 << 20
	// countLimit is how far beyond the lines shown the rest is counted.
	countLimit = 16 << 20
	// lastLines are shown when the offset is beyond the end.
	lastLines = 5
	tailRunes = 200 // of each
)

// page is what scanLines found.
type page struct {
	text  strings.Builder
	first int // line numbers of what is shown; last is 0 if nothing is
	last  int
	lines int  // that were counted
	more  bool // the end was not reached
	full  bool // the byte limit ended it
	cr    int  // lines that end in CR LF
	tail  []string
}

// readText shows lines of a text file. It reads no more than it must and never
// holds more than it shows.
func (ts *Toolset) readText(ctx context.Context, call *tool.Call, l location, from, limit int) (*outcome, error) {
	file, info, err := ts.fsys.open(l)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := bufio.NewReaderSize(&ctxReader{ctx, file}, 64<<10)
	head, err := r.Peek(sniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", l.given, plainError(err))
	}
	if isBinary(head) {
		return binaryResult(l, info, head), nil
	}
	hasBOM := strings.HasPrefix(string(head[:min(3, len(head))]), string(bom))
	var sum hash.Hash
	if info.Size() <= hashLimit {
		sum = sha256.New()
	}
	pg := page{first: from}
	if err := ts.scanLines(r, sum, &pg, from, limit); err != nil {
		return nil, fmt.Errorf("%s: %w", l.given, plainError(err))
	}
	ts.remember(call, l, info, sum, &pg)
	return readResult(l, &pg, hasBOM), nil
}

// scanLines puts up to limit lines from line from on into pg and goes on counting.
func (ts *Toolset) scanLines(r *bufio.Reader, sum hash.Hash, pg *page, from, limit int) error {
	beyond := 0
	start, atStart := true, true
	var line []byte
	dropped := 0 // runes of the line that were not kept
	for {
		part, err := r.ReadSlice('\n')
		if sum != nil {
			sum.Write(part)
		}
		if atStart && len(part) > 0 {
			atStart, pg.lines = false, pg.lines+1
		}
		wanted := pg.lines >= from && pg.lines < from+limit && !pg.full
		// A rune has at most four bytes; one more shows that something follows.
		room := 0
		if wanted {
			room = 4*ts.limits.LineRunes + 4
		} else if pg.last == 0 {
			room = 4*tailRunes + 4
		}
		room = max(0, min(room-len(line), len(part)))
		line = append(line, part[:room]...)
		dropped += countRunes(part[room:])
		if !wanted && pg.last > 0 {
			if beyond += len(part); beyond > countLimit && sum == nil {
				pg.more = true
				return nil
			}
		}
		end := errors.Is(err, io.EOF)
		if len(part) > 0 && part[len(part)-1] == '\n' || end && !atStart {
			if strings.HasSuffix(string(part[max(0, len(part)-2):]), "\r\n") {
				pg.cr++
			}
			if start {
				line, start = []byte(strings.TrimPrefix(string(line), string(bom))), false
			}
			ts.showLine(pg, strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), dropped, wanted)
			line, dropped, atStart = line[:0], 0, true
		}
		switch {
		case end:
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// showLine adds one line to the page if it is wanted and fits. Before the first
// that is wanted, the last few are kept for the case that there is none.
func (ts *Toolset) showLine(pg *page, line string, dropped int, wanted bool) {
	if !wanted {
		if pg.last == 0 && !pg.full {
			if len(pg.tail) == lastLines {
				pg.tail = append(pg.tail[:0], pg.tail[1:]...)
			}
			pg.tail = append(pg.tail, cutLine(line, tailRunes, dropped))
		}
		return
	}
	text := fmt.Sprintf("%d\t%s\n", pg.lines, visible(cutLine(line, ts.limits.LineRunes, dropped)))
	if pg.text.Len()+len(text) > ts.limits.ReadBytes && pg.last > 0 {
		pg.full = true
		return
	}
	pg.text.WriteString(text)
	pg.last = pg.lines
}

// remember records what the session saw, so that it may overwrite it.
func (ts *Toolset) remember(call *tool.Call, l location, info os.FileInfo, sum hash.Hash, pg *page) {
	s := seen{size: info.Size(), mtime: info.ModTime(), lines: pg.lines}
	if pg.more {
		s.lines = pg.lines + 1 // at least; so nothing shown is all of it
	}
	if sum != nil && !pg.more {
		s.known = true
		copy(s.sum[:], sum.Sum(nil))
	}
	if pg.last > 0 {
		s.shown = []span{{pg.first, pg.last}}
	}
	ts.seen.read(call.SessionID, l.abs, s)
}

func readResult(l location, pg *page, hasBOM bool) *outcome {
	var b strings.Builder
	b.WriteString(pg.text.String())
	total := fmt.Sprint(pg.lines)
	if pg.more {
		total = "more than " + total
	}
	cut := pg.last > 0 && (pg.last < pg.lines || pg.more)
	switch {
	case pg.lines == 0:
		b.WriteString("(empty file)")
	case pg.last == 0:
		fmt.Fprintf(&b, "(the file has %s; offset %d is beyond the end. Its last lines:)\n", plural(pg.lines, "line"), pg.first)
		for i, t := range pg.tail {
			fmt.Fprintf(&b, "%d\t%s\n", pg.lines-len(pg.tail)+1+i, visible(t))
		}
	case cut:
		fmt.Fprintf(&b, "(lines %d-%d of %s; use offset=%d to go on)", pg.first, pg.last, total, pg.last+1)
	}
	meta := map[string]any{"preview": preview(b.String()), "truncated": cut, "lines": pg.lines}
	if hasBOM {
		meta["bom"] = true
	}
	if pg.cr > 0 {
		meta["lineEndings"] = "crlf"
		if pg.cr < pg.lines-1 {
			meta["lineEndings"] = "mixed"
		}
	}
	return &outcome{result: &tool.Result{Title: l.display, Text: strings.TrimRight(b.String(), "\n"), Metadata: meta}}
}

func binaryResult(l location, info fs.FileInfo, head []byte) *outcome {
	text := fmt.Sprintf("%s is a binary file of %d bytes. It begins with these bytes:\n%s",
		l.given, info.Size(), strings.TrimSpace(hex.Dump(head[:min(64, len(head))])))
	return &outcome{result: &tool.Result{
		Title: l.display, Text: text,
		Metadata: map[string]any{"preview": "", "truncated": false, "binary": true, "modified": info.ModTime().UTC().Format(time.RFC3339)},
	}}
}

// preview is the beginning of a text, for a UI.
func preview(text string) string {
	lines := strings.SplitN(text, "\n", 21)
	if len(lines) > 20 {
		lines = lines[:20]
	}
	return clip(strings.Join(lines, "\n"), 2000)
}
