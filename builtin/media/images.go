package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"sync"

	"github.com/agenttool/tool/builtin"
	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Images is a [builtin.ImageCodec]. It sends PNG, JPEG, GIF and WebP files as they
// are if they are within the limits, upright and one picture; everything else is
// decoded, turned upright, scaled down, and sent as PNG or JPEG, whichever is
// smaller. What is sent was decoded, so a damaged file is never sent. The zero
// value is ready; it must not be copied after use.
type Images struct {
	// MaxSide is the longest side that is sent, in pixels; 0 means 2000.
	MaxSide int
	// MaxBytes is the largest file that is sent, in bytes before base64; 0 means
	// 3.75 MiB, which are 5 MiB in base64.
	MaxBytes int
	// MaxPixels is the largest image that is decoded; 0 means 64 million.
	MaxPixels int
	// Parallel is how many images are decoded at a time; 0 means 2.
	Parallel int

	once sync.Once
	slot chan struct{}
}

var _ builtin.ImageCodec = (*Images)(nil)

// maxDecoded bounds the memory of a decoded image, in bytes.
const maxDecoded = 256 << 20

func or(v, def int) int {
	if v <= 0 {
		return def
	}
	return v
}

// format is how files of a type are read.
type format struct {
	config func(data []byte) (image.Config, error)
	decode func(data []byte) (image.Image, error)
	send   bool // models take the type as it is
	plain  bool // without loss: worth trying PNG
}

func formatOf(mime string) (format, bool) {
	read := func(config func(*bytes.Reader) (image.Config, error), decode func(*bytes.Reader) (image.Image, error), send, plain bool) (format, bool) {
		return format{
			func(b []byte) (image.Config, error) { return config(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return decode(bytes.NewReader(b)) },
			send, plain,
		}, true
	}
	switch mime {
	case "image/png":
		return read(func(r *bytes.Reader) (image.Config, error) { return png.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return png.Decode(r) }, true, true)
	case "image/jpeg":
		return read(func(r *bytes.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return jpeg.Decode(r) }, true, false)
	case "image/gif":
		return read(func(r *bytes.Reader) (image.Config, error) { return gif.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return gif.Decode(r) }, true, true)
	case "image/webp":
		return read(func(r *bytes.Reader) (image.Config, error) { return webp.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return webp.Decode(r) }, true, true)
	case "image/bmp":
		return read(func(r *bytes.Reader) (image.Config, error) { return bmp.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return bmp.Decode(r) }, false, true)
	case "image/tiff":
		return read(func(r *bytes.Reader) (image.Config, error) { return tiff.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return tiff.Decode(r) }, false, true)
	}
	return format{}, false
}

// Image implements [builtin.ImageCodec].
func (m *Images) Image(ctx context.Context, mime string, data []byte) (*builtin.Image, error) {
	f, ok := formatOf(mime)
	if !ok {
		return nil, fmt.Errorf("images of type %s are not read; convert it with a command, as: magick FILE out.png", mime)
	}
	cfg, err := f.config(data)
	if err != nil || cfg.Width <= 0 || cfg.Height <= 0 {
		return nil, errors.New("it is damaged or cut off")
	}
	if cfg.Width*cfg.Height/cfg.Height != cfg.Width || cfg.Width*cfg.Height > or(m.MaxPixels, 64_000_000) {
		return nil, fmt.Errorf("it says that it is %d×%d pixels, which is too large to be opened; make a smaller one with a command", cfg.Width, cfg.Height)
	}
	if need := memory(mime, cfg, data); need > maxDecoded {
		return nil, fmt.Errorf("at %d×%d pixels it would take %d MiB to open; make a smaller one with a command", cfg.Width, cfg.Height, need>>20)
	}
	release, err := m.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	img, err := f.decode(data)
	if err != nil {
		return nil, errors.New("it is damaged or cut off")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turn := orientation(mime, data)
	out := &builtin.Image{FileWidth: cfg.Width, FileHeight: cfg.Height, Frames: 1}
	if turn >= 5 {
		out.FileWidth, out.FileHeight = cfg.Height, cfg.Width
	}
	if mime == "image/gif" {
		out.Frames = gifFrames(data)
	}
	side, most := or(m.MaxSide, 2000), or(m.MaxBytes, 3_932_160)
	if f.send && turn == 1 && out.Frames == 1 && len(data) <= most && max(cfg.Width, cfg.Height) <= side {
		out.MIME, out.Data, out.Width, out.Height = mime, data, cfg.Width, cfg.Height
		return out, nil
	}
	return m.convert(ctx, out, img, turn, side, most, f.plain)
}

func (m *Images) acquire(ctx context.Context) (release func(), err error) {
	m.once.Do(func() { m.slot = make(chan struct{}, or(m.Parallel, 2)) })
	select {
	case m.slot <- struct{}{}:
		return func() { <-m.slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memory estimates what decoding takes, in bytes.
func memory(mime string, cfg image.Config, data []byte) int {
	px := cfg.Width * cfg.Height
	switch cfg.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		return 8 * px
	case color.GrayModel:
		return px
	}
	if mime == "image/jpeg" && progressive(data) {
		return 15 * px // all coefficients are kept until the end
	}
	return 4 * px
}

// convert turns, scales and encodes an image until it is small enough.
func (m *Images) convert(ctx context.Context, out *builtin.Image, img image.Image, turn, side, most int, plain bool) (*builtin.Image, error) {
	scaled := scale(img, side)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cur := upright(scaled, turn)
	for {
		b := cur.Bounds()
		mime, data, err := encode(ctx, cur, most, plain)
		if err != nil {
			return nil, err
		}
		if len(data) <= most {
			out.MIME, out.Data, out.Width, out.Height = mime, data, b.Dx(), b.Dy()
			return out, nil
		}
		if max(b.Dx(), b.Dy()) < 64 {
			return nil, errors.New("it cannot be made small enough to be sent")
		}
		cur = scale(cur, max(b.Dx(), b.Dy())*3/4)
	}
}

// encode tries PNG where that suits the image, and JPEG of falling quality. If
// nothing is small enough the smallest is returned.
func encode(ctx context.Context, img *image.RGBA, most int, plain bool) (mime string, data []byte, err error) {
	solid := img.Opaque()
	if plain || !solid {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			return "", nil, err
		}
		mime, data = "image/png", b.Bytes()
		if !solid && len(data) <= most {
			return mime, data, nil // JPEG would lose what is transparent
		}
	}
	if !solid {
		img = onWhite(img)
	}
	for _, quality := range []int{85, 75, 60} {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
			return "", nil, err
		}
		if data == nil || b.Len() < len(data) {
			mime, data = "image/jpeg", b.Bytes()
		}
		if len(data) <= most {
			break
		}
	}
	return mime, data, nil
}

func onWhite(img *image.RGBA) *image.RGBA {
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Over)
	return out
}

// scale returns the image as RGBA, its longer side at most side. A large one is
// first brought near the size by a quick method and then by a good one.
func scale(img image.Image, side int) *image.RGBA {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if longer := max(w, h); longer > side {
		w, h = max(1, w*side/longer), max(1, h*side/longer)
	}
	if w == b.Dx() && h == b.Dy() {
		out := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
		return out
	}
	if 2*b.Dx() > 3*w && 2*b.Dy() > 3*h {
		near := image.NewRGBA(image.Rect(0, 0, w*3/2+1, h*3/2+1))
		draw.ApproxBiLinear.Scale(near, near.Bounds(), img, b, draw.Src, nil)
		img, b = near, near.Bounds()
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	return out
}

// upright undoes an EXIF orientation.
func upright(img *image.RGBA, turn int) *image.RGBA {
	if turn <= 1 || turn > 8 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	ow, oh := w, h
	if turn >= 5 {
		ow, oh = h, w
	}
	out := image.NewRGBA(image.Rect(0, 0, ow, oh))
	for y := range oh {
		for x := range ow {
			sx, sy := x, y
			switch turn {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			copy(out.Pix[y*out.Stride+4*x:][:4], img.Pix[sy*img.Stride+4*sx:][:4])
		}
	}
	return out
}
