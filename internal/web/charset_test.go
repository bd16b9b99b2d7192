package web

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestDecode(t *testing.T) {
	gbk, sjis := "\xd6\xd0\xce\xc4", "\x93\xfa\x96\x7b"
	pad := "<!--" + strings.Repeat(" ", 3000) + "-->"
	for _, test := range []struct {
		name, body, contentType, text, charset string
		guessed                                bool
	}{
		{"nothing", "", "", "", "utf-8", false},
		{"utf-8", "ü", "text/html", "ü", "utf-8", false},
		{"utf-8 cut", "aü\xe4\xb8", "", "aü\uFFFD", "utf-8", false},
		{"utf-8 broken", "a\xffb", "text/plain; charset=utf-8", "a\uFFFDb", "utf-8", false},
		{"header", gbk, "text/html; charset=GBK", "中文", "gbk", false},
		{"header latin", "\xfc\x80", "text/html; charset=iso-8859-1", "ü€", "windows-1252", false},
		{"unknown label", "ü", "text/html; charset=nonsense", "ü", "utf-8", false},
		{"mark before header", "\xef\xbb\xbfü", "text/html; charset=gbk", "ü", "utf-8", false},
		{"utf-16le", "\xff\xfea\x00\xfc\x00", "", "aü", "utf-16le", false},
		{"utf-16be", "\xfe\xff\x00a\x00\xfc", "", "aü", "utf-16be", false},
		{"meta", "<meta charset=shift_jis>" + sjis, "text/html", "<meta charset=shift_jis>日本", "shift_jis", false},
		{"late meta", pad + "<META http-equiv='Content-Type' content='text/html; charset=gbk'/>" + gbk, "",
			pad + "<META http-equiv='Content-Type' content='text/html; charset=gbk'/>中文", "gbk", false},
		{"meta in a comment", "<!-- <meta charset=gbk> -->ü", "", "<!-- <meta charset=gbk> -->ü", "utf-8", false},
		{"meta utf-16", "<meta charset=utf-16>ü", "", "<meta charset=utf-16>ü", "utf-8", false},
		{"guess", "caf\xe9", "", "café", "windows-1252", true},
	} {
		text, name, guessed := Decode([]byte(test.body), test.contentType)
		assert.Equal(t, test.text, text, test.name)
		assert.Equal(t, test.charset, name, test.name)
		assert.Equal(t, test.guessed, guessed, test.name)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=gbk>\xd6\xd0"), "text/html; charset=big5")
	f.Add([]byte("\xff\xfea"), "")
	f.Add([]byte("a\xe4\xb8"), "x;charset=iso-2022-jp")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, name, _ := Decode(body, contentType)
		assert.True(t, utf8.ValidString(text))
		assert.NotEmpty(t, name)
	})
}
