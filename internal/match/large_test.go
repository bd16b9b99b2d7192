package match_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/match"
)

var nouns = []string{"buffer", "count", "limit", "handler", "cursor", "payload", "offset", "registry", "timeout", "worker", "session", "token"}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func mapLines(lines []string, f func(string) string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = f(l)
	}
	return out
}

// A largeCase is an edit of a large text.
type largeCase struct {
	name  string
	text  string
	edit  match.Edit
	found bool
}

// largeText makes about size bytes of source-like lines.
func largeText(size int) []string {
	r := rand.New(rand.NewPCG(7, 11))
	var lines []string
	for n := 0; n < size; {
		var l string
		switch k := len(lines); k % 12 {
		case 0:
			l = fmt.Sprintf("func process%d(ctx context.Context, in []byte) error {", k)
		case 10:
			l = "}"
		case 11:
			l = ""
		case 3:
			l = "\tif err != nil {"
		case 4:
			l = "\t\treturn err"
		case 5:
			l = "\t}"
		default:
			l = fmt.Sprintf("\tvalue%d := compute(%d, %q)", r.IntN(1_000_000), r.IntN(1000), nouns[r.IntN(len(nouns))])
		}
		lines = append(lines, l)
		n += len(l) + 1
	}
	return lines
}

func largeCases(size int) []largeCase {
	lines := largeText(size)
	text := join(lines)
	at := len(lines) * 9 / 10 / 12 * 12
	block := func(n int) []string { return append([]string{}, lines[at:at+n]...) }
	changed := func(b []string) string {
		out := append([]string{}, b...)
		out[len(out)/2] = "\tchanged()"
		return join(out)
	}
	other := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("\tabsent%d := nothing(%d)", i, i*7)
		}
		return out
	}
	var cases []largeCase
	add := func(name, text string, e match.Edit, found bool) {
		cases = append(cases, largeCase{name, text, e, found})
	}
	for _, n := range []int{10, 500} {
		add(fmt.Sprintf("exact_%d", n), text, match.Edit{Old: join(block(n)), New: changed(block(n))}, true)
	}
	dedent := mapLines(block(500), func(l string) string { return strings.TrimPrefix(l, "\t") })
	add("indent_500", text, match.Edit{Old: join(dedent), New: changed(dedent)}, true)
	trailing := mapLines(block(500), func(l string) string { return l + " " })
	add("trailing_ws_500", text, match.Edit{Old: join(trailing), New: changed(trailing)}, true)
	slip := block(500)
	for i := 13; i < 480; i += 48 {
		if len(slip[i]) > 12 {
			slip[i] = strings.Replace(slip[i], "value", "vaule", 1)
		}
	}
	add("slip_500", text, match.Edit{Old: join(slip), New: changed(slip)}, true)
	for _, n := range []int{1, 20, 200, 500} {
		add(fmt.Sprintf("absent_%d", n), text, match.Edit{Old: join(other(n)), New: "x\n"}, false)
	}
	half := block(200)
	copy(half, other(100))
	add("half_200", text, match.Edit{Old: join(half), New: "x\n"}, false)
	weak := append(append([]string{"\tif err != nil {"}, other(8)...), "\t}")
	add("weak_anchors", text, match.Edit{Old: join(weak), New: "x\n"}, false)
	add("replace_all", text, match.Edit{Old: "compute(", New: "calculate(", All: true}, true)
	long := strings.Repeat("abcdefgh ", size/9)
	add("long_line", long, match.Edit{Old: "abcdefgh abcdefgx", New: "x"}, false)
	hit := long[:size/2] + "needle" + long[size/2:]
	add("long_line_hit", hit, match.Edit{Old: "needle", New: "pin"}, true)
	same := strings.Repeat("\tx()\n", size/5)
	add("repetitive", same, match.Edit{Old: strings.Repeat("\tx()\n", 500), New: "z\n"}, false)
	add("repetitive_absent", same, match.Edit{Old: strings.Repeat("\tx()\n", 499) + "\ty()\n", New: "z\n"}, false)
	add("repetitive_indent", same, match.Edit{Old: strings.Repeat("x()\n", 500), New: "z\n"}, false)
	add("repetitive_all", same, match.Edit{Old: strings.Repeat("  x()\n", 3), New: "z\n", All: true}, true)
	blanks := strings.Repeat("\tx()\n\n", size/6)
	add("repetitive_blank", blanks, match.Edit{Old: strings.Repeat("x()\n", 400), New: "z\n"}, false)
	return cases
}

func (c *largeCase) run() error {
	_, err := match.Find(c.text, c.edit)
	return err
}

// TestLargeInputsEnd runs every case once and asserts what becomes of it; the
// bound on time only catches a hang.
func TestLargeInputsEnd(t *testing.T) {
	for _, c := range largeCases(1 << 20) {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			err := c.run()
			assert.Less(t, time.Since(start), 10*time.Second, "a hang")
			if c.found {
				require.NoError(t, err)
				return
			}
			var e *match.Error
			require.ErrorAs(t, err, &e)
			assert.LessOrEqual(t, strings.Count(err.Error(), "\n"), 40)
			assert.Less(t, len(err.Error()), 12_000)
			if c.name == "half_200" {
				require.True(t, errors.Is(err, match.ErrNotFound))
				require.NotNil(t, e.Near)
				assert.GreaterOrEqual(t, e.Near.Equal, 60)
			}
		})
	}
}

// BenchmarkLarge reports the time of each case as a multiple of one plain search
// for a text that is not there, and how it grows from 1 to 10 MB.
func BenchmarkLarge(b *testing.B) {
	small, large := largeCases(1<<20), largeCases(10<<20)
	for i := range small {
		b.Run(small[i].name, func(b *testing.B) {
			var at [2]time.Duration
			var scan [2]time.Duration
			for k, c := range []*largeCase{&small[i], &large[i]} {
				scan[k] = best(5, func() { sink += strings.Count(c.text, "nothing like this is in the text") })
				at[k] = best(3, func() { _ = c.run() })
			}
			for b.Loop() {
				_ = small[i].run()
			}
			b.ReportMetric(float64(at[0])/float64(scan[0]), "x_scan_1MB")
			b.ReportMetric(float64(at[1])/float64(scan[1]), "x_scan_10MB")
			b.ReportMetric(float64(at[1])/float64(at[0]), "growth")
			b.ReportMetric(float64(scan[1])/float64(scan[0]), "scan_growth")
			b.ReportMetric(float64(at[1].Microseconds())/1000, "ms_10MB")
		})
	}
}

// sink keeps the plain search from being optimized away.
var sink int

func best(n int, f func()) time.Duration {
	var out time.Duration
	for i := range n {
		start := time.Now()
		f()
		if d := time.Since(start); i == 0 || d < out {
			out = d
		}
	}
	return out
}
