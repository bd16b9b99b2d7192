package pdftext

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"unicode"
)

const (
	maxText     = 256 << 10 // bytes of a page's text
	maxOperands = 512
	maxStates   = 256
	maxForms    = 500 // form objects drawn on a page
	formDepth   = 10
)

// A matrix is [a b c d e f] as in the PDF reference.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the part of the graphics state that matters for text.
type state struct {
	ctm                        matrix
	font                       *font
	size, charSpace, wordSpace float64
	scale, leading, rise       float64
}

// A writer turns drawn text into lines.
type writer struct {
	b          strings.Builder
	x, y       float64 // where the last glyph ended
	size       float64 // how high it was
	any        bool
	lost, made int // glyphs without and with a meaning
}

// show adds the text of a glyph that begins at x, y and ends at endX, endY.
func (w *writer) show(text string, x, y, endX, endY, size float64) {
	if w.b.Len() > maxText {
		return
	}
	if w.any {
		high := math.Max(math.Max(size, w.size), 0.1)
		down, right := math.Abs(y-w.y), x-w.x
		switch {
		case down > 1.8*high:
			w.b.WriteString("\n\n")
		case down > 0.45*high:
			w.b.WriteString("\n")
		case right > 0.18*high || right < -1.5*high:
			if s := w.b.String(); s != "" && s[len(s)-1] != ' ' && s[len(s)-1] != '\n' && !strings.HasPrefix(text, " ") {
				w.b.WriteString(" ")
			}
		}
	}
	for _, r := range text {
		switch {
		case r == '\u00ad':
			r = '-'
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r):
			continue
		}
		w.b.WriteRune(r)
	}
	w.x, w.y, w.size, w.any = endX, endY, size, true
}

// An interpreter runs the content of a page.
type interpreter struct {
	d     *Document
	ctx   context.Context
	g     *budget
	out   *writer
	fonts map[string]*font
	forms int
	steps int
}

// Page returns the text of page n, counted from 1, and a note when there is none
// or not all. The error is that of ctx, or says that there is no such page.
func (d *Document) Page(ctx context.Context, n int) (text, note string, err error) {
	if n < 1 || n > len(d.pages) {
		return "", "", errors.New("there is no such page")
	}
	p := d.pages[n-1]
	in := &interpreter{d: d, ctx: ctx, g: &budget{ctx, inflated}, out: &writer{}, fonts: make(map[string]*font)}
	var data []byte
	for _, c := range d.list(p.dict["Contents"]) {
		s, ok := d.resolve(c).(stream)
		if !ok {
			continue
		}
		part, derr := d.decode(s, in.g)
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		if derr != nil {
			note = "part of the page cannot be read: " + derr.Error()
			continue
		}
		data = append(append(data, part...), '\n')
	}
	if err := in.run(data, d.dict(p.resources), state{ctm: identity, scale: 1}, 0); err != nil {
		return "", "", err
	}
	text = tidy(in.out.b.String())
	switch {
	case note != "":
	case text == "":
		note = "no text layer; it may be scanned"
	case in.out.lost*3 > in.out.made:
		note = "the fonts do not say what much of the text stands for"
	case in.out.b.Len() > maxText:
		note = "the rest of the text is left out"
	}
	return text, note, nil
}

// tidy drops blanks at the ends of lines and blank lines beyond one.
func tidy(s string) string {
	lines := strings.Split(s, "\n")
	out := lines[:0]
	for _, l := range lines {
		if l = strings.TrimRight(l, " "); l != "" || len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, l)
		}
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// run interprets content. The error is that of the context.
func (in *interpreter) run(data []byte, res dict, st state, depth int) error {
	l := &lexer{b: data, content: true}
	var args []any
	var saved []state
	tm, line := identity, identity
	for {
		if in.steps++; in.steps%512 == 0 && in.ctx.Err() != nil {
			return in.ctx.Err()
		}
		v, ok := l.next(0)
		if !ok || in.out.b.Len() > maxText {
			return nil
		}
		op, isOp := v.(keyword)
		if !isOp {
			if len(args) < maxOperands {
				args = append(args, v)
			}
			continue
		}
		num := func(i int) float64 {
			if k := len(args) - i; i > 0 && k >= 0 && k < len(args) {
				f, _ := args[k].(float64)
				return f
			}
			return 0
		}
		move := func(x, y float64) {
			line = matrix{1, 0, 0, 1, x, y}.mul(line)
			tm = line
		}
		switch op {
		case "q":
			if len(saved) < maxStates {
				saved = append(saved, st)
			}
		case "Q":
			if n := len(saved); n > 0 {
				st, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			st.ctm = matrix{num(6), num(5), num(4), num(3), num(2), num(1)}.mul(st.ctm)
		case "BT":
			tm, line = identity, identity
		case "Tf":
			st.size = num(1)
			if len(args) >= 2 {
				if n, ok := args[len(args)-2].(name); ok {
					st.font = in.font(res, string(n))
				}
			}
		case "Tc":
			st.charSpace = num(1)
		case "Tw":
			st.wordSpace = num(1)
		case "Tz":
			st.scale = num(1) / 100
		case "TL":
			st.leading = num(1)
		case "Ts":
			st.rise = num(1)
		case "Td":
			move(num(2), num(1))
		case "TD":
			st.leading = -num(1)
			move(num(2), num(1))
		case "Tm":
			tm = matrix{num(6), num(5), num(4), num(3), num(2), num(1)}
			line = tm
		case "T*":
			move(0, -st.leading)
		case "'", "\"":
			if op == "\"" {
				st.wordSpace, st.charSpace = num(3), num(2)
			}
			move(0, -st.leading)
			in.show(args, &st, &tm)
		case "Tj", "TJ":
			in.show(args, &st, &tm)
		case "Do":
			if len(args) > 0 {
				if err := in.form(args[len(args)-1], res, st, depth); err != nil {
					return err
				}
			}
		case "ID":
			skipImage(l)
		}
		args = args[:0]
	}
}

// show draws the last operand: a string, or an array of strings and shifts.
func (in *interpreter) show(args []any, st *state, tm *matrix) {
	if len(args) == 0 || st.font == nil {
		return
	}
	list, ok := args[len(args)-1].(array)
	if !ok {
		list = array{args[len(args)-1]}
	}
	for _, v := range list {
		switch v := v.(type) {
		case float64:
			*tm = matrix{1, 0, 0, 1, -v / 1000 * st.size * st.scale, 0}.mul(*tm)
		case str:
			st.font.glyphs(string(v), func(g glyph) bool { return in.glyph(g, st, tm) })
		}
	}
}

// glyph draws one glyph. It reports false when no more are wanted.
func (in *interpreter) glyph(g glyph, st *state, tm *matrix) bool {
	at := matrix{st.size * st.scale, 0, 0, st.size, 0, st.rise}.mul(*tm).mul(st.ctm)
	shift := (g.width/1000*st.size + st.charSpace) * st.scale
	if g.space {
		shift += st.wordSpace * st.scale
	}
	*tm = matrix{1, 0, 0, 1, shift, 0}.mul(*tm)
	end := matrix{1, 0, 0, 1, 0, st.rise}.mul(*tm).mul(st.ctm)
	in.out.made++
	if g.lost {
		in.out.lost++
	}
	if g.text != "" {
		in.out.show(g.text, at[4], at[5], end[4], end[5], math.Hypot(at[2], at[3]))
	}
	return in.out.b.Len() <= maxText && (in.out.made%1024 != 0 || in.ctx.Err() == nil)
}

func (in *interpreter) font(res dict, key string) *font {
	v := in.d.dict(res["Font"])[key]
	id := key
	if r, ok := v.(ref); ok {
		id = "\x00" + string(rune(r.num))
	}
	f := in.fonts[id]
	if f == nil {
		f = in.d.font(in.ctx, v, in.g)
		in.fonts[id] = f
	}
	return f
}

// form runs the content of a form object; images are passed over.
func (in *interpreter) form(v any, res dict, st state, depth int) error {
	n, ok := v.(name)
	if !ok || depth >= formDepth || in.forms >= maxForms {
		return nil
	}
	s, ok := in.d.resolve(in.d.dict(res["XObject"])[string(n)]).(stream)
	if !ok || in.d.resolve(s.dict["Subtype"]) != name("Form") {
		return nil
	}
	in.forms++
	data, err := in.d.decode(s, in.g)
	if err != nil {
		return in.ctx.Err()
	}
	if m, ok := in.d.resolve(s.dict["Matrix"]).(array); ok && len(m) == 6 {
		var mm matrix
		for i := range mm {
			mm[i], _ = in.d.resolve(m[i]).(float64)
		}
		st.ctm = mm.mul(st.ctm)
	}
	if own := in.d.dict(s.dict["Resources"]); own != nil {
		res = own
	}
	return in.run(data, res, st, depth+1)
}

// skipImage passes over the data of an image that is written into the content.
func skipImage(l *lexer) {
	for {
		i := bytes.Index(l.b[l.pos:], []byte("EI"))
		if i < 0 {
			l.pos = len(l.b)
			return
		}
		at := l.pos + i
		l.pos = at + 2
		if at > 0 && isBlank(l.b[at-1]) && (l.pos >= len(l.b) || isBlank(l.b[l.pos])) {
			return
		}
	}
}
