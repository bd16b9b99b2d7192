package media_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/builtin"
	"github.com/agenttool/tool/builtin/media"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// picture is red at the top left and blue elsewhere.
func picture(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{0, 0, 255, 255}
			if x < w/2 && y < h/2 {
				c = color.RGBA{255, 0, 0, 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, encode(&b))
	return b.Bytes()
}

func pngOf(t testing.TB, img image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) })
}

func jpegOf(t testing.TB, img image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) })
}

// exif puts an orientation into a JPEG.
func exif(jpg []byte, turn byte) []byte {
	body := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), turn, 0, 0, 0, 0, 0, 0)
	seg := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2))
	return append(append(append([]byte{}, jpg[:2]...), append(seg, body...)...), jpg[2:]...)
}

func decode(t testing.TB, img *builtin.Image) image.Image {
	t.Helper()
	got, kind, err := image.Decode(bytes.NewReader(img.Data))
	require.NoError(t, err)
	assert.Equal(t, img.MIME, "image/"+kind)
	assert.Equal(t, image.Pt(img.Width, img.Height), got.Bounds().Size())
	return got
}

func isRed(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return r > 0x9000 && g < 0x6000 && b < 0x6000
}

func TestImages(t *testing.T) {
	var m media.Images
	small := pngOf(t, picture(40, 20))
	for _, c := range []struct {
		name, mime    string
		data          []byte
		width, height int // sent
		sent          string
		same          bool
	}{
		{"small png", "image/png", small, 40, 20, "image/png", true},
		{"small jpeg", "image/jpeg", jpegOf(t, picture(40, 20)), 40, 20, "image/jpeg", true},
		{"wide png", "image/png", pngOf(t, picture(4100, 100)), 2000, 48, "image/png", false},
		{"tall jpeg", "image/jpeg", jpegOf(t, picture(100, 2500)), 80, 2000, "image/jpeg", false},
		{"bmp", "image/bmp", encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, picture(40, 20)) }), 40, 20, "image/png", false},
		{"tiff", "image/tiff", encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, picture(40, 20), nil) }), 40, 20, "image/png", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := m.Image(t.Context(), c.mime, c.data)
			require.NoError(t, err)
			assert.Equal(t, c.sent, got.MIME)
			assert.Equal(t, c.same, bytes.Equal(c.data, got.Data))
			assert.Equal(t, [2]int{c.width, c.height}, [2]int{got.Width, got.Height})
			img := decode(t, got)
			assert.True(t, isRed(img.At(1, 1)))
			assert.False(t, isRed(img.At(c.width-2, c.height-2)))
		})
	}
}

// TestUpright: of a photo that was taken sideways the model sees the right side up.
func TestUpright(t *testing.T) {
	var m media.Images
	// Where red, at the top left of what is stored, is when turned.
	for turn, red := range map[byte]image.Point{1: {1, 1}, 2: {62, 1}, 3: {62, 30}, 4: {1, 30}, 5: {1, 1}, 6: {30, 1}, 7: {30, 62}, 8: {1, 62}} {
		got, err := m.Image(t.Context(), "image/jpeg", exif(jpegOf(t, picture(64, 32)), turn))
		require.NoError(t, err)
		img := decode(t, got)
		if turn >= 5 {
			assert.Equal(t, [2]int{32, 64}, [2]int{got.FileWidth, got.FileHeight})
		}
		assert.True(t, isRed(img.At(red.X, red.Y)), "turn %d", turn)
		opposite := img.Bounds().Max.Sub(image.Pt(1, 1)).Sub(red)
		assert.False(t, isRed(img.At(opposite.X, opposite.Y)), "turn %d", turn)
	}
}

func TestImageBytesAreBounded(t *testing.T) {
	m := media.Images{MaxBytes: 60_000}
	got, err := m.Image(t.Context(), "image/png", pngOf(t, noise(800, 600)))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(got.Data), 60_000)
	assert.Equal(t, "image/jpeg", got.MIME)
	assert.Equal(t, [2]int{800, 600}, [2]int{got.FileWidth, got.FileHeight})
	decode(t, got)

	glass := image.NewNRGBA(image.Rect(0, 0, 2400, 10))
	glass.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 128})
	got, err = m.Image(t.Context(), "image/png", pngOf(t, glass))
	require.NoError(t, err)
	assert.Equal(t, "image/png", got.MIME, "what is transparent stays so")
}

func TestGIF(t *testing.T) {
	pal := color.Palette{color.White, color.RGBA{255, 0, 0, 255}}
	anim := &gif.GIF{}
	for i := range 3 {
		f := image.NewPaletted(image.Rect(0, 0, 8, 8), pal)
		f.Pix[0] = byte(i & 1)
		anim.Image, anim.Delay = append(anim.Image, f), append(anim.Delay, 1)
	}
	var m media.Images
	got, err := m.Image(t.Context(), "image/gif", encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, anim) }))
	require.NoError(t, err)
	assert.Equal(t, 3, got.Frames)
	assert.Equal(t, "image/png", got.MIME)
}

// TestBadImages: what cannot be sent is an error, never an attachment.
func TestBadImages(t *testing.T) {
	var m media.Images
	whole := pngOf(t, picture(300, 300))
	huge := append([]byte{}, whole...)
	binary.BigEndian.PutUint32(huge[16:], 20000)
	binary.BigEndian.PutUint32(huge[20:], 20000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	start := time.Now()
	for name, c := range map[string]struct {
		mime string
		data []byte
		want string
	}{
		"empty":    {"image/png", nil, "damaged or cut off"},
		"cut off":  {"image/png", whole[:len(whole)/2], "damaged or cut off"},
		"cut jpeg": {"image/jpeg", jpegOf(t, noise(300, 300))[:3000], "damaged or cut off"},
		"huge":     {"image/png", huge, "20000×20000 pixels, which is too large"},
		"unknown":  {"image/x-icon", []byte{0, 0, 1, 0}, "convert it with a command"},
	} {
		_, err := m.Image(t.Context(), c.mime, c.data)
		require.ErrorContains(t, err, c.want, name)
	}
	assert.Less(t, time.Since(start), 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Image(ctx, "image/png", whole)
	require.ErrorIs(t, err, context.Canceled)
	one := media.Images{MaxPixels: 100}
	_, err = one.Image(t.Context(), "image/png", whole)
	require.ErrorContains(t, err, "too large")
}

func FuzzImages(f *testing.F) {
	f.Add("image/png", pngOf(f, picture(8, 8)))
	f.Add("image/jpeg", exif(jpegOf(f, picture(8, 8)), 6))
	f.Add("image/gif", encoded(f, func(b *bytes.Buffer) error { return gif.Encode(b, picture(8, 8), nil) }))
	f.Add("image/bmp", encoded(f, func(b *bytes.Buffer) error { return bmp.Encode(b, picture(8, 8)) }))
	f.Add("image/tiff", encoded(f, func(b *bytes.Buffer) error { return tiff.Encode(b, picture(8, 8), nil) }))
	f.Add("image/webp", []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	f.Fuzz(func(t *testing.T, mime string, data []byte) {
		m := media.Images{MaxPixels: 1 << 16, MaxSide: 64, MaxBytes: 1 << 14}
		img, err := m.Image(t.Context(), mime, data)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(img.Data), 1<<14)
		require.LessOrEqual(t, max(img.Width, img.Height), 64)
	})
}

// pdf makes a PDF of pages that say "page 1" and so on.
func pdf(pages int) []byte {
	var b strings.Builder
	b.WriteString("%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Resources<</Font<</F 3 0 R>>>>/Kids[")
	for i := range pages {
		fmt.Fprintf(&b, "%d 0 R ", 10+2*i)
	}
	b.WriteString("]>> endobj\n3 0 obj <</Type/Font/Subtype/Type1>> endobj\n")
	for i := range pages {
		content := fmt.Sprintf("BT /F 12 Tf 72 700 Td (page %d) Tj ET", i+1)
		if i == 2 {
			content = ""
		}
		fmt.Fprintf(&b, "%d 0 obj <</Type/Page/Contents %d 0 R>> endobj\n%d 0 obj <</Length %d>>\nstream\n%s\nendstream endobj\n", 10+2*i, 11+2*i, 11+2*i, len(content), content)
	}
	return []byte(b.String() + "trailer <</Root 1 0 R>>\n%%EOF\n")
}

func TestPDF(t *testing.T) {
	var p media.PDF
	raw := pdf(45)
	for _, c := range []struct {
		pages string
		want  string // numbers of the pages
		next  string
		err   string
	}{
		{"", "1 2 3 4 5 6 7 8 9 10", "11-20", ""},
		{"3", "3", "", ""},
		{" 4-5, 9,4 ", "4 5 9", "", ""},
		{"44-", "44 45", "", ""},
		{"44-99", "44 45", "", ""},
		{"1-30", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "21-30", ""},
		{"99", "", "", "there is no such page: it has 45"},
		{"x", "", "", `as "1-5,9"`},
		{"5-2", "", "", `as "1-5,9"`},
		{"0", "", "", `as "1-5,9"`},
	} {
		doc, err := p.Text(t.Context(), bytes.NewReader(raw), int64(len(raw)), c.pages)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.pages)
			continue
		}
		require.NoError(t, err, c.pages)
		var got []string
		for _, pg := range doc.Pages {
			got = append(got, fmt.Sprint(pg.Number))
			if pg.Number == 3 {
				assert.Equal(t, "no text layer; it may be scanned", pg.Note)
				continue
			}
			assert.Equal(t, fmt.Sprintf("page %d", pg.Number), pg.Text)
		}
		assert.Equal(t, c.want, strings.Join(got, " "), c.pages)
		assert.Equal(t, c.next, doc.Next, c.pages)
		assert.Equal(t, 45, doc.Total)
	}
	quick := media.PDF{Time: time.Nanosecond}
	_, err := quick.Text(t.Context(), bytes.NewReader(raw), int64(len(raw)), "")
	require.ErrorContains(t, err, "it took longer than 1ns")
}

// TestRead: through the tool, with what a model and a host see of it.
func TestRead(t *testing.T) {
	dir := tooltest.Workspace(t, "-- not.png --\nplain text\n")
	put := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	put("wide.png", pngOf(t, picture(4000, 100)))
	put("liar.jpg", pngOf(t, picture(4, 4)))
	put("empty.png", nil)
	put("broken.png", pngOf(t, picture(100, 100))[:60])
	put("doc.pdf", pdf(12))
	put("photo.heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"))
	ts, err := builtin.New(builtin.Config{Root: dir, Images: &media.Images{}, PDF: &media.PDF{}, Accepts: func(a *tool.Agent, mime string) bool {
		return a == nil || a.Name != "blind" && (mime != "application/pdf" || a.Name == "pdf")
	}})
	require.NoError(t, err)
	defer ts.Close()
	read, _ := ts.Tool("read")
	run := func(agent string, input map[string]any) *tool.Result {
		c := tooltest.NewCall("read", input).Bind(tool.Runtime{Approver: tooltest.AllowAll{}})
		c.Agent = &tool.Agent{Name: agent}
		res, err := read.Run(t.Context(), c)
		require.NoError(t, err)
		return res
	}
	res := run("", map[string]any{"filePath": "wide.png"})
	assert.Regexp(t, `^wide.png is a file of type image/png, \d+ bytes. It is 4000×100 pixels, attached at 2000×50: multiply coordinates by 2.$`, res.Text)
	require.Len(t, res.Attachments, 1)
	assert.Equal(t, "image/png", res.Attachments[0].MIME)
	assert.Equal(t, 2.0, res.Metadata["scale"])
	assert.Contains(t, run("", map[string]any{"filePath": "liar.jpg"}).Text, "Its name ends in .jpg, but its content is image/png.")
	assert.Equal(t, "1\tplain text", run("", map[string]any{"filePath": "not.png"}).Text)
	assert.Equal(t, "(empty file)", run("", map[string]any{"filePath": "empty.png"}).Text)
	res = run("", map[string]any{"filePath": "broken.png"})
	assert.Contains(t, res.Text, "It cannot be shown: it is damaged or cut off")
	assert.Empty(t, res.Attachments)
	assert.Contains(t, run("", map[string]any{"filePath": "photo.heic"}).Text, "of type image/heic")
	res = run("blind", map[string]any{"filePath": "wide.png"})
	assert.Contains(t, res.Text, "This model does not take images")
	assert.Empty(t, res.Attachments)

	res = run("", map[string]any{"filePath": "doc.pdf"})
	assert.True(t, strings.HasPrefix(res.Text, "[page 1 of 12]\npage 1\n[page 2 of 12]\npage 2\n[page 3 of 12]\n(no text layer; it may be scanned)\n"), res.Text)
	assert.Contains(t, res.Text, `[PARTIAL. Next: read {"filePath":"doc.pdf","pages":"11-12"}]`)
	assert.Empty(t, res.Attachments)
	assert.Equal(t, "[page 12 of 12]\npage 12", run("", map[string]any{"filePath": "doc.pdf", "pages": "12"}).Text)
	assert.Len(t, run("pdf", map[string]any{"filePath": "doc.pdf"}).Attachments, 1)
	assert.Contains(t, run("", map[string]any{"filePath": "doc.pdf", "pages": "13"}).Text, "there is no such page: it has 12")
}

// TestAtOnce: many images at a time are decoded a few at a time.
func TestAtOnce(t *testing.T) {
	var m media.Images
	data := jpegOf(t, picture(3000, 2000))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, err := m.Image(t.Context(), "image/jpeg", data)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
}

func ExampleImages() {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 3000, 1500))); err != nil {
		fmt.Println(err)
		return
	}
	img, err := new(media.Images).Image(context.Background(), "image/png", file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(img.MIME, img.Width, img.Height, "of", img.FileWidth, img.FileHeight)
	// Output: image/png 2000 1000 of 3000 1500
}

func ExamplePDF() {
	raw := pdf(2)
	doc, err := new(media.PDF).Text(context.Background(), bytes.NewReader(raw), int64(len(raw)), "2")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range doc.Pages {
		fmt.Printf("page %d of %d: %s\n", p.Number, doc.Total, p.Text)
	}
	// Output: page 2 of 2: page 2
}

// BenchmarkImage24MP scales a photo of 24 megapixels down to 2000 pixels.
func BenchmarkImage24MP(b *testing.B) {
	var m media.Images
	data := jpegOf(b, picture(6000, 4000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Image(b.Context(), "image/jpeg", data); err != nil {
			b.Fatal(err)
		}
	}
}
