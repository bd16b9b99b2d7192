package tool

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool/truncate"
)

// Truncator returns a [TruncateFunc] that bounds text by p. Spec.MaxOutput, when
// it is positive, replaces p.MaxBytes; when it is negative, or when the metadata
// has a "truncated" already, the tool's text is left as it is. Metadata gets
// "truncated", and "outputPath" if the full text was kept. A nil p.Hint names
// the tools to go on with, if the model is offered them.
func Truncator(p truncate.Policy) TruncateFunc {
	return func(ctx context.Context, call *Call, spec *Spec, res *Result) error {
		res.Text = validText(res.Text)
		if res.Truncated != nil {
			return nil
		}
		if _, own := res.Metadata["truncated"]; own || spec.MaxOutput < 0 {
			res.Truncated = &Truncation{}
			return nil
		}
		q := p
		if spec.MaxOutput > 0 {
			q.MaxBytes = spec.MaxOutput
		}
		if fitsAtOnce(&q, res.Text) {
			res.Truncated = &Truncation{}
			res.Metadata = withKey(res.Metadata, "truncated", false)
			return nil
		}
		if q.Hint == nil {
			q.Hint = func(c truncate.Cut) string { return hint(call, c) }
		}
		cut := q.Apply(ctx, res.Text)
		res.Text = cut.Text
		res.Truncated = &Truncation{Bytes: cut.Bytes, Lines: cut.Lines, Path: cut.Path}
		res.Metadata = withKey(res.Metadata, "truncated", cut.Truncated)
		if cut.Path != "" {
			res.Metadata["outputPath"] = cut.Path
		}
		if cut.SpillErr != nil {
			res.Metadata["spill"] = "failed: " + clip(cut.SpillErr.Error(), 200)
		}
		return nil
	}
}

// defaultTruncate is what calls without an executor's policy get.
func defaultTruncate(ctx context.Context, call *Call, spec *Spec, res *Result) error {
	return Truncator(truncate.Policy{})(ctx, call, spec, res)
}

// fitsAtOnce spares short texts the counting: one has at most as many lines as bytes.
func fitsAtOnce(p *truncate.Policy, text string) bool {
	maxBytes, maxLines := p.MaxBytes, p.MaxLines
	if maxBytes == 0 {
		maxBytes = truncate.DefaultMaxBytes
	}
	if maxLines == 0 {
		maxLines = truncate.DefaultMaxLines
	}
	return p.MaxTokens <= 0 && (maxBytes < 0 || len(text) <= maxBytes) && (maxLines < 0 || len(text) <= maxLines)
}

// maxValidated is how much text is checked to be UTF-8. Default limits are far
// below; a host that raises them beyond vouches for its own tools' longer texts.
const maxValidated = 256 << 10

func validText(s string) string {
	if len(s) > maxValidated || utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// hint says how to see the rest of a text that was cut, with tools that are offered.
func hint(call *Call, c truncate.Cut) string {
	if c.Path == "" {
		return "Call the tool again with a narrower request."
	}
	var ways []string
	if call.Offers("read") {
		next := ""
		if c.NextLine > 1 {
			next = fmt.Sprintf(" offset=%d", c.NextLine)
		}
		ways = append(ways, fmt.Sprintf("read filePath=%q%s", c.Path, next))
	}
	if call.Offers("grep") {
		ways = append(ways, fmt.Sprintf("grep path=%q", c.Path))
	}
	if call.Offers("task") {
		ways = append(ways, "a task that reads it and reports")
	}
	if len(ways) == 0 {
		return "" // the notice names the file
	}
	return "See the rest with " + strings.Join(ways, ", or ") + "."
}
