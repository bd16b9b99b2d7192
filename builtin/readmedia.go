package builtin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/notebook"
	"github.com/agenttool/tool/internal/textfile"
)

// image shows an image to a model that can see, and describes it to others.
func (r *reading) image(mime string, size int64) (*tool.Result, error) {
	switch {
	case r.ts.cfg.Images == nil:
		return r.describe(mime, size, "Images cannot be shown here."), nil
	case !r.accepts("image/png"):
		return r.describe(mime, size, "This model does not take images."), nil
	case size > r.ts.limits.MediaBytes:
		return r.describe(mime, size, fmt.Sprintf("Images over %d bytes are not opened; make a smaller one with a command.", r.ts.limits.MediaBytes)), nil
	}
	data, _, err := textfile.ReadFile(r.ctx, r.ts.fsys.root, r.at, r.ts.limits.MediaBytes)
	if err != nil {
		return nil, err
	}
	img, err := r.ts.decodeImage(r.ctx, mime, data)
	if err != nil {
		if r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		return r.describe(mime, size, "It cannot be shown: "+clip(err.Error(), 500)), nil
	}
	res := r.describe(mime, size, sentNote(img))
	res.Metadata["width"], res.Metadata["height"] = img.FileWidth, img.FileHeight
	res.Metadata["sentWidth"], res.Metadata["sentHeight"], res.Metadata["sentBytes"], res.Metadata["sentMime"] = img.Width, img.Height, len(img.Data), img.MIME
	if img.Width > 0 {
		res.Metadata["scale"] = float64(img.FileWidth) / float64(img.Width)
	}
	if ext := path.Ext(r.l.display); ext != "" && mimeByName[strings.ToLower(ext)] != mime {
		res.Text += fmt.Sprintf(" Its name ends in %s, but its content is %s.", oneLine(ext), mime)
	}
	res.Attachments = []tool.Attachment{{Name: path.Base(r.l.display), MIME: img.MIME, Data: img.Data}}
	return res, nil
}

// decodeImage asks the host's codec. A panic there is an image that cannot be shown.
func (ts *Toolset) decodeImage(ctx context.Context, mime string, data []byte) (img *Image, err error) {
	if note := guarded(func() { img, err = ts.cfg.Images.Image(ctx, mime, data) }); note != "" {
		return nil, errors.New("the decoder failed on it")
	}
	if err == nil && (img == nil || len(img.Data) == 0) {
		err = errors.New("the decoder gave nothing")
	}
	return img, err
}

// sentNote says what of an image the model sees.
func sentNote(img *Image) string {
	note := fmt.Sprintf("It is %d×%d pixels", img.FileWidth, img.FileHeight)
	if img.Width != img.FileWidth || img.Height != img.FileHeight {
		note += fmt.Sprintf(", attached at %d×%d: multiply coordinates by %.3g", img.Width, img.Height, float64(img.FileWidth)/float64(max(img.Width, 1)))
	} else {
		note += ", attached"
	}
	if img.Frames > 1 {
		note += fmt.Sprintf("; the first of %d frames", img.Frames)
	}
	return note + "."
}

var mimeByName = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".ico": "image/x-icon",
}

// pdf shows the text of pages of a PDF.
func (r *reading) pdf(size int64) (*tool.Result, error) {
	const mime = "application/pdf"
	switch {
	case r.ts.cfg.PDF == nil:
		return r.describe(mime, size, "Its text cannot be read here."), nil
	case size > r.ts.limits.MediaBytes:
		return r.describe(mime, size, fmt.Sprintf("PDF files over %d bytes are not opened.", r.ts.limits.MediaBytes)), nil
	}
	f, _, err := r.ts.fsys.root.Open(r.at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var doc *PDF
	if note := guarded(func() { doc, err = r.ts.cfg.PDF.Text(r.ctx, f, size, r.in.Pages) }); note != "" || err == nil && doc == nil {
		err = errors.New("the reader failed on it")
	}
	if err != nil {
		if r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		return r.describe(mime, size, "Its text cannot be read: "+clip(err.Error(), 500)), nil
	}
	res := &tool.Result{Title: r.l.display, Metadata: map[string]any{"mime": mime, "bytes": size, "pages": doc.Total}}
	text, next, cut := doc.text(r.ts.limits.ReadBytes)
	if next != "" {
		text += fmt.Sprintf("[PARTIAL. Next: read %s]", inputText(map[string]any{"filePath": r.in.FilePath, "pages": next}))
	}
	res.Text = strings.TrimSuffix(text, "\n")
	res.Metadata["preview"], res.Metadata["truncated"] = preview(res.Text), cut || next != ""
	const maxAttached, maxPages = 20 << 20, 100
	if size <= maxAttached && doc.Total <= maxPages && r.accepts(mime) {
		data := make([]byte, size)
		if _, err := f.ReadAt(data, 0); err == nil || errors.Is(err, io.EOF) {
			res.Attachments = []tool.Attachment{{Name: path.Base(r.l.display), MIME: mime, Data: data}}
		}
	}
	return res, nil
}

// text returns the text of the pages, up to limit bytes and at least of one page,
// the pages to ask for next, and whether something of it was cut.
func (doc *PDF) text(limit int) (text, next string, cut bool) {
	var b strings.Builder
	next = doc.Next
	for _, p := range doc.Pages {
		var page strings.Builder
		fmt.Fprintf(&page, "[page %d of %d]\n", p.Number, doc.Total)
		if p.Note != "" {
			fmt.Fprintf(&page, "(%s)\n", oneLine(p.Note))
		}
		if text := strings.TrimSpace(visible(p.Text)); text != "" {
			page.WriteString(text + "\n")
		}
		if b.Len() > 0 && b.Len()+page.Len() > limit {
			next, cut = fmt.Sprint(p.Number), true
			if p.Number < doc.Total {
				next = fmt.Sprintf("%d-%d", p.Number, min(doc.Total, p.Number+len(doc.Pages)-1))
			}
			break
		}
		text := page.String()
		if len(text) > limit {
			text, cut = clip(text, limit)+"\n(the rest of the page is left out)\n", true
		}
		b.WriteString(text)
	}
	return b.String(), next, cut
}

const (
	cellOutput   = 2 << 10 // bytes of text of one output that are shown
	cellImages   = 10      // images of outputs that are attached
	cellsAtATime = 500
)

// notebook shows the cells of a notebook. A nil result means that the file is
// none, and is to be shown as text.
func (r *reading) notebook() (*tool.Result, error) {
	raw, st, err := textfile.ReadFile(r.ctx, r.ts.fsys.root, r.at, r.ts.limits.FileBytes)
	if err != nil {
		return nil, err
	}
	f, err := textfile.Decode(raw, r.ts.decodeOptions(r.at))
	if err != nil || f.Lossy {
		return nil, nil
	}
	n, err := notebook.Parse(f.Text)
	if err != nil {
		return nil, nil
	}
	first, limit := max(r.in.Offset, 1), r.in.Limit
	if r.in.Offset < 0 {
		first = max(1, len(n.Cells)+1+r.in.Offset)
	}
	if limit == 0 {
		limit = cellsAtATime
	}
	res := &tool.Result{Title: r.l.display, Metadata: map[string]any{"cells": len(n.Cells), "language": n.Language}}
	var b strings.Builder
	fmt.Fprintf(&b, "(notebook, %s", plural(len(n.Cells), "cell"))
	if n.Language != "" {
		b.WriteString(", " + oneLine(n.Language))
	}
	b.WriteString("; change a cell with edit and cell, by its id or number)\n")
	i := first - 1
	for ; i < len(n.Cells) && i < first-1+limit; i++ {
		cell := r.cell(n, i, res)
		if b.Len()+len(cell) > r.ts.limits.ReadBytes && i > first-1 {
			break
		}
		b.WriteString(cell)
	}
	whole := first == 1 && i >= len(n.Cells)
	if i < len(n.Cells) {
		more := map[string]any{"filePath": r.in.FilePath, "offset": i + 1}
		if r.in.Limit > 0 {
			more["limit"] = r.in.Limit
		}
		fmt.Fprintf(&b, "[PARTIAL cells %d-%d of %d. Next: read %s]", first, i, len(n.Cells), inputText(more))
	}
	var seen []textfile.LineRange
	if whole && f.Lines() > 0 {
		seen = []textfile.LineRange{{First: 1, Last: f.Lines()}}
	}
	r.ts.memory.saw(r.call.SessionID, r.l, f.Observe(st, seen...))
	res.Text = strings.TrimSuffix(b.String(), "\n")
	res.Metadata["preview"], res.Metadata["truncated"] = preview(res.Text), i < len(n.Cells)
	return res, nil
}

// cell is what is shown of one cell. Images among its outputs are attached.
func (r *reading) cell(n *notebook.Notebook, i int, res *tool.Result) string {
	c := n.Cells[i]
	var b strings.Builder
	ref := fmt.Sprint(i + 1)
	if c.ID != "" {
		ref = oneLine(c.ID) + "|" + ref
	}
	fmt.Fprintf(&b, "\n[%s] %s", ref, oneLine(c.Type))
	if c.Count != "" {
		fmt.Fprintf(&b, " (run %s)", c.Count)
	}
	b.WriteByte('\n')
	for l := range strings.SplitSeq(strings.TrimSuffix(c.Source, "\n"), "\n") {
		b.WriteString(visible(cutLine(l, r.ts.limits.LineRunes)) + "\n")
	}
	for _, o := range c.Outputs {
		label := o.Kind
		if o.Name != "" {
			label = o.Name
		}
		fmt.Fprintf(&b, "--- output: %s\n%s", oneLine(label), r.output(o, res))
	}
	return b.String()
}

var ansi = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-_])")

// output is what is shown of one output of a cell.
func (r *reading) output(o notebook.Output, res *tool.Result) string {
	var b strings.Builder
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif"} {
		if data, ok := o.Data[mime]; ok {
			b.WriteString(r.outputImage(mime, data, res))
		}
	}
	text := o.Data["text/plain"]
	if text == "" {
		text = o.Data["text/markdown"]
	}
	if html := o.Data["text/html"]; text == "" && html != "" {
		text = htmlText(html)
	}
	if text == "" && b.Len() == 0 {
		for mime := range o.Data {
			text += "(" + oneLine(mime) + ")"
		}
	}
	text = strings.TrimRight(visible(ansi.ReplaceAllString(text, "")), "\n")
	if len(text) > cellOutput {
		text = clip(text, cellOutput) + fmt.Sprintf(" [+%d bytes; see them with raw]", len(text)-cellOutput)
	}
	if text != "" {
		b.WriteString(text + "\n")
	}
	return b.String()
}

// outputImage attaches an image of an output, and says so.
func (r *reading) outputImage(mime, encoded string, res *tool.Result) string {
	data, err := base64.StdEncoding.DecodeString(strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == ' ' {
			return -1
		}
		return c
	}, encoded))
	if err != nil || r.ts.cfg.Images == nil || !r.accepts("image/png") || len(res.Attachments) >= cellImages {
		return fmt.Sprintf("(%s, %d bytes, not shown)\n", mime, len(data))
	}
	if kind := textfile.Sniff(data); kind != "" {
		mime = kind
	}
	img, err := r.ts.decodeImage(r.ctx, mime, data)
	if err != nil {
		return fmt.Sprintf("(%s, %d bytes, cannot be shown: %s)\n", mime, len(data), oneLine(clip(err.Error(), 200)))
	}
	res.Attachments = append(res.Attachments, tool.Attachment{Name: fmt.Sprintf("output-%d", len(res.Attachments)+1), MIME: img.MIME, Data: img.Data})
	return fmt.Sprintf("(%s, %d×%d pixels, attached)\n", mime, img.FileWidth, img.FileHeight)
}

var (
	htmlHidden = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<!--.*?-->`)
	htmlBreak  = regexp.MustCompile(`(?i)</(tr|p|div|li|h[1-6])>|<br\s*/?>`)
	htmlCell   = regexp.MustCompile(`(?i)</t[dh]>`)
	htmlTag    = regexp.MustCompile(`(?s)<[^>]*>`)
	htmlBlank  = regexp.MustCompile(`[ \t]*\n\s*`)
)

// htmlText is what a fragment of HTML, mostly a table, says.
func htmlText(s string) string {
	s = htmlHidden.ReplaceAllString(s, "")
	s = htmlCell.ReplaceAllString(htmlBreak.ReplaceAllString(s, "\n"), "\t")
	s = htmlTag.ReplaceAllString(s, "")
	s = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&nbsp;", " ", "&amp;", "&").Replace(s)
	return strings.TrimSpace(htmlBlank.ReplaceAllString(s, "\n"))
}
