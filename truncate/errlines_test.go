package truncate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNextError(t *testing.T) {
	for s, want := range map[string]int{
		"error": 0, "Error": 0, "ERROR": 0, "an error": 3, "failure": 0, "FAIL": 0, "--- FAIL: X": 4, "panic: x": 0, "Fatal!": 0,
		"warning: x": 0, "": -1, "err": -1, "fai": -1, "terror": 1, "e rror": -1, "0 errors": -1, "10 errors": 3, "no errors": -1,
		"piano errors": 6, "No failures": -1, "0 errors, 1 failed": 12, "eerror": 1, "ererror": 2, "fafail": 2, "faifail": 3, "wawarning": 2,
	} {
		at, weak := nextError(s)
		assert.Equal(t, want, at, s)
		assert.Equal(t, want >= 0 && strings.Contains(s, "warning"), weak, s)
		at, _ = nextError([]byte(s))
		assert.Equal(t, want, at, s)
	}
}

func FuzzNextError(f *testing.F) {
	f.Add("some ERROR: 0 errors, no failures, Panic")
	f.Add("ererererrrorfafaifatalpapanicwawarning")
	re := regexp.MustCompile(`(?i)error|fail|panic|fatal|warning`)
	f.Fuzz(func(t *testing.T, s string) {
		want := -1
		for off := 0; ; {
			m := re.FindStringIndex(s[off:])
			if m == nil {
				break
			}
			if !denied(s[:off+m[0]]) {
				want = off + m[0]
				break
			}
			off += m[0] + 1
		}
		if strings.ContainsAny(s, "\u017f\u212a") {
			return // the regexp folds these letters to ASCII
		}
		got, _ := nextError(s)
		require.Equal(t, want, got)
	})
}
