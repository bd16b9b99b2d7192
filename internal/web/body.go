package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits bounds a body. The zero value means the defaults.
type Limits struct {
	// Wire is how many bytes are read from the network; zero or less means
	// 5 MB.
	Wire int64
	// Decoded is how many bytes are kept after decompression; zero or less
	// means 20 MB.
	Decoded int64
}

const (
	defaultWire    = 5_000_000
	defaultDecoded = 20_000_000
	// maxRatio is how many bytes one compressed byte may become once more
	// than freeRatio bytes have come out.
	maxRatio  = 200
	freeRatio = 1_000_000
	// chunk is how much is decompressed between two looks at the limits.
	chunk = 32 << 10
)

// wireReader counts and bounds what comes from the network. Past the limit it
// reports the end of the input and remembers that there was more.
type wireReader struct {
	r    io.Reader
	n    int64
	max  int64
	over bool
}

func (w *wireReader) Read(p []byte) (int, error) {
	if w.over {
		return 0, io.EOF
	}
	// One byte more than allowed tells an exact fit from a longer body.
	if left := w.max - w.n + 1; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	if w.n > w.max {
		w.n, w.over = w.max, true
		return n - 1, io.EOF
	}
	return n, err
}

type bodyReader struct {
	wire    wireReader
	decoded int64
}

func newBodyReader(r io.Reader, limits Limits) *bodyReader {
	if limits.Wire <= 0 {
		limits.Wire = defaultWire
	}
	if limits.Decoded <= 0 {
		limits.Decoded = defaultDecoded
	}
	return &bodyReader{wire: wireReader{r: r, max: limits.Wire}, decoded: limits.Decoded}
}

// read returns the body and the limit that cut it, or with an error what there was
// before it. The limits are looked at
// outside the decompressor, between chunks, so that a bomb ends early.
func (b *bodyReader) read(encoding string) ([]byte, string, error) {
	var src io.Reader = &b.wire
	zipped := false
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
	case "gzip", "x-gzip":
		zipped = true
		zr, err := gzip.NewReader(&b.wire)
		if errors.Is(err, io.EOF) && b.wire.n == 0 {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", fmt.Errorf("%w: its gzip header: %w", ErrResponse, err)
		}
		src = zr
	default:
		return nil, "", fmt.Errorf("%w: content encoding %.40q, but only gzip was asked for", ErrResponse, encoding)
	}
	var out bytes.Buffer
	for {
		n, err := io.CopyN(&out, src, min(chunk, b.decoded-int64(out.Len())+1))
		if int64(out.Len()) > b.decoded {
			out.Truncate(int(b.decoded))
			return out.Bytes(), fmt.Sprintf("only the first %d decoded bytes were kept", b.decoded), nil
		}
		if zipped && out.Len() > freeRatio && int64(out.Len()) > maxRatio*b.wire.n {
			return out.Bytes(), fmt.Sprintf("only the first %d bytes were kept: the body expands more than %d-fold", out.Len(), maxRatio), nil
		}
		if err == nil && n > 0 {
			continue
		}
		if b.wire.over {
			return out.Bytes(), fmt.Sprintf("only the first %d bytes were received", b.wire.max), nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return out.Bytes(), "", fmt.Errorf("%w: after %d bytes: %w", ErrResponse, b.wire.n, err)
		}
		return out.Bytes(), "", nil
	}
}
