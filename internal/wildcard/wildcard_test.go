package wildcard

import (
	"math/rand"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow looks for a piece at every character of s.
func slow(piece, s string) (string, bool) {
	for {
		if n, ok := prefix(piece, s); ok {
			return s[n:], true
		}
		if s == "" {
			return "", false
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
}

// TestLongPieces: a long piece with question marks is found where looking at each
// place finds it.
func TestLongPieces(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	text := func(n int, alphabet ...string) string {
		var b strings.Builder
		for range n {
			b.WriteString(alphabet[r.Intn(len(alphabet))])
		}
		return b.String()
	}
	for i := range 4000 {
		s := text(100+r.Intn(400), "a", "a", "a", "b", "é", "\xff", "\U0001F600")
		var p strings.Builder
		from := r.Intn(len(s) / 2)
		for !utf8.RuneStart(s[from]) {
			from++
		}
		for j, c := range s[from : from+len(s)/4] {
			if c == utf8.RuneError || r.Intn(3) == 0 || j == 0 {
				c = '?'
			}
			if r.Intn(400) == 0 {
				c = 'b'
			}
			p.WriteRune(c)
		}
		piece := p.String()
		if len(piece) <= wordBits || !strings.Contains(piece, "?") {
			piece = strings.Repeat("?", 65+i%130) + piece
		}
		want, wantOK := slow(piece, s)
		got, ok := after(piece, s)
		require.Equal(t, wantOK, ok, "%q in %q", piece, s)
		require.Equal(t, want, got, "%q in %q", piece, s)
	}
}

// FuzzLongPieces lets the pieces be anything.
func FuzzLongPieces(f *testing.F) {
	f.Add("a?", "ba", 40, 90)
	f.Add("?\u00e9?", "x\u00e9\xc3", 30, 70)
	f.Add("??", "\ufffd\xff", 64, 65)
	f.Fuzz(func(t *testing.T, piece, s string, n, m int) {
		piece = strings.ReplaceAll(piece, "*", "")
		if len(piece) > 50 || len(s) > 50 || n < 0 || m < 0 || n > 100 || m > 400 || !utf8.ValidString(piece) || !strings.Contains(piece, "?") {
			return
		}
		piece, s = strings.Repeat(piece, n), strings.Repeat(s, m)+piece
		want, wantOK := slow(piece, s)
		got, ok := after(piece, s)
		if ok != wantOK || got != want {
			t.Fatalf("%q in %q: %v %q, want %v %q", piece, s, ok, got, wantOK, want)
		}
	})
}

func TestHostilePiece(t *testing.T) {
	begin := time.Now()
	assert.False(t, Match("*"+strings.Repeat("a?", 2<<10)+"b*", strings.Repeat("a", 64<<10)))
	assert.Less(t, time.Since(begin), time.Second)
}

func BenchmarkLongPiece(b *testing.B) {
	pattern, s := "*"+strings.Repeat("a?", 2<<10)+"b*", strings.Repeat("a", 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		Match(pattern, s)
	}
}
