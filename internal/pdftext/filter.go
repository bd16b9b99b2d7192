package pdftext

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"
)

var errTooMuch = errors.New("its compressed data grows beyond what is read")

// A budget bounds the bytes that decoding may make.
type budget struct {
	ctx  context.Context
	left int64
}

// read reads all of r within the budget. What there is before an error counts:
// damaged data is often readable at its beginning.
func (g *budget) read(r io.Reader) ([]byte, error) {
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		if err := g.ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.Read(buf)
		if g.left -= int64(n); g.left < 0 {
			return nil, errTooMuch
		}
		out = append(out, buf[:n]...)
		if err != nil {
			return out, nil
		}
	}
}

const maxFilters = 8

// decode undoes the filters of a stream.
func (d *Document) decode(s stream, g *budget) ([]byte, error) {
	filters := d.list(first(s.dict, "Filter", "F"))
	params := d.list(first(s.dict, "DecodeParms", "DP"))
	if len(filters) > maxFilters {
		return nil, errors.New("too many filters")
	}
	data := s.raw
	for i, f := range filters {
		var p dict
		if i < len(params) {
			p, _ = d.resolve(params[i]).(dict)
		}
		fname, _ := d.resolve(f).(name)
		var err error
		if data, err = d.filter(string(fname), p, data, g); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func first(d dict, keys ...string) any {
	for _, k := range keys {
		if v, ok := d[k]; ok {
			return v
		}
	}
	return nil
}

func (d *Document) filter(kind string, p dict, data []byte, g *budget) ([]byte, error) {
	switch kind {
	case "FlateDecode", "Fl":
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		out, err := g.read(r)
		if err != nil {
			return nil, err
		}
		return d.unpredict(out, p)
	case "LZWDecode", "LZW":
		early := 1
		if v, ok := d.resolve(p["EarlyChange"]).(float64); ok {
			early = int(v)
		}
		out, err := unLZW(data, early, g)
		if err != nil {
			return nil, err
		}
		return d.unpredict(out, p)
	case "ASCIIHexDecode", "AHx":
		l := &lexer{b: append([]byte{'<'}, data...)}
		return []byte(l.hex()), nil
	case "ASCII85Decode", "A85":
		data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
		if i := bytes.IndexByte(data, '~'); i >= 0 {
			data = data[:i]
		}
		return g.read(ascii85.NewDecoder(bytes.NewReader(data)))
	case "RunLengthDecode", "RL":
		return unRunLength(data, g)
	case "Crypt":
		return data, nil
	}
	return nil, fmt.Errorf("its data is stored as %q, which is no text", kind)
}

// unpredict undoes the differences that were taken before compression.
func (d *Document) unpredict(data []byte, p dict) ([]byte, error) {
	num := func(key string, def int) int {
		if v, ok := d.resolve(p[key]).(float64); ok {
			return int(v)
		}
		return def
	}
	kind := num("Predictor", 1)
	if kind < 2 {
		return data, nil
	}
	colors, bits, columns := num("Colors", 1), num("BitsPerComponent", 8), num("Columns", 1)
	if colors < 1 || colors > 32 || bits < 1 || bits > 16 || columns < 1 || columns > 1<<20 {
		return nil, errors.New("bad predictor")
	}
	row, px := (colors*bits*columns+7)/8, max(1, colors*bits/8)
	if kind == 2 {
		if bits != 8 {
			return nil, errors.New("bad predictor")
		}
		for at := 0; at+row <= len(data); at += row {
			for i := px; i < row; i++ {
				data[at+i] += data[at+i-px]
			}
		}
		return data, nil
	}
	out := make([]byte, 0, len(data))
	above := make([]byte, row)
	for len(data) > 1 {
		line := data[1:min(len(data), row+1)]
		unfilter(data[0], line, above, px)
		out = append(out, line...)
		copy(above, line)
		data = data[1+len(line):]
	}
	return out, nil
}

// unfilter undoes one row of a PNG predictor in place.
func unfilter(kind byte, line, above []byte, px int) {
	for i := range line {
		left, corner := 0, 0
		if i >= px {
			left, corner = int(line[i-px]), int(above[i-px])
		}
		up := int(above[i])
		switch kind {
		case 1:
			line[i] += byte(left)
		case 2:
			line[i] += byte(up)
		case 3:
			line[i] += byte((left + up) / 2)
		case 4:
			p := left + up - corner
			a, b, c := dist(p, left), dist(p, up), dist(p, corner)
			switch {
			case a <= b && a <= c:
				line[i] += byte(left)
			case b <= c:
				line[i] += byte(up)
			default:
				line[i] += byte(corner)
			}
		}
	}
}

func dist(a, b int) int { return max(a-b, b-a) }

func unRunLength(data []byte, g *budget) ([]byte, error) {
	var out []byte
	for i := 0; i < len(data); {
		n := int(data[i])
		i++
		switch {
		case n == 128:
			return out, nil
		case n < 128:
			end := min(len(data), i+n+1)
			out = append(out, data[i:end]...)
			g.left -= int64(end - i)
			i = end
		case i < len(data):
			out = append(out, bytes.Repeat(data[i:i+1], 257-n)...)
			g.left -= int64(257 - n)
			i++
		}
		if g.left < 0 {
			return nil, errTooMuch
		}
	}
	return out, nil
}

// unLZW undoes LZW with codes of 9 to 12 bits, the most significant first.
func unLZW(data []byte, early int, g *budget) ([]byte, error) {
	const clear, eod = 256, 257
	var out []byte
	table := make([][]byte, 258, 4096)
	for i := range 256 {
		table[i] = []byte{byte(i)}
	}
	width, acc, bits := 9, 0, 0
	var prev []byte
	for _, c := range data {
		acc, bits = acc<<8|int(c), bits+8
		if bits < width {
			continue
		}
		code := acc >> (bits - width) & (1<<width - 1)
		bits -= width
		acc &= 1<<bits - 1
		switch {
		case code == clear:
			table, width, prev = table[:258], 9, nil
			continue
		case code == eod:
			return out, nil
		}
		var entry []byte
		switch {
		case code < len(table) && code != clear:
			entry = table[code]
		case code == len(table) && prev != nil:
			entry = append(append([]byte(nil), prev...), prev[0])
		default:
			return out, nil // damaged: what came before counts
		}
		if g.left -= int64(len(entry)); g.left < 0 {
			return nil, errTooMuch
		}
		out = append(out, entry...)
		if prev != nil && len(table) < 4096 {
			table = append(table, append(append([]byte(nil), prev...), entry[0]))
		}
		prev = entry
		for width < 12 && len(table)+early >= 1<<width {
			width++
		}
	}
	return out, g.ctx.Err()
}
