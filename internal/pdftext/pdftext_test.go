package pdftext_test

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/pdftext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// file makes a PDF of objects, which are numbered from 1. There is no
// cross-reference table; readers that need none do without.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n")
	return b.Bytes()
}

func streamOf(dict, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
}

func flate(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

// page makes a PDF with one page of this content.
func page(content string, more ...string) []byte {
	return file(append([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F 4 0 R/G 6 0 R>>/XObject<</X 7 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		streamOf("", content),
	}, more...)...)
}

func textOf(t testing.TB, raw []byte) (string, string) {
	t.Helper()
	d, err := pdftext.Open(t.Context(), bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	text, note, err := d.Page(t.Context(), 1)
	require.NoError(t, err)
	return text, note
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name, content, want string
		more                []string
	}{
		{"lines by Td", "BT /F 12 Tf 72 700 Td (Hello) Tj 0 -14 Td (W\\366rld \\(2\\)) Tj ET", "Hello\nWörld (2)", nil},
		{"lines by T* and '", "BT /F 12 Tf 14 TL 72 700 Td (a) Tj T* (b) Tj (c) ' ET", "a\nb\nc", nil},
		{"lines by Tm", "BT /F 12 Tf 1 0 0 1 72 700 Tm (a) Tj 1 0 0 1 72 600 Tm (b) Tj ET", "a\n\nb", nil},
		{"words by shifts", "BT /F 10 Tf [(Hel) -20 (lo) -400 (there)] TJ ET", "Hello there", nil},
		{"words by place", "BT /F 10 Tf 0 0 Td (ab) Tj 60 0 Td (cd) Tj ET", "ab cd", nil},
		{"under a matrix", "q 2 0 0 2 0 0 cm BT /F 5 Tf 0 10 Td (a) Tj 0 -7 Td (b) Tj ET Q", "a\nb", nil},
		{"an image in the content", "BI /W 1 /H 1 ID \x01(EI\x02 EI BT /F 9 Tf (after) Tj ET", "after", nil},
		{"composite font", "BT /G 9 Tf <000100020003> Tj ET", "Añ😀", []string{
			"<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 8 0 R>>", "null",
			streamOf("", "1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfchar <0001> <0041> endbfchar 2 beginbfrange <0002> <0002> <00f1> <0003> <0004> [<d83dde00> <0042>] endbfrange"),
		}},
		{"differences", "BT /G 9 Tf (\\001\\002\\003\\004A) Tj ET", "fi–Ł\u017eA", []string{"<</Type/Font/Subtype/Type1/Encoding<</Differences[1/fi/endash/Lslash/zcaron]>>>>"}},
		{"standard encoding", "BT /G 9 Tf (it's \\252a\\272) Tj ET", "it’s “a”", []string{"<</Type/Font/Subtype/Type1>>"}},
		{"form", "q /X Do Q", "in a form", []string{"null", streamOf("/Type/XObject/Subtype/Form", "BT /F 9 Tf (in a form) Tj ET")}},
		{"form in itself", "BT /F 9 Tf (x) Tj ET /X Do", "x", []string{"null", streamOf("/Subtype/Form", "/X Do /X Do /X Do")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, note := textOf(t, page(c.content, c.more...))
			assert.Equal(t, c.want, text)
			assert.Empty(t, note)
		})
	}
	_, note := textOf(t, page("0 0 m 1 1 l S"))
	assert.Equal(t, "no text layer; it may be scanned", note)
	_, note = textOf(t, page("BT /G 9 Tf <00010002> Tj ET", "<</Subtype/Type0/Encoding/Identity-H>>"))
	assert.Contains(t, note, "do not say what much of the text stands for")
}

func TestFilters(t *testing.T) {
	content := "BT /F 12 Tf (" + strings.Repeat("filtered ", 50) + ") Tj ET"
	var lz bytes.Buffer
	w := lzw.NewWriter(&lz, lzw.MSB, 8)
	w.Write([]byte(content))
	w.Close()
	var a85 bytes.Buffer
	e := ascii85.NewEncoder(&a85)
	e.Write([]byte(flate(content)))
	e.Close()
	up := make([]byte, 0, 2*len(content))
	last := make([]byte, 10)
	padded := content + strings.Repeat(" ", (10-len(content)%10)%10)
	for i := 0; i < len(padded); i += 10 {
		up = append(up, 2)
		for k := range 10 {
			up = append(up, padded[i+k]-last[k])
			last[k] = padded[i+k]
		}
	}
	for _, c := range []struct{ name, dict, data string }{
		{"flate", "/Filter/FlateDecode", flate(content)},
		{"flate, cut off", "/Filter/FlateDecode", flate(content + strings.Repeat("% more\n", 9000))[:120]},
		{"lzw", "/Filter/LZWDecode/DecodeParms<</EarlyChange 0>>", lz.String()},
		{"hex", "/Filter[/ASCIIHexDecode]", hex.EncodeToString([]byte(content)) + ">"},
		{"85 and flate", "/Filter[/A85/Fl]", "<~" + a85.String() + "~>"},
		{"predictor", "/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 10>>", flate(string(up))},
		{"run length", "/Filter/RunLengthDecode", string([]byte{byte(len("BT /F 12 Tf (") - 1)}) + "BT /F 12 Tf (" + string([]byte{257 - 3, 'x', 6}) + ") Tj ET" + "\x80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]>>",
				"<</Type/Page/Contents 5 0 R/Resources<</Font<</F 4 0 R>>>>>>", "<</Type/Font/Encoding/WinAnsiEncoding>>", streamOf(c.dict, c.data))
			text, _ := textOf(t, raw)
			want := strings.TrimSpace(strings.Repeat("filtered ", 50))
			if c.name == "run length" {
				want = "xxx"
			}
			if c.name == "flate, cut off" {
				want = text[:min(len(text), len(want))]
				require.Contains(t, text, "filtered")
			}
			assert.Equal(t, want, text)
		})
	}
}

// TestObjectStreams: objects in compressed streams, and files without a trailer.
func TestObjectStreams(t *testing.T) {
	inside := "1 0 2 30 3 80 "
	body := fmt.Sprintf("%-30s%-50s%s", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Contents 5 0 R/Resources<</Font<</F<<>>>>>>>>")
	raw := "%PDF-1.5\n5 0 obj " + streamOf("", "BT /F 9 Tf (deep) Tj ET") + " endobj\n6 0 obj " +
		streamOf(fmt.Sprintf("/Type/ObjStm/N 3/First %d/Filter/FlateDecode", len(inside)), flate(inside+body)) + " endobj\n"
	text, _ := textOf(t, []byte(raw))
	assert.Equal(t, "deep", text)
	text, _ = textOf(t, []byte(raw+"7 0 obj "+streamOf("/Type/XRef/Root 1 0 R", "")+" endobj"))
	assert.Equal(t, "deep", text)
	text, _ = textOf(t, []byte(raw+"5 0 obj "+streamOf("", "BT /F 9 Tf (newer) Tj ET")+" endobj"))
	assert.Equal(t, "newer", text, "the last definition counts")
}

func TestRefuses(t *testing.T) {
	open := func(raw string) error {
		_, err := pdftext.Open(t.Context(), strings.NewReader(raw), int64(len(raw)))
		return err
	}
	require.ErrorIs(t, open(""), pdftext.ErrNotPDF)
	require.ErrorIs(t, open("%PDF-1.4\ngarbage"), pdftext.ErrNotPDF)
	require.ErrorIs(t, open("%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj trailer <</Root 1 0 R/Encrypt 2 0 R>>"), pdftext.ErrEncrypted)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	raw := page("x")
	_, err := pdftext.Open(ctx, bytes.NewReader(raw), int64(len(raw)))
	require.ErrorIs(t, err, context.Canceled)
}

// TestHostile: nothing that leads in circles or grows without end takes long,
// or is deep enough to exhaust a stack.
func TestHostile(t *testing.T) {
	const hang = 20 * time.Second
	for name, raw := range map[string][]byte{
		"page tree in itself":   file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R 3 0 R]/Count 9>>", "<</Type/Page>>"),
		"reference to itself":   file("<</Type/Catalog/Pages 2 0 R>>", "2 0 R", "<</Type/Page/Contents 3 0 R/Resources 4 0 R>>", "4 0 R"),
		"parents in a circle":   file("<</Type/Page/Parent 1 0 R>>"),
		"stream in itself":      []byte("%PDF-1.5\n1 0 obj " + streamOf("/Type/ObjStm/N 1/First 4", "1 0 <</Type/Page/Contents 1 0 R>>") + " endobj"),
		"length of itself":      file("<</Type/Page/Contents 2 0 R>>", "<</Length 2 0 R>>\nstream\nBT\nendstream"),
		"deep arrays":           file("<</Type/Page>>", strings.Repeat("[", 1_000_000)),
		"deep dictionaries":     file("<</Type/Page>>", strings.Repeat("<</a", 1_000_000)),
		"deep tree":             file(deepTree(3000)...),
		"many kids":             file("<</Type/Catalog/Pages 2 0 R>>", "<</Kids["+strings.Repeat("3 0 R ", 100_000)+"]>>", "<</Type/Page>>"),
		"unbalanced":            page(strings.Repeat("q BT ( ", 100_000)),
		"filters without end":   page("x", "null", streamOf("/Subtype/Form/Filter["+strings.Repeat("/Fl", 1000)+"]", flate("x"))),
		"huge numbers":          page("BT /F 1e300 Tf 9999999999999999999999 0 Td (a) Tj ET 1e14 Tc (b) Tj"),
		"widths without end":    page("BT /G 9 Tf <0001> Tj ET", "<</Subtype/Type0/DescendantFonts[<</W[0 1e14 5 1 1e14 5]>>]>>"),
		"an object in an array": file("<</Type/Page>>", "[1 0 obj [2 0 obj"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			d, err := pdftext.Open(t.Context(), bytes.NewReader(raw), int64(len(raw)))
			if err == nil {
				for i := range min(d.Pages(), 20) {
					_, _, err := d.Page(t.Context(), i+1)
					require.NoError(t, err)
				}
			}
			assert.Less(t, time.Since(start), hang)
		})
	}
	bomb := flate(strings.Repeat("\x00", 80<<20))
	t.Run("bomb as content", func(t *testing.T) {
		d, err := pdftext.Open(t.Context(), bytes.NewReader(file("<</Type/Page/Contents 2 0 R>>", streamOf("/Filter/FlateDecode", bomb))), int64(1<<20))
		require.NoError(t, err)
		_, note, err := d.Page(t.Context(), 1)
		require.NoError(t, err)
		assert.Contains(t, note, "grows beyond")
	})
	t.Run("bomb as objects", func(t *testing.T) {
		raw := file("<</Type/Page>>", streamOf("/Type/ObjStm/N 1/First 1/Filter/FlateDecode", bomb))
		_, err := pdftext.Open(t.Context(), bytes.NewReader(raw), int64(len(raw)))
		require.ErrorContains(t, err, "grows beyond")
	})
}

func deepTree(n int) []string {
	out := []string{"<</Type/Catalog/Pages 2 0 R>>"}
	for i := range n {
		out = append(out, fmt.Sprintf("<</Type/Pages/Kids[%d 0 R]>>", i+3))
	}
	return append(out, "<</Type/Page>>")
}

func FuzzPDF(f *testing.F) {
	f.Add(page("BT /F 12 Tf 72 700 Td (Hello) Tj 0 -14 Td [(a) 9 (b)] TJ ET"))
	f.Add(page("/X Do", "<</Subtype/Type0>>", streamOf("/Subtype/Form/Filter/Fl", flate("BT /G 9 Tf <0001> Tj"))))
	f.Add([]byte("%PDF-1.5\n1 0 obj " + streamOf("/Type/ObjStm/N 1/First 4", "2 0 <</Type/Page/Contents 1 0 R>>") + " endobj"))
	f.Add([]byte("%PDF-0 0obj<"))
	f.Add([]byte("%PDF-0 0obj(\\"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		d, err := pdftext.Open(ctx, bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			require.NoError(t, ctx.Err(), "too slow")
			return
		}
		for i := range min(3, d.Pages()) {
			text, _, err := d.Page(ctx, i+1)
			require.NoError(t, err, "too slow")
			require.True(t, utf8.ValidString(text))
		}
	})
}

func ExampleDocument_Page() {
	raw := page("BT /F 12 Tf 72 700 Td (Annual) Tj ( report) Tj 0 -14 Td (2026) Tj ET")
	d, err := pdftext.Open(context.Background(), bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _, err := d.Page(context.Background(), 1)
	fmt.Println(text, err)
	// Output:
	// Annual report
	// 2026 <nil>
}
