package schema

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCanonical(t *testing.T) {
	for input, want := range map[string]string{
		``:     `{}`,
		`null`: `null`,
		` { "b" : [ 1.0 , 1e2, -0, 0.50, 1.5e-7, 12e30, 1E+2, 123456789012345678901234567890.10 ] , "a" : "x\/\u0041\u00e9\n" } `: `{"a":"x/Aé\n","b":[1,100,0,0.5,0.00000015,12000000000000000000000000000000,100,123456789012345678901234567890.1]}`,
		`{"a":1,"a":{"d":1,"c":2}}`: `{"a":{"c":2,"d":1}}`,
		`9007199254740993`:          `9007199254740993`,
		`1e999999999999`:            `1e1073741824`,
		`0e5`:                       `0`,
		`-1.20e-3`:                  `-0.0012`,
		`"\u2028<&>\u007f\u0000"`:   "\"\u2028<&>\x7f\\u0000\"",
		`"\ud83d\ude00 \ud83d"`:     "\"😀 \ufffd\"",
		`1.5e-9`:                    `1.5e-9`,
		`[true,false,null,"",{}]`:   `[true,false,null,"",{}]`,
	} {
		got, err := Canonical([]byte(input))
		require.NoError(t, err, input)
		assert.Equal(t, want, string(got), input)
		again, err := Canonical(got)
		require.NoError(t, err)
		assert.Equal(t, string(got), string(again))
	}
	_, err := Canonical([]byte(`{"a":1`))
	require.ErrorIs(t, err, ErrInvalid)
}

// FuzzParse holds the parser to encoding/json: the same texts are JSON, and
// they mean the same.
func FuzzParse(f *testing.F) {
	for _, s := range inputSeeds {
		f.Add([]byte(s))
	}
	for _, s := range []string{`"\u12"`, `"\ud800\udc00\udc00"`, "\"\xf0\x9f\x98\x80\xff\"", `[-0.0e-0,1E5]`, `{"a":{"a":1,"a":2},"b":[]}`, "\ufeff{}", "{\"\xff\":1,\"\ufffd\":2}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := parse(src)
		if deep(src) {
			return
		}
		require.Equal(t, json.Valid(src), err == nil, "%q: %v", src, err)
		end, odd := 0, false
		r := runner{b: src}
		if i := r.skip(0); i < len(src) {
			end = r.anything(i, 0)
		}
		if end > 0 && r.skip(end) == len(src) {
			require.NoError(t, err, "%q", src) // the program is never more lenient
		} else {
			odd = true
		}
		if err != nil {
			return
		}
		_ = odd
		var want any
		dec := json.NewDecoder(strings.NewReader(string(src)))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&want))
		for _, text := range [][]byte{appendValue(nil, v), appendCompact(nil, v)} {
			var got any
			dec := json.NewDecoder(strings.NewReader(string(text)))
			dec.UseNumber()
			require.NoError(t, dec.Decode(&got), "%q", text)
			require.Equal(t, want, got, "%q", src)
		}
		canonical := appendCanonical(nil, v)
		again, err := parse(canonical)
		require.NoError(t, err)
		require.True(t, equal(v, again))
		require.Equal(t, canonical, appendCanonical(nil, again))
	})
}

// FuzzNumber compares the exact numbers with math/big.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.50", "1e2", "1e-2", "123456789012345678901234567890.10e-5", "0.0001e4", "100", "-1e400"} {
		f.Add(s, "10.0")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) {
			require.Equal(t, json.Valid([]byte(a)) && len(a) > 0 && (a[0] == '-' || a[0] >= '0' && a[0] <= '9') && strings.TrimSpace(a) == a, isNumber(a), "%q", a)
			return
		}
		if len(a) > 100 || len(b) > 100 {
			return
		}
		x, okx := new(big.Rat).SetString(a)
		y, oky := new(big.Rat).SetString(b)
		if !okx || !oky || len(x.Num().String()) > 2000 || len(y.Num().String()) > 2000 {
			return
		}
		dx, dy := parseDecimal(a), parseDecimal(b)
		require.Equal(t, x.Cmp(y), dx.cmp(dy), "%s %s", a, b)
		require.Equal(t, x.IsInt(), dx.isInt(), a)
		back, ok := new(big.Rat).SetString(dx.String())
		require.True(t, ok && json.Valid([]byte(dx.String())), dx.String())
		require.Zero(t, x.Cmp(back), "%s became %s", a, dx)
		if n, ok := dx.bigInt(); ok {
			require.Zero(t, x.Num().Cmp(n))
		}
	})
}
