package builtin

import (
	"context"
	"io"
)

// ImageCodec makes of an image file what a model may be sent. It must be safe for
// concurrent use and return soon after ctx is done. Package builtin/media has one.
type ImageCodec interface {
	// Image decodes data, an image of the MIME type mime as its first bytes say,
	// and returns it within the codec's limits. An error says in words for the
	// model why it cannot be shown; it is reported as the text of the result.
	Image(ctx context.Context, mime string, data []byte) (*Image, error)
}

// Image is an image that may be sent.
type Image struct {
	MIME          string
	Data          []byte
	Width, Height int // in pixels

	// Of the file: its size in pixels, upright; and how many frames it has, of
	// which only the first is sent. 0 frames is one.
	FileWidth, FileHeight, Frames int
}

// PDFText reads the text of PDF files. It must be safe for concurrent use and
// return soon after ctx is done, whatever the file holds. Package builtin/media
// has one.
type PDFText interface {
	// Text returns the text of some pages. pages is as the model wrote it:
	// "1-5,9", or "" for the first few. An error says in words for the model what
	// is wrong with the file or with pages.
	Text(ctx context.Context, r io.ReaderAt, size int64, pages string) (*PDF, error)
}

// PDF is text from a PDF file.
type PDF struct {
	Total int       // pages of the file
	Pages []PDFPage // in the order that was asked for
	Next  string    // the pages to ask for next; "" if there are none left
}

// PDFPage is the text of a page.
type PDFPage struct {
	Number int // from 1
	Text   string
	Note   string // why there is no text, or not all; "" if there is nothing to say
}
