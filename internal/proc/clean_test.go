package proc

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cleaned returns what is shown of text that is written in one piece.
func cleaned(text string) string {
	var c cleaner
	out := c.Append(nil, []byte(text))
	return string(append(out, c.Pending()...))
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"plain\ttext\n":              "plain\ttext\n",
		"no newline":                 "no newline",
		"dos\r\nlines\r\n":           "dos\nlines\n",
		"dos\r\r\n":                  "dos\n",
		"10%\r50%\r100%\n":           "100%\n",
		"10%\r50%":                   "50%",
		"working\r":                  "working",
		"a\rb\nc\rd\n":               "b\nd\n",
		"\x1b[1;31mred\x1b[0m":       "red",
		"\x1b[38;2;1;2;3mtrue\x1b[m": "true",
		"busy\r\x1b[K\n":             "\n",
		"busy\r\x1b[Kdone\n":         "done\n",
		"busy\x1b[2K\rdone\n":        "done\n",
		"busy\x1b[2Kx\n":             "x\n",
		"busy\x1b[1Gdone\n":          "done\n",
		"a\x1b[5Cb":                  "a     b",
		"\x1b]0;title\atext":         "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bPdevice\x1b\\x":                       "x",
		"\x1b(Bx\x1b)0y":                           "xy",
		"\x1b=\x1b>\x1bMx":                         "x",
		"\x1b[31\nnext":                            "\nnext", // a newline ends every sequence
		"\x1b]0;no end\nnext":                      "\nnext",
		"\x1b[1\x1b[2mx":                           "x",
		"abc\b\bX":                                 "aX",
		"_\bu_\bn":                                 "un",
		"日\b本":                                     "本",
		"\b\bx":                                    "x",
		"bell\a\x00\x7f\x01 end":                   "bell end",
		"page\fbreak\v":                            "pagebreak",
		"bad \xff\xfe bytes":                       "bad \uFFFD\uFFFD bytes",
		"cut \xe4\xbd":                             "cut \uFFFD\uFFFD",
		"\x1b":                                     "",
		"\x1b[":                                    "",
		"über\rö\n":                                "ö\n",
		"a\r\nb\r":                                 "a\nb",
	} {
		assert.Equal(t, want, cleaned(in), "%q", in)
	}
	long := strings.Repeat("x", maxLine+10)
	assert.Equal(t, long+" new\n", cleaned(long+"\rnew\n"), "what went on cannot be taken back")
	seq := "\x1b]" + strings.Repeat("y", 3*maxSeq)
	assert.Len(t, cleaned(seq), 2*maxSeq+1, "a sequence without end is text at last")
}

// However the output comes in pieces, the text is the same.
func TestCleanInPieces(t *testing.T) {
	text := "日本\r\n\x1b[31mred\x1b[0m\x1b]0;t\x1b\\x\x1b]0;t\a 50%\r\x1b[K100% ü\xff\xe4\xbd end\b\b\bEND\n\x1b(B" + strings.Repeat("long", 9000) + "\rz"
	want := cleaned(text)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var c cleaner
		var out []byte
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1+r.IntN(9000)))
			out = c.Append(out, rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, want, string(append(out, c.Pending()...)))
	}
}

func TestClassify(t *testing.T) {
	for b := range 256 {
		for n := range 80 {
			s := bytes.Repeat([]byte("a"), n+1)
			s[n/2] = byte(b)
			plain, ascii := classify(s)
			require.Equal(t, !isControl(byte(b)), plain, "%#x in %d", b, n)
			require.Equal(t, b < 0x80, ascii, "%#x in %d", b, n)
			want := len(s)
			if isControl(byte(b)) {
				want = n / 2
			}
			require.Equal(t, want, nextControl(s))
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("a\rb\x1b[Kc\n\x1b]0;x\ay\b\xff\xe4"), uint64(1))
	f.Add([]byte("\x1b[31mred\x1b[0m\r\n50%\r100%\r\n"), uint64(2))
	f.Add([]byte("00000\xfe\xfe"), uint64(52))
	f.Add([]byte("\x1b[99999999999C\x1b[2K\x1bP\x1b\x1b\\"), uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		want := cleaned(string(b))
		require.True(t, utf8.ValidString(want))
		require.Equal(t, bytes.Count(b, []byte("\n")), strings.Count(want, "\n"), "lines are kept")
		for i := range len(want) {
			require.False(t, isControl(want[i]))
		}
		r := rand.New(rand.NewPCG(seed, 1))
		var c cleaner
		var out []byte
		for rest := b; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			out = c.Append(out, rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, want, string(append(out, c.Pending()...)))
	})
}

func BenchmarkClassify(b *testing.B) {
	for _, line := range []string{"a line of ordinary length, as programs print them all day\n", "y\n"} {
		text := []byte(strings.Repeat(line, 64<<10/len(line)))
		b.Run(strings.TrimSpace(line)[:1], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				classify(text)
			}
		})
	}
}

func BenchmarkClean(b *testing.B) {
	for name, line := range map[string]string{
		"plain":    "a line of ordinary length, as programs print them all day\n",
		"short":    "y\n",
		"colours":  "\x1b[32mok\x1b[0m   github.com/agenttool/tool/internal/proc \x1b[1m0.003s\x1b[0m\n",
		"progress": "\r 42% [=================>                      ] 12.3 MB/s",
		"dos":      "a line of ordinary length, as programs print them all day\r\n",
		"unicode":  "Ünïcödé 日本語テキスト, ein wenig gemischt mit ASCII\n",
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat(line, 64<<10/len(line)))
			var c cleaner
			var dst []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = c.Append(dst[:0], text)
			}
		})
	}
}
