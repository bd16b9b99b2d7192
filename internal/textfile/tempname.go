package textfile

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/fsroot"
)

// TempSuffix ends the names of all files that a [Writer] makes beside the ones it writes. Tools that list or search skip them:
// see [IsTempName].
const TempSuffix = ".tooltmp"

const (
	keepMark  = ".keep" // before TempSuffix: the only copy of something, never swept
	staleTime = time.Hour
	maxSwept  = 10_000 // names looked at in one directory
)

// IsTempName reports whether a base name is that of a temporary file or recovery copy of a [Writer].
func IsTempName(base string) bool {
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, TempSuffix)
}

// tempName makes a name for a file beside base that says when it was made.
func tempName(base string, keep bool, now time.Time) string {
	const most = 180
	if len(base) > most {
		base = base[:most]
		for len(base) > 0 && !utf8.ValidString(base) && most-len(base) < utf8.UTFMax {
			base = base[:len(base)-1]
		}
	}
	mark := ""
	if keep {
		mark = keepMark
	}
	return "." + strings.TrimPrefix(base, ".") + "." + strconv.FormatInt(now.Unix(), 36) + "-" + strings.ToLower(rand.Text()[:10]) + mark + TempSuffix
}

// tempTime returns when a temporary file was made, and false for other names and for those to be kept.
func tempTime(name string) (time.Time, bool) {
	if !IsTempName(name) {
		return time.Time{}, false
	}
	name = strings.TrimSuffix(name, TempSuffix)
	name = name[strings.LastIndexByte(name, '.')+1:]
	stamp, random, ok := strings.Cut(name, "-")
	sec, err := strconv.ParseInt(stamp, 36, 64)
	if !ok || err != nil || len(random) != 10 {
		return time.Time{}, false
	}
	return time.Unix(sec, 0), true
}

// sweep removes temporary files that a crash left in the directory more than an hour ago. Each directory is looked at once.
func (w *Writer) sweep(d *fsroot.Dir, dir string) {
	w.mu.Lock()
	if w.swept == nil {
		w.swept = make(map[string]bool)
	}
	done := w.swept[dir]
	if len(w.swept) < maxSwept {
		w.swept[dir] = true
	}
	w.mu.Unlock()
	if done {
		return
	}
	names, err := d.Names(maxSwept)
	if err != nil {
		return
	}
	for _, n := range names {
		if made, ok := tempTime(n); ok && time.Since(made) > staleTime {
			if fi, err := d.Lstat(n); err == nil && fi.Mode().IsRegular() {
				_ = d.Remove(n)
			}
		}
	}
}
