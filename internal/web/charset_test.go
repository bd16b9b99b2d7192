package web

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html/charset"
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

// encoded returns UTF-8 text in a charset.
func encoded(t *testing.T, name, text string) string {
	t.Helper()
	e, _ := charset.Lookup(name)
	out, err := e.NewEncoder().String(text)
	require.NoError(t, err)
	return out
}

// TestDecodeByBytes: what nothing says is found in the bytes, as the last resort.
func TestDecodeByBytes(t *testing.T) {
	for name, text := range map[string]string{
		"gbk":          "中文网页没有说明自己的编码，但是字节已经足够说明。这是一个测试页面。",
		"shift_jis":    "日本語のページです。文字コードは書いてありません。これはテストです。",
		"euc-jp":       "日本語のページです。文字コードは書いてありません。これはテストです。",
		"euc-kr":       "한국어 페이지입니다. 문자 집합을 말하지 않습니다. 이것은 시험입니다.",
		"big5":         "這是一個中文網頁，沒有說明自己的編碼，但是字節已經足夠說明。這是一個測試。",
		"windows-1251": "Страница на русском языке, которая не говорит, в какой она кодировке.",
		"koi8-r":       "Страница на русском языке, которая не говорит, в какой она кодировке.",
		"windows-1252": "Une page en français, sans déclaration : « été », déjà vu, naïve, garçon.",
	} {
		page := "<html><head><title>x</title></head><body><p class=a>" + text + "</p></body></html>"
		got, found, guessed := Decode([]byte(encoded(t, name, page)), "text/html")
		assert.Equal(t, name, found)
		assert.Equal(t, page, got, name)
		assert.True(t, guessed, name)
	}
}

// TestDecodeLateMeta: a declaration counts also behind long comments and scripts.
func TestDecodeLateMeta(t *testing.T) {
	for _, before := range []int{0, 1000, 1024, 5000, 9000, 40_000} {
		page := "<html><head><script>" + strings.Repeat("x", before) + "</script><meta charset=gbk></head><body>中文</body>"
		got, name, guessed := Decode([]byte(encoded(t, "gbk", page)), "text/html")
		assert.Equal(t, page, got, before)
		assert.Equal(t, "gbk", name)
		assert.False(t, guessed)
	}
}
