package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/internal/pdftext"
)

// PDF is a [builtin.PDFText] that reads PDF files in this process. Time, memory
// and nesting are bounded whatever the file holds; nothing goes on after a call
// returned. Encrypted files and text in images are not read. The zero value is
// ready, and is safe for concurrent use.
type PDF struct {
	// Pages is how many pages a call shows that does not say which; 0 means 10.
	Pages int
	// MaxPages is how many a call shows at most; 0 means 20.
	MaxPages int
	// Time is how long a call may take; 0 means 5 s.
	Time time.Duration
}

var _ builtin.PDFText = (*PDF)(nil)

// Text implements [builtin.PDFText].
func (p *PDF) Text(ctx context.Context, r io.ReaderAt, size int64, pages string) (*builtin.PDF, error) {
	limit := p.Time
	if limit <= 0 {
		limit = 5 * time.Second
	}
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	slow := func(err error) error {
		if own.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("it took longer than %s", limit)
		}
		return err
	}
	doc, err := pdftext.Open(own, r, size)
	if err != nil {
		return nil, slow(err)
	}
	want, next, err := p.choose(pages, doc.Pages())
	if err != nil {
		return nil, err
	}
	out := &builtin.PDF{Total: doc.Pages(), Next: next}
	for i, n := range want {
		text, note, err := doc.Page(own, n)
		if err != nil {
			if err = slow(err); ctx.Err() != nil || i == 0 {
				return nil, err
			}
			out.Next = pageText(append(want[i:], parsePages(next, doc.Pages())...))
			return out, nil
		}
		out.Pages = append(out.Pages, builtin.PDFPage{Number: n, Text: text, Note: note})
	}
	return out, nil
}

// choose returns the pages to show and those that are left over.
func (p *PDF) choose(pages string, total int) (want []int, next string, err error) {
	few, most := or(p.Pages, 10), or(p.MaxPages, 20)
	if strings.TrimSpace(pages) == "" {
		if total > few {
			next = pageText(span(few+1, min(total, 2*few)))
		}
		return span(1, min(few, total)), next, nil
	}
	want = parsePages(pages, total)
	if want == nil {
		return nil, "", errors.New(`pages must be numbers and ranges, as "1-5,9"`)
	}
	want = slices.DeleteFunc(want, func(n int) bool { return n > total })
	if len(want) == 0 {
		return nil, "", fmt.Errorf("there is no such page: it has %d", total)
	}
	if len(want) > most {
		want, next = want[:most:most], pageText(want[most:])
	}
	return want, next, nil
}

func span(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// parsePages reads "1-5,9": in order, each once. Nil means that it is not of that form.
func parsePages(s string, total int) []int {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		lo, hi, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(strings.TrimSpace(lo))
		to := from
		if isRange && err == nil {
			if strings.TrimSpace(hi) == "" {
				to = total
			} else {
				to, err = strconv.Atoi(strings.TrimSpace(hi))
			}
		}
		if err != nil || from < 1 || to < from && to < total {
			return nil
		}
		for n := from; n <= min(to, total+1); n++ {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		if from > total {
			out = append(out, total+1)
		}
	}
	return out
}

// pageText writes pages as parsePages reads them.
func pageText(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
