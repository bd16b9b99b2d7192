package media

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of an image, 1 to 8; 1, upright, if it
// has none.
func orientation(mime string, data []byte) int {
	switch mime {
	case "image/jpeg":
		turn := 1
		jpegSegments(data, func(marker byte, body []byte) bool {
			if marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
				turn = tiffOrientation(body[6:])
				return false
			}
			return true
		})
		return turn
	case "image/png":
		for at := 8; at+12 <= len(data); {
			n := int(binary.BigEndian.Uint32(data[at:]))
			if n < 0 || n > len(data)-at-12 {
				break
			}
			switch string(data[at+4 : at+8]) {
			case "eXIf":
				return tiffOrientation(data[at+8 : at+8+n])
			case "IDAT":
				return 1
			}
			at += 12 + n
		}
	case "image/webp":
		for at := 12; at+8 <= len(data); {
			n := int(binary.LittleEndian.Uint32(data[at+4:]))
			if n < 0 || n > len(data)-at-8 {
				break
			}
			if string(data[at:at+4]) == "EXIF" {
				return tiffOrientation(bytes.TrimPrefix(data[at+8:at+8+n], []byte("Exif\x00\x00")))
			}
			at += 8 + n + n%2
		}
	case "image/tiff":
		return tiffOrientation(data)
	}
	return 1
}

// jpegSegments calls f with the segments of a JPEG before its image data.
func jpegSegments(data []byte, f func(marker byte, body []byte) bool) {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff {
			at++
			continue
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || n < 2 || at+2+n > len(data) || !f(marker, data[at+4:at+2+n]) {
			return
		}
		at += 2 + n
	}
}

// progressive reports whether a JPEG is stored in several passes.
func progressive(data []byte) bool {
	found := false
	jpegSegments(data, func(marker byte, _ []byte) bool {
		found = found || marker == 0xc2
		return !found
	})
	return found
}

// tiffOrientation reads the orientation of the first directory of a TIFF header.
func tiffOrientation(b []byte) int {
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	n := int64(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + 12*i
		if e+12 > int64(len(b)) {
			break
		}
		if order.Uint16(b[e:]) == 0x0112 {
			if v := order.Uint16(b[e+8:]); v >= 1 && v <= 8 {
				return int(v)
			}
		}
	}
	return 1
}

// gifFrames counts the pictures of a GIF without decoding them.
func gifFrames(data []byte) int {
	if len(data) < 13 {
		return 1
	}
	at := 13
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	blocks := func() {
		for at < len(data) && data[at] != 0 {
			at += 1 + int(data[at])
		}
		at++
	}
	at += table(data[10])
	frames := 0
	for at < len(data) {
		switch data[at] {
		case 0x21:
			at += 2
			blocks()
		case 0x2c:
			frames++
			if at+10 > len(data) {
				return frames
			}
			at += 10 + table(data[at+9]) + 1
			blocks()
		default:
			return max(frames, 1)
		}
	}
	return max(frames, 1)
}
