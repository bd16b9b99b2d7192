package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Errors that callers test for with errors.Is.
var (
	// ErrNotPDF: the file is no PDF, or so damaged that no page is found.
	ErrNotPDF = errors.New("not a readable PDF")
	// ErrEncrypted: the file needs a password, or a decryption that is not done here.
	ErrEncrypted = errors.New("the PDF is encrypted")
)

const (
	maxObjects = 500_000
	maxPages   = 10_000
	maxDepth   = 50
	inflated   = 64 << 20 // bytes that object streams may grow to, and so the content of a page
)

// A Document is a PDF in memory. It is not changed after Open and may be used concurrently.
type Document struct {
	data    []byte
	objects map[int]any
	root    dict
	pages   []page
}

type page struct {
	dict      dict
	resources any // inherited
}

// Open reads a PDF of the given size. It returns soon after ctx is done.
func Open(ctx context.Context, r io.ReaderAt, size int64) (*Document, error) {
	d := &Document{objects: make(map[int]any)}
	g := &budget{ctx, size}
	var err error
	if d.data, err = g.read(io.NewSectionReader(r, 0, size)); err != nil {
		return nil, err
	}
	if !bytes.Contains(d.data[:min(len(d.data), 1024)], []byte("%PDF-")) {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrNotPDF)
	}
	if err := d.scan(ctx); err != nil {
		return nil, err
	}
	d.findPages()
	if len(d.pages) == 0 {
		return nil, fmt.Errorf("%w: it is damaged or cut off, no page was found", ErrNotPDF)
	}
	return d, nil
}

// Pages returns the number of pages.
func (d *Document) Pages() int { return len(d.pages) }

// scan finds all objects.
func (d *Document) scan(ctx context.Context) error {
	g := &budget{ctx, inflated}
	encrypted := false
	note := func(t dict) {
		if r, ok := d.resolve(t["Root"]).(dict); ok || t["Root"] != nil {
			if ok {
				d.root = r
			}
			d.objects[-1] = t["Root"] // resolved when everything is known
		}
		encrypted = encrypted || t["Encrypt"] != nil
	}
	for pos := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		i := bytes.Index(d.data[pos:], []byte("obj"))
		t := bytes.Index(d.data[pos:min(len(d.data), pos+max(i, 0)+1)], []byte("trailer"))
		if i < 0 {
			t = bytes.Index(d.data[pos:], []byte("trailer"))
		}
		if t >= 0 {
			l := &lexer{b: d.data, pos: pos + t + len("trailer")}
			if v, ok := l.next(0); ok {
				if td, ok := v.(dict); ok {
					note(td)
				}
			}
			pos = max(l.pos, pos+t+1)
			continue
		}
		if i < 0 || len(d.objects) > maxObjects {
			break
		}
		at := pos + i
		num, ok := d.header(at)
		pos = at + len("obj")
		if !ok {
			continue
		}
		var v any
		v, pos = d.object(pos)
		d.objects[num] = v
		s, ok := v.(stream)
		if !ok {
			continue
		}
		switch s.dict["Type"] {
		case name("XRef"):
			note(s.dict)
		case name("ObjStm"):
			if err := d.unpack(s, g); err != nil {
				return err
			}
		}
	}
	if encrypted {
		return fmt.Errorf("%w; ask the user for a copy without a password", ErrEncrypted)
	}
	if r, ok := d.resolve(d.objects[-1]).(dict); ok {
		d.root = r
	}
	delete(d.objects, -1)
	if d.root == nil { // then whatever calls itself one
		for _, v := range d.objects {
			if c, ok := v.(dict); ok && c["Type"] == name("Catalog") {
				d.root = c
				break
			}
		}
	}
	return nil
}

// header reads the two numbers in front of "obj" at an offset.
func (d *Document) header(at int) (num int, ok bool) {
	p := at
	field := func() (int, bool) {
		end := p
		for end > 0 && isBlank(d.data[end-1]) {
			end--
		}
		start := end
		for start > 0 && end-start < 10 && d.data[start-1] >= '0' && d.data[start-1] <= '9' {
			start--
		}
		p = start
		v, err := strconv.Atoi(string(d.data[start:end]))
		return v, err == nil && end < at+1
	}
	if _, ok := field(); !ok {
		return 0, false
	}
	return field()
}

// object reads the object at an offset and returns where to go on.
func (d *Document) object(at int) (any, int) {
	l := &lexer{b: d.data, pos: at}
	v, ok := l.next(0)
	if !ok {
		return nil, len(d.data)
	}
	dd, ok := v.(dict)
	if !ok {
		return v, l.pos
	}
	after := l.pos
	if k, _ := l.next(0); k != keyword("stream") {
		return v, after
	}
	start := l.pos
	if start < len(d.data) && d.data[start] == '\r' {
		start++
	}
	if start < len(d.data) && d.data[start] == '\n' {
		start++
	}
	if n, ok := dd["Length"].(float64); ok && n >= 0 && start+int(n) <= len(d.data) {
		end := start + int(n)
		if bytes.HasPrefix(bytes.TrimLeft(d.data[end:min(len(d.data), end+16)], "\r\n \t"), []byte("endstream")) {
			return stream{dd, d.data[start:end:end]}, end
		}
	}
	end := bytes.Index(d.data[start:], []byte("endstream"))
	if end < 0 {
		return stream{dd, d.data[start:]}, len(d.data)
	}
	end += start
	return stream{dd, bytes.TrimRight(d.data[start:end:end], "\r\n")}, end
}

// unpack takes the objects out of an object stream. Damage is passed over.
func (d *Document) unpack(s stream, g *budget) error {
	data, err := d.decode(s, g)
	if err != nil {
		if errors.Is(err, errTooMuch) || g.ctx.Err() != nil {
			return err
		}
		return nil
	}
	n, _ := s.dict["N"].(float64)
	start, _ := s.dict["First"].(float64)
	head := &lexer{b: data, content: true}
	for range int(min(max(n, 0), maxObjects)) {
		num, ok1 := head.next(0)
		off, ok2 := head.next(0)
		id, ok3 := num.(float64)
		at, ok4 := off.(float64)
		if !ok1 || !ok2 || !ok3 || !ok4 || at < 0 || int(start)+int(at) >= len(data) || start < 0 || len(d.objects) > maxObjects {
			break
		}
		l := &lexer{b: data, pos: int(start) + int(at)}
		if v, ok := l.next(0); ok && id >= 0 {
			d.objects[int(id)] = v
		}
	}
	return nil
}

// resolve follows references, which in damaged files lead to references.
func (d *Document) resolve(v any) any {
	for range 20 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = d.objects[r.num]
	}
	return nil
}

// list returns an array, or one value as a list of it.
func (d *Document) list(v any) array {
	switch v := d.resolve(v).(type) {
	case nil:
		return nil
	case array:
		return v
	default:
		return array{v}
	}
}

func (d *Document) dict(v any) dict {
	switch v := d.resolve(v).(type) {
	case dict:
		return v
	case stream:
		return v.dict
	}
	return nil
}

// findPages walks the tree of pages, or, if that leads nowhere, takes every page
// there is.
func (d *Document) findPages() {
	seen := make(map[int]bool)
	nodes := 0
	var walk func(v any, res any, depth int)
	walk = func(v any, res any, depth int) {
		if r, ok := v.(ref); ok {
			if seen[r.num] {
				return
			}
			seen[r.num] = true
		}
		if nodes++; nodes > maxPages || depth > maxDepth {
			return
		}
		n, ok := d.resolve(v).(dict)
		if !ok {
			return
		}
		if own, ok := n["Resources"]; ok {
			res = own
		}
		kids, ok := d.resolve(n["Kids"]).(array)
		if !ok {
			if n["Type"] != name("Pages") {
				d.pages = append(d.pages, page{n, res})
			}
			return
		}
		for _, k := range kids {
			walk(k, res, depth+1)
		}
	}
	walk(d.root["Pages"], nil, 0)
	if len(d.pages) > 0 {
		return
	}
	var nums []int
	for num, v := range d.objects {
		if p, ok := v.(dict); ok && p["Type"] == name("Page") {
			nums = append(nums, num)
		}
	}
	slices.Sort(nums)
	for _, num := range nums[:min(len(nums), maxPages)] {
		p, _ := d.objects[num].(dict)
		res := p["Resources"]
		for up, k := d.dict(p["Parent"]), 0; res == nil && up != nil && k < maxDepth; up, k = d.dict(up["Parent"]), k+1 {
			res = up["Resources"]
		}
		d.pages = append(d.pages, page{p, res})
	}
}
