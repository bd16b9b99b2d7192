package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/textfile"
)

// reading is one file being read for a call.
type reading struct {
	ts   *Toolset
	ctx  context.Context
	call *tool.Call
	l    location
	at   *fsroot.Path // l, as it can be opened
	in   readInput
}

// result shows the file by its kind, which its first bytes tell, not its name.
func (r *reading) result() (*tool.Result, error) {
	head, size, err := r.head()
	if err != nil {
		return nil, err
	}
	var res *tool.Result
	kind := textfile.Sniff(head)
	switch {
	case strings.HasPrefix(kind, "image/"):
		res, err = r.image(kind, size)
	case foreignImage(head) != "":
		kind = foreignImage(head)
		res = r.describe(kind, size, "Images of this type are not read; convert it with a command, as: heif-convert or magick FILE out.png")
	case kind == "application/pdf":
		res, err = r.pdf(size)
	case strings.HasSuffix(strings.ToLower(r.l.display), ".ipynb") && !r.in.Raw && size <= r.ts.limits.FileBytes:
		if res, err = r.notebook(); err == nil && res == nil {
			res, err = r.text()
		}
	default:
		res, err = r.text()
	}
	if err != nil {
		return nil, readError(r.l, err)
	}
	if f := r.ts.cfg.Instructions; f != nil {
		more, note := hook(r.ctx, &r.ts.hooks, func(ctx context.Context) string { return f(ctx, r.call, r.l.abs) })
		if note != "" {
			res.Metadata["observer"] = note
		}
		if more != "" {
			res.Text += "\n\n" + strings.ToValidUTF8(more, "\uFFFD")
		}
	}
	return res, nil
}

// foreignImage names the kinds of images that no codec here reads but that their
// first bytes tell.
func foreignImage(head []byte) string {
	if len(head) < 12 || string(head[4:8]) != "ftyp" {
		return ""
	}
	switch string(head[8:12]) {
	case "heic", "heix", "heim", "heis", "hevc", "mif1", "msf1":
		return "image/heic"
	case "avif", "avis":
		return "image/avif"
	}
	return ""
}

// head returns the first bytes of the file and its size.
func (r *reading) head() ([]byte, int64, error) {
	var f *os.File
	var info fs.FileInfo
	err := atRest(r.ctx, func() (err error) {
		f, info, err = r.ts.fsys.root.Open(r.at)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if r.l.Kernel {
		return nil, info.Size(), nil
	}
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, 0, readError(r.l, err)
	}
	return head[:n], info.Size(), nil
}

// text shows lines of a text file.
func (r *reading) text() (*tool.Result, error) {
	q := textfile.Query{Offset: r.in.Offset, Limit: r.in.Limit, LineOffset: r.in.LineOffset, Decode: r.ts.decodeOptions(r.at)}
	for _, g := range r.in.Ranges {
		q.Ranges = append(q.Ranges, textfile.Range{Offset: g.Offset, Limit: g.Limit})
	}
	var v *textfile.View
	err := atRest(r.ctx, func() (err error) {
		v, err = r.ts.reader.Read(r.ctx, r.at, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	if v.Binary != nil {
		return r.binary(v.Binary), nil
	}
	before, known := r.ts.memory.tracker.Get(r.call.SessionID, r.at)
	unchanged := r.ts.cfg.NoteUnchanged && known && len(r.in.Ranges) == 0 && r.in.LineOffset == 0 && shownBefore(before, v)
	r.ts.memory.saw(r.call.SessionID, r.l, v.Observe())
	if unchanged {
		first, last := v.Lines[0].Number, v.Lines[len(v.Lines)-1].Number
		return &tool.Result{
			Title: r.l.display,
			Text:  fmt.Sprintf("(lines %d-%d of %s have not changed since you read them; to see some of them again, name them with ranges)", first, last, oneLine(r.l.display)),
			Metadata: map[string]any{
				"preview": "", "truncated": v.Partial, "lines": v.Total, "unchanged": true,
			},
		}, nil
	}
	var b strings.Builder
	if note := formNote(v); note != "" && (!known || before.Encoding != v.Encoding || before.EOL != v.EOL) {
		b.WriteString("(" + note + ")\n")
	}
	cut := r.lines(&b, v)
	r.end(&b, v)
	text := strings.TrimSuffix(b.String(), "\n")
	meta := map[string]any{"preview": preview(text), "truncated": v.Partial || cut, "lines": v.Total, "encoding": v.Encoding.String(), "lineEndings": v.EOL.String()}
	if v.Encoding.BOM {
		meta["bom"] = true
	}
	if v.Escapes > 0 {
		meta["escapes"] = v.Escapes
	}
	return &tool.Result{Title: r.l.display, Text: text, Metadata: meta}, nil
}

// shownBefore reports whether the session has been shown every line of the view,
// by somebody else than itself, and the file is the same.
func shownBefore(rec textfile.Record, v *textfile.View) bool {
	if len(v.Lines) == 0 || rec.Own || rec.State.Hash.IsZero() || rec.State.Hash != v.State.Hash {
		return false
	}
	for _, s := range v.Seen() {
		if len(rec.Unseen(s.First, s.Last)) > 0 {
			return false
		}
	}
	return true
}

// formNote says how the file is stored where that is unusual.
func formNote(v *textfile.View) string {
	var parts []string
	switch {
	case v.Lossy:
		parts = append(parts, "not valid "+v.Encoding.String()+": bytes that are no text appear as escapes such as \\xff or as \uFFFD, and edit cannot change this file")
	case !v.Encoding.Plain() && v.Guessed:
		parts = append(parts, "stored as "+v.Encoding.String()+" by all appearances; edits keep that")
	case !v.Encoding.Plain():
		parts = append(parts, "stored as "+v.Encoding.String()+"; edits keep that")
	}
	switch v.EOL {
	case textfile.EOLCRLF:
		parts = append(parts, "lines end in CRLF, which is not shown; edits keep it")
	case textfile.EOLMixed:
		parts = append(parts, "some lines end in CRLF and some in LF, which is not shown; edits keep each")
	}
	return strings.Join(parts, ". ")
}

// lines writes the lines of the view and reports whether one was cut.
func (r *reading) lines(b *strings.Builder, v *textfile.View) (cut bool) {
	for i, l := range v.Lines {
		if i > 0 && l.Number > v.Lines[i-1].Number+1 {
			b.WriteString("…\n")
		}
		b.WriteString(strconv.Itoa(l.Number))
		b.WriteByte('\t')
		b.WriteString(l.Text)
		switch {
		case l.From < 0:
			b.WriteString("[the end of a very long line]")
		case l.More > 0:
			cut = true
			least := ""
			if l.MoreAtLeast {
				least = "at least "
			}
			fmt.Fprintf(b, "…[+%s%d characters; go on with offset=%d lineOffset=%d]", least, l.More, l.Number, l.From+l.Runes)
		}
		b.WriteByte('\n')
	}
	return cut
}

// end says what was left out, and how to see it.
func (r *reading) end(b *strings.Builder, v *textfile.View) {
	total := strconv.Itoa(v.Total)
	if v.TotalAtLeast {
		total = "≥" + total
	}
	switch {
	case v.BeyondEnd:
		fmt.Fprintf(b, "(the file has %s; offset %d is beyond the end. Above are its last lines)", strings.Replace(plural(v.Total, "line"), strconv.Itoa(v.Total), total, 1), r.in.Offset)
	case len(v.Lines) == 0 && v.Size == 0:
		b.WriteString("(empty file)")
	case len(v.Lines) == 0:
		fmt.Fprintf(b, "(no lines; the file has %s)", total)
	case v.Partial:
		first, last := v.Lines[0].Number, v.Lines[len(v.Lines)-1].Number
		if first < 0 {
			fmt.Fprintf(b, "[PARTIAL the last lines of %s, counted from the end", total)
		} else {
			fmt.Fprintf(b, "[PARTIAL lines %s of %s", spansText(v), total)
		}
		next := v.Next
		if next.Offset > 0 && last > 0 {
			fmt.Fprintf(b, ". Next: read %s", r.nextCall(next))
		}
		b.WriteString("]")
	case v.Lines[0].Number > 1 || len(r.in.Ranges) > 0:
		fmt.Fprintf(b, "(end of file, %s lines)", total)
	}
}

// spansText lists the stretches of lines that a view shows.
func spansText(v *textfile.View) string {
	var parts []string
	for i := 0; i < len(v.Lines); {
		j := i
		for j+1 < len(v.Lines) && v.Lines[j+1].Number == v.Lines[j].Number+1 {
			j++
		}
		parts = append(parts, fmt.Sprintf("%d-%d", v.Lines[i].Number, v.Lines[j].Number))
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// nextCall is the input of the next call that shows more.
func (r *reading) nextCall(q textfile.Query) string {
	next := map[string]any{"filePath": r.in.FilePath, "offset": q.Offset}
	if q.LineOffset > 0 {
		next["lineOffset"] = q.LineOffset
	}
	if r.in.Limit > 0 && len(r.in.Ranges) == 0 {
		next["limit"] = r.in.Limit
	}
	return inputText(next)
}

// inputText writes arguments as a model would, in the order of their names.
func inputText(in map[string]any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		panic(err) // strings and numbers
	}
	return strings.TrimSpace(b.String())
}

// binary describes a file that is no text.
func (r *reading) binary(bin *textfile.Binary) *tool.Result {
	return &tool.Result{
		Title: r.l.display,
		Text:  fmt.Sprintf("%s is a binary file (%s, %d bytes). It begins with these bytes:\n%s", oneLine(r.l.given), bin.Type, bin.Size, strings.TrimSpace(bin.Hex())),
		Metadata: map[string]any{
			"preview": "", "truncated": false, "binary": true, "mime": bin.Type, "bytes": bin.Size,
		},
	}
}

// describe is the result for a file of which only the kind can be told.
func (r *reading) describe(mime string, size int64, why string) *tool.Result {
	return &tool.Result{
		Title:    r.l.display,
		Text:     fmt.Sprintf("%s is a file of type %s, %d bytes. %s", oneLine(r.l.given), mime, size, why),
		Metadata: map[string]any{"preview": "", "truncated": false, "binary": true, "mime": mime, "bytes": size},
	}
}

// accepts reports whether the agent's model takes attachments of the type.
func (r *reading) accepts(mime string) bool { return r.ts.accepts(r.call.Agent, mime) }

func (ts *Toolset) accepts(agent *tool.Agent, mime string) bool {
	f := ts.cfg.Accepts
	if f == nil {
		return strings.HasPrefix(mime, "image/")
	}
	ok := false
	guarded(func() { ok = f(agent, mime) })
	return ok
}

// preview is the beginning of a text, for a UI.
func preview(text string) string {
	lines := strings.SplitN(text, "\n", 21)
	return clip(strings.Join(lines[:min(20, len(lines))], "\n"), 2000)
}

// rangesText writes ranges of lines.
func rangesText(list []textfile.LineRange) string {
	if len(list) == 0 {
		return "none"
	}
	const most = 10
	var parts []string
	for _, s := range slices.Clone(list[:min(most, len(list))]) {
		if s.First == s.Last {
			parts = append(parts, strconv.Itoa(s.First))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d-%d", s.First, s.Last))
	}
	if len(list) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}
