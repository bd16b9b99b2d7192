package textfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	chinese  = "中文测试文件，包含一些常用的汉字。这是第二句话，用来让统计更可靠。\n"
	japanese = "これは日本語のテキストです。ひらがなとカタカナと漢字。\n"
	korean   = "이것은 한국어 텍스트입니다. 인코딩 감지를 시험합니다.\n"
	western  = "Le café était fermé à Noël; où êtes-vous? Größe ändern.\n"
)

func enc(t testing.TB, charset, text string) []byte {
	t.Helper()
	c, err := lookup(charset)
	require.NoError(t, err)
	b, err := c.encode(text)
	require.NoError(t, err)
	return b
}

func TestDecodeRecognises(t *testing.T) {
	text := "line one ä\r\nline two 漢\r\n"
	for _, tt := range []struct {
		name string
		raw  []byte
		want string // encoding
		text string
	}{
		{"ascii", []byte("a\nb\n"), "utf-8", "a\nb\n"},
		{"empty", nil, "utf-8", ""},
		{"utf-8", []byte("ä漢😀"), "utf-8", "ä漢😀"},
		{"utf-8 bom", []byte("\ufeffa\r\nb"), "utf-8 with BOM", "a\nb"},
		{"utf-16le bom", append([]byte{0xff, 0xfe}, enc(t, "utf-16le", text)...), "utf-16le with BOM", "line one ä\nline two 漢\n"},
		{"utf-16be bom", append([]byte{0xfe, 0xff}, enc(t, "utf-16be", text)...), "utf-16be with BOM", "line one ä\nline two 漢\n"},
		{"utf-32le bom", append([]byte{0xff, 0xfe, 0, 0}, enc(t, "utf-32le", text)...), "utf-32le with BOM", "line one ä\nline two 漢\n"},
		{"utf-32be bom", append([]byte{0, 0, 0xfe, 0xff}, enc(t, "utf-32be", text)...), "utf-32be with BOM", "line one ä\nline two 漢\n"},
		{"utf-16le bare", enc(t, "utf-16le", "plain text\nsecond\n"), "utf-16le", "plain text\nsecond\n"},
		{"utf-16be bare", enc(t, "utf-16be", "plain text\nsecond\n"), "utf-16be", "plain text\nsecond\n"},
		{"utf-16le bare chinese", enc(t, "utf-16le", chinese), "utf-16le", chinese},
		{"gbk", enc(t, "gbk", chinese), "gbk", chinese},
		{"gbk code", enc(t, "gbk", "int x = 1; // 计算总数\nreturn x;\n"), "gbk", "int x = 1; // 计算总数\nreturn x;\n"},
		{"gb18030", enc(t, "gb18030", chinese+"😀\n"), "gb18030", chinese + "😀\n"},
		{"shift_jis", enc(t, "shift_jis", japanese), "shift_jis", japanese},
		{"euc-jp", enc(t, "euc-jp", japanese), "euc-jp", japanese},
		{"euc-kr", enc(t, "euc-kr", korean), "euc-kr", korean},
		{"big5", enc(t, "big5", "這是繁體中文的測試檔案，包含常用的漢字。\n"), "big5", "這是繁體中文的測試檔案，包含常用的漢字。\n"},
		{"windows-1252", enc(t, "windows-1252", western), "windows-1252", western},
		{"windows-1252 quotes", enc(t, "windows-1252", "He said “hello” – it costs 5 €\n"), "windows-1252", "He said “hello” – it costs 5 €\n"},
		{"one byte", []byte("caf\xe9\n"), "windows-1252", "café\n"},
		{"log with a hole", append([]byte("line\nline\n"), make([]byte, 100)...), "utf-8", "line\nline\n" + strings.Repeat("\x00", 100)},
		{"ansi colours", []byte("\x1b[31mred\x1b[0m\n"), "utf-8", "\x1b[31mred\x1b[0m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Decode(tt.raw, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, f.Encoding.String())
			assert.Equal(t, tt.text, f.Text)
			assert.False(t, f.Lossy)
			back, err := f.Apply(nil)
			require.NoError(t, err)
			assert.Equal(t, string(tt.raw), string(back))
			assert.Equal(t, len(tt.raw), f.RawOffset(len(f.Text)))
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0, 1, 2, 3}, 50)...)
	random := make([]byte, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(r.IntN(255) + 1)
	}
	for name, raw := range map[string][]byte{"png": png, "nul": []byte("a\x00b"), "nuls": make([]byte, 10), "controls": []byte("\x01\x02\x03abc"), "random": random, "int16": {1, 0, 2, 0, 3, 0, 4, 0}} {
		_, err := Decode(raw, nil)
		assert.ErrorIs(t, err, ErrBinary, name)
	}

	// The decoder of GBK turns these bytes into U+FFFD without an error.
	for name, raw := range map[string]string{"broken utf-8": "good ä ö ü ß text\nbad \xff here\n", "gbk": "plain text and \xff A and the end \xc4"} {
		f, err := Decode([]byte(raw), &DecodeOptions{Charset: "gbk"})
		require.NoError(t, err, name)
		if f.Lossy {
			_, err = f.Apply([]Span{{0, 1, "x"}})
			require.ErrorIs(t, err, ErrLossy)
			_, err = f.Replace("x")
			require.ErrorIs(t, err, ErrLossy)
			assert.True(t, utf8.ValidString(f.Text))
		} else {
			assert.NotContains(t, f.Text, "\ufffd")
		}
	}
	f, err := Decode([]byte("good ä ö ü ß text\nbad \xff here\n"), nil)
	require.NoError(t, err)
	assert.True(t, f.Lossy, "a damaged UTF-8 file is not taken for another encoding")
	odd := append([]byte{0xff, 0xfe}, enc(t, "utf-16le", "some text\n")...)
	f, err = Decode(append(odd, 'x'), nil)
	require.NoError(t, err)
	assert.True(t, f.Lossy)
}

func TestDeclaredCharset(t *testing.T) {
	raw := enc(t, "koi8-r", "Привет, мир\n")
	f, err := Decode(raw, &DecodeOptions{Charset: "koi8-r"})
	require.NoError(t, err)
	assert.Equal(t, "Привет, мир\n", f.Text)
	assert.False(t, f.Guessed)
	f, err = Decode(raw, &DecodeOptions{Default: "KOI8-R", NoGuess: true})
	require.NoError(t, err)
	assert.Equal(t, "koi8-r", f.Encoding.Name)
	f, err = Decode([]byte("ä"), &DecodeOptions{Charset: "latin1"})
	require.NoError(t, err)
	assert.Equal(t, "utf-8", f.Encoding.Name, "what the bytes say counts first")
	_, err = lookup("iso-2022-jp")
	require.ErrorIs(t, err, ErrEncoding)
	_, err = lookup("nonsense")
	require.ErrorIs(t, err, ErrEncoding)
}

func TestLinesAndEnds(t *testing.T) {
	for _, tt := range []struct {
		raw   string
		text  string
		eol   EOL
		lines int
		final bool
	}{
		{"", "", EOLNone, 0, false},
		{"a", "a", EOLNone, 1, false},
		{"a\n", "a\n", EOLLF, 1, true},
		{"a\nb", "a\nb", EOLLF, 2, false},
		{"a\r\nb\r\n", "a\nb\n", EOLCRLF, 2, true},
		{"a\r\nb\n", "a\nb\n", EOLMixed, 2, true},
		{"a\rb\u2028c\fd\ve\u0085f", "a\rb\u2028c\fd\ve\u0085f", EOLNone, 1, false},
		{"a\r\r\nb", "a\r\nb", EOLCRLF, 2, false},
	} {
		f, err := Decode([]byte(tt.raw), nil)
		require.NoError(t, err)
		assert.Equal(t, tt.text, f.Text, "%q", tt.raw)
		assert.Equal(t, tt.eol, f.EOL, "%q", tt.raw)
		assert.Equal(t, tt.lines, f.Lines(), "%q", tt.raw)
		assert.Equal(t, tt.final, f.FinalNewline(), "%q", tt.raw)
	}
}

func TestApplyLineEnds(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		old, new  string // old is replaced at its first place in Text; "" inserts at the marked place
		want      string
	}{
		{"replace in crlf", "a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
		{"model sends crlf", "a\r\nb\r\n", "b\n", "x\r\ny\r\n", "a\r\nx\r\ny\r\n"},
		{"model sends crlf to lf", "a\nb\n", "b\n", "x\r\ny\r\n", "a\nx\ny\n"},
		{"mixed, line by line", "a\r\nb\nc\r\nd\n", "b\nc\n", "B\nC\n", "a\r\nB\nC\r\nd\n"},
		{"mixed, one line more", "a\r\nb\nc\r\nd\n", "b\n", "B\nBB\n", "a\r\nB\nBB\nc\r\nd\n"},
		{"mixed, after crlf line", "a\r\nb\n", "a\n", "a\nnew\n", "a\r\nnew\r\nb\n"},
		{"mixed, after lf line", "a\nb\r\n", "a\n", "a\nnew\n", "a\nnew\nb\r\n"},
		{"mixed, before first line", "a\r\nb\n", "a\n", "new\na\n", "new\r\na\r\nb\n"},
		{"mixed, split a line", "a b\r\nc\n", "a b", "a\nb", "a\r\nb\r\nc\n"},
		{"mixed, at the end without newline", "a\nb\r\nc", "c", "c\nd", "a\nb\r\nc\r\nd"},
		{"kept ends", "a\r\nb\nc\r\n", "a\nb\nc\n", "a\nX\nc\n", "a\r\nX\nc\r\n"},
		{"no final newline stays", "a\r\nb", "b", "c", "a\r\nc"},
		{"final newline removed on purpose", "a\nb\n", "b\n", "b", "a\nb"},
		{"lone cr is content", "a\rb\n", "a\rb", "a\rc", "a\rc\n"},
		{"bom not doubled", "\ufeffa\r\n", "a\n", "\ufeffb\n", "\ufeffb\r\n"},
		{"one line", "a", "a", "a\nb", "a\nb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Decode([]byte(tt.raw), nil)
			require.NoError(t, err)
			i := strings.Index(f.Text, tt.old)
			require.GreaterOrEqual(t, i, 0)
			got, err := f.Apply([]Span{{i, i + len(tt.old), tt.new}})
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	f, err := Decode([]byte("häß\n"), nil)
	require.NoError(t, err)
	for _, spans := range [][]Span{{{-1, 0, ""}}, {{0, 99, ""}}, {{3, 2, ""}}, {{2, 3, ""}}, {{0, 3, "x"}, {1, 3, "y"}}} {
		_, err := f.Apply(spans)
		assert.ErrorIs(t, err, ErrSpan, "%v", spans)
	}
	_, err = f.Apply([]Span{{0, 0, "\xff"}})
	require.ErrorIs(t, err, ErrEncoding)
	got, err := f.Apply([]Span{{0, 0, "1"}, {0, 0, "2"}, {5, 5, "!"}, {1, 3, "a"}})
	require.NoError(t, err)
	assert.Equal(t, "12haß!\n", string(got))
}

func TestEncodeErrorNamesTheCharacter(t *testing.T) {
	f, err := Decode(enc(t, "windows-1252", western), nil)
	require.NoError(t, err)
	_, err = f.Apply([]Span{{0, 0, "ok → no"}})
	var e *EncodeError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, '→', e.Rune)
	assert.EqualError(t, err, `the file is windows-1252, which has no '→' (U+2192); use other characters or convert the file to UTF-8 first`)
	require.ErrorIs(t, err, ErrEncoding)
	u, err := f.AsUTF8()
	require.NoError(t, err)
	got, err := u.Apply([]Span{{0, 0, "→ "}})
	require.NoError(t, err)
	assert.Equal(t, "→ "+western, string(got))
}

func TestReplaceWhole(t *testing.T) {
	for _, tt := range []struct{ raw, text, want string }{
		{"a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"a\r\nb\r\n", "a\r\nc\n", "a\r\nc\n"},
		{"\ufeffa\n", "b\n", "\ufeffb\n"},
		{"a\nb\r\nc\nd\n", "a\nb\nX\nY\n", "a\nb\r\nX\nY\n"},
		{"", "x\n", "x\n"},
		{"\ufeffa\r\n", "\ufeffb\r\n", "\ufeffb\r\n"},
	} {
		f, err := Decode([]byte(tt.raw), nil)
		require.NoError(t, err)
		got, err := f.Replace(tt.text)
		require.NoError(t, err)
		assert.Equal(t, tt.want, string(got))
	}
}

func TestEncodeNew(t *testing.T) {
	for _, tt := range []struct {
		s          Settings
		text, want string
	}{
		{Settings{}, "a\nb", "a\nb"},
		{Settings{EOL: EOLCRLF}, "a\nb", "a\r\nb"},
		{Settings{EOL: EOLCRLF}, "a\r\nb\n", "a\r\nb\n"},
		{Settings{Charset: "utf-8-bom"}, "a", "\ufeffa"},
		{Settings{}, "\ufeffa", "\ufeffa"},
		{Settings{Charset: "utf-16le"}, "a", "\xff\xfea\x00"},
		{Settings{Charset: "latin1"}, "ä", "\xe4"},
		{Settings{Charset: "who knows"}, "ä", "ä"},
	} {
		got, err := EncodeNew(tt.text, tt.s)
		require.NoError(t, err)
		assert.Equal(t, tt.want, string(got))
	}
	_, err := EncodeNew("漢", Settings{Charset: "latin1"})
	require.ErrorIs(t, err, ErrEncoding)
}

var fuzzCharsets = []string{"utf-8", "utf-16le", "utf-16be", "utf-32le", "gbk", "gb18030", "shift_jis", "windows-1252", "euc-kr", "big5"}

// checkSplice applies spans and checks the bytes outside of them, one by one, against an independent reckoning: each span's
// stretch of raw bytes is found by encoding the text before it.
func checkSplice(t *testing.T, raw []byte, f *File, spans []Span) []byte {
	t.Helper()
	got, err := f.Apply(spans)
	if err != nil {
		return nil
	}
	// The raw bytes before the first span and after the last one are there, unchanged.
	first, last := len(f.Text), 0
	for _, s := range spans {
		first, last = min(first, s.Start), max(last, s.End)
	}
	head := raw[:f.RawOffset(first)]
	tail := raw[f.RawOffset(last):]
	if !bytes.HasPrefix(got, head) || !bytes.HasSuffix(got, tail) || len(got) < len(head)+len(tail) {
		t.Fatalf("bytes outside changed:\nraw  %q\ngot  %q\nhead %q\ntail %q\nspans %+v", raw, got, head, tail, spans)
	}
	return got
}

// TestApplyEveryEncoding runs edits over each encoding, with each style of line ends.
func TestApplyEveryEncoding(t *testing.T) {
	texts := map[string]string{
		"gbk": "变量 x = 1\n注释\n", "gb18030": "变量 😀\n注释\n", "shift_jis": "変数ソ表 x\nコメント\n", "windows-1252": "café x\ndéjà\n",
		"euc-kr": "변수 x\n주석\n", "big5": "變數 x\n註解功\n",
	}
	for _, charset := range fuzzCharsets {
		for eol, conv := range map[string]func(string) string{
			"lf": func(s string) string { return s }, "crlf": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			"mixed": func(s string) string { return strings.Replace(s, "\n", "\r\n", 1) },
		} {
			text := texts[charset]
			if text == "" {
				text = "näme 漢 😀\nsecond\n"
			}
			raw := enc(t, charset, conv(text))
			f, err := Decode(raw, &DecodeOptions{Charset: charset})
			require.NoError(t, err)
			require.Equal(t, text, f.Text, "%s %s", charset, eol)
			for i := range f.Text {
				for j := i; j <= len(f.Text); j++ {
					if !f.boundary(j) || !f.boundary(i) {
						continue
					}
					spans := []Span{{i, j, "new\nx"}}
					got := checkSplice(t, raw, f, spans)
					require.NotNil(t, got)
					back, err := Decode(got, &DecodeOptions{Charset: charset, NoGuess: true})
					require.NoError(t, err)
					if back.Encoding == f.Encoding {
						require.Equal(t, f.Text[:i]+"new\nx"+f.Text[j:], back.Text)
					}
				}
			}
		}
	}
}

// FuzzApply: whatever the bytes and the spans, bytes outside the spans stay, the text is the text with the spans replaced, and
// the edit that puts the old text back gives the old bytes when the line ends are of one kind.
func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r\n"), uint8(0), 2, 4, 0, "x\ny", "")
	f.Add([]byte("\ufeffa\r\nb"), uint8(0), 0, 1, 2, "\r\n", "z")
	f.Add(enc(f, "gbk", chinese), uint8(4), 3, 9, 12, "中", "\n")
	f.Add(enc(f, "shift_jis", japanese), uint8(6), 3, 6, 9, "表", "ソ")
	f.Add(enc(f, "utf-16le", "ab\r\ncd"), uint8(1), 1, 2, 3, "😀", "")
	f.Add([]byte("\xef\xbb0"), uint8(5), 0, 0, 1, "I\ue764", "8") // GB18030 stores this private character as another one
	f.Add([]byte("a\r\r\nb\r"), uint8(0), 1, 2, 3, "\r", "\r\n")
	f.Fuzz(func(t *testing.T, raw []byte, charset uint8, a, b, c int, new1, new2 string) {
		if len(raw) > 1<<16 {
			return
		}
		file, err := Decode(raw, &DecodeOptions{Charset: fuzzCharsets[int(charset)%len(fuzzCharsets)]})
		if err != nil {
			return
		}
		if !utf8.ValidString(file.Text) {
			t.Fatalf("text is not UTF-8: %q", file.Text)
		}
		if file.Lossy {
			if _, err := file.Apply([]Span{{0, 0, "x"}}); err == nil {
				t.Fatal("a lossy file was edited")
			}
			return
		}
		if same, err := file.Apply(nil); err != nil || !bytes.Equal(same, raw) {
			t.Fatalf("no spans: %q, %v", same, err)
		}
		at := func(n int) int {
			n = int(uint(n) % uint(len(file.Text)+1))
			for !file.boundary(n) {
				n--
			}
			return n
		}
		p := []int{at(a), at(b), at(c)}
		if p[0] > p[1] {
			p[0], p[1] = p[1], p[0]
		}
		if p[2] < p[1] {
			p[2] = p[1]
		}
		spans := []Span{{p[2], p[2], new2}, {p[0], p[1], new1}}
		got := checkSplice(t, raw, file, spans)
		if got == nil {
			return
		}
		// the stretch between the spans
		mid := raw[file.RawOffset(p[1]):file.RawOffset(p[2])]
		if !bytes.Contains(got, mid) {
			t.Fatalf("bytes between the spans changed: %q not in %q", mid, got)
		}

		if file.EOL == EOLMixed || strings.Contains(file.Text+new1, "\r") || strings.HasPrefix(new1, "\ufeff") {
			return
		}
		one, err := file.Apply(spans[1:])
		if err != nil {
			t.Fatal(err)
		}
		again := newFile(one, "", file.codec, file.Encoding.BOM)
		text, exact := file.codec.decode(one[again.bomLen():])
		if !exact {
			return
		}
		again.setText(text)
		if want := file.Text[:p[0]] + new1 + file.Text[p[1]:]; again.Text != want {
			t.Fatalf("text is %q, want %q", again.Text, want)
		}
		if again.EOL != file.EOL && file.EOL != EOLNone {
			return // the last line end of a CRLF file went away: nothing tells its style any more
		}
		inverse, err := again.Apply([]Span{{p[0], p[0] + len(new1), file.Text[p[0]:p[1]]}})
		if err != nil || !bytes.Equal(inverse, raw) {
			t.Fatalf("inverse gives %q, %v, want %q", inverse, err, raw)
		}
	})
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext": "plain\ttext", "\x1b[2J": `\x1b[2J`, "a\rb": `a\rb`, "\u202eevil": `\u202eevil`, "\xff": `\xff`, "a\u200bb": `a\u200bb`,
		"👩\u200d💻": "👩\u200d💻", "\x7f\x00": `\x7f\x00`, "\u0085": `\u0085`, "\U000e0041": `\U000e0041`, "é漢": "é漢", "\u2028": `\u2028`, "": "",
	} {
		got, _ := Visible(in)
		assert.Equal(t, want, got)
	}
	_, n := Visible("\x1b\x1b ok \r")
	assert.Equal(t, 3, n)
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b\u202e\xff\U000e0001")
	f.Fuzz(func(t *testing.T, s string) {
		v, n := Visible(s)
		if !utf8.ValidString(v) {
			t.Fatalf("not UTF-8: %q", v)
		}
		if again, m := Visible(v); again != v || m != 0 {
			t.Fatalf("%q is still not plain: %q", v, again)
		}
		if n == 0 && v != s {
			t.Fatal("changed without an escape")
		}
	})
}

func ExampleFile_Apply() {
	f, err := Decode([]byte("one\r\ntwo\r\nthree\n"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := strings.Index(f.Text, "two")
	out, err := f.Apply([]Span{{Start: at, End: at + 3, New: "2\n2½"}})
	fmt.Printf("%s %s %q %v\n", f.Encoding, f.EOL, out, err)
	// Output: utf-8 mixed "one\r\n2\r\n2½\r\nthree\n" <nil>
}

func BenchmarkApply10MB(b *testing.B) {
	for _, eol := range []string{"\n", "\r\n"} {
		raw := bytes.Repeat([]byte("some ordinary line of source code, forty or so"+eol), 220_000)
		f, err := Decode(raw, nil)
		require.NoError(b, err)
		b.Run(f.EOL.String(), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := f.Apply([]Span{{5_000_000, 5_000_100, "x\ny"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
