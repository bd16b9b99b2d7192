package textfile

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// A Binary describes a file that is no text.
type Binary struct {
	Type string // what its first bytes say, as a MIME type; "application/octet-stream" when they say nothing
	Size int64
	Head []byte // up to 64 bytes from its beginning
}

// Hex shows the first bytes as hexadecimal numbers with the printable characters beside them.
func (b *Binary) Hex() string { return hex.Dump(b.Head) }

func (b *Binary) String() string {
	return fmt.Sprintf("binary file, %s, %d bytes", b.Type, b.Size)
}

const binaryHead = 64

var signatures = []struct {
	at    int
	magic string
	mime  string
}{
	{0, "\x89PNG\r\n\x1a\n", "image/png"},
	{0, "\xff\xd8\xff", "image/jpeg"},
	{0, "GIF87a", "image/gif"},
	{0, "GIF89a", "image/gif"},
	{8, "WEBP", "image/webp"},
	{8, "WAVE", "audio/wav"},
	{8, "AVI ", "video/x-msvideo"},
	{0, "BM", "image/bmp"},
	{0, "II*\x00", "image/tiff"},
	{0, "MM\x00*", "image/tiff"},
	{0, "\x00\x00\x01\x00", "image/x-icon"},
	{0, "%PDF-", "application/pdf"},
	{0, "PK\x03\x04", "application/zip"},
	{0, "PK\x05\x06", "application/zip"},
	{0, "\x1f\x8b", "application/gzip"},
	{0, "BZh", "application/x-bzip2"},
	{0, "\xfd7zXZ\x00", "application/x-xz"},
	{0, "\x28\xb5\x2f\xfd", "application/zstd"},
	{0, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{0, "Rar!\x1a\x07", "application/vnd.rar"},
	{257, "ustar", "application/x-tar"},
	{0, "\x7fELF", "application/x-elf"},
	{0, "\xcf\xfa\xed\xfe", "application/x-mach-binary"},
	{0, "\xce\xfa\xed\xfe", "application/x-mach-binary"},
	{0, "\xca\xfe\xba\xbe", "application/java-vm"},
	{0, "MZ", "application/vnd.microsoft.portable-executable"},
	{0, "\x00asm", "application/wasm"},
	{0, "SQLite format 3\x00", "application/vnd.sqlite3"},
	{0, "!<arch>\n", "application/x-archive"},
	{0, "ID3", "audio/mpeg"},
	{0, "OggS", "application/ogg"},
	{0, "fLaC", "audio/flac"},
	{4, "ftyp", "video/mp4"},
	{0, "\x1aE\xdf\xa3", "video/x-matroska"},
	{0, "wOFF", "font/woff"},
	{0, "wOF2", "font/woff2"},
	{0, "\x00\x01\x00\x00\x00", "font/ttf"},
	{0, "OTTO", "font/otf"},
}

// Sniff names the type of a file by its first bytes (512 are enough), whatever its name; "" when no signature fits.
func Sniff(head []byte) string {
	for _, s := range signatures {
		if len(head) < s.at || !bytes.HasPrefix(head[s.at:], []byte(s.magic)) {
			continue
		}
		if s.at == 8 && !bytes.HasPrefix(head, []byte("RIFF")) {
			continue
		}
		if s.magic == "BM" && (len(head) < 10 || !bytes.Equal(head[6:10], []byte{0, 0, 0, 0})) {
			continue // two letters alone prove nothing
		}
		return s.mime
	}
	return ""
}

func newBinary(sample []byte, size int64) *Binary {
	mime := Sniff(sample)
	if mime == "" {
		mime = "application/octet-stream"
	}
	return &Binary{Type: mime, Size: size, Head: bytes.Clone(sample[:min(len(sample), binaryHead)])}
}
