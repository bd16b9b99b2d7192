package fsroot

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxSuggestions = 5
	maxSiblings    = 20_000 // names looked at in one directory
	maxWalked      = 50_000 // names looked at in the search for the base name elsewhere
)

// A Suggestion is what may have been meant by a name that does not exist.
type Suggestion struct {
	// Paths are up to five existing files, likeliest first, as [Path.Display] shows them.
	Paths []string
	// Same is the one existing path that differs from the name only in Unicode form or in which space character it uses, ""
	// when there is none or more than one. It can be opened in place of the name, saying so.
	Same string
	// Partial reports that the search of the tree ended before it had seen everything.
	Partial bool
}

// Suggest looks for existing names like p's: in the same directory by edit distance and containment, then the same base name
// elsewhere in the main directory, for at most [Options.SuggestTime]. Directories outside of the grants are not looked at.
func (r *Root) Suggest(ctx context.Context, p *Path) Suggestion {
	ctx, cancel := context.WithTimeout(ctx, r.opts.SuggestTime)
	defer cancel()
	var s Suggestion
	want := p.Base()
	type scored struct {
		display string
		score   int
	}
	var near []scored
	var same []string
	if p.Inside {
		dir, names := r.siblings(p)
		for _, name := range names {
			if ctx.Err() != nil {
				s.Partial = true
				break
			}
			if name == want {
				continue
			}
			display := path.Join(dir, name)
			if plainForm(name) == plainForm(want) {
				same = append(same, display)
				near = append(near, scored{display, -1})
			} else if d, ok := resemblance(name, want); ok {
				near = append(near, scored{display, d})
			}
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.display, b.display))
	})
	for _, n := range near {
		s.Paths = append(s.Paths, n.display)
	}
	if len(same) == 1 {
		s.Same = same[0]
	}
	if len(s.Paths) < maxSuggestions {
		found, done := r.findBase(ctx, want, filepath.ToSlash(p.Given))
		s.Partial = s.Partial || !done
		for _, f := range found {
			if !slices.Contains(s.Paths, f) {
				s.Paths = append(s.Paths, f)
			}
		}
	}
	if len(s.Paths) > maxSuggestions {
		s.Paths = s.Paths[:maxSuggestions]
	}
	return s
}

// siblings lists the directory that p would be in, or the nearest existing one above it.
func (r *Root) siblings(p *Path) (display string, names []string) {
	h, err := p.tree.root()
	if err != nil || p.tree.exact {
		return "", nil
	}
	f, err := h.OpenFile(filepath.Dir(p.rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", nil
	}
	defer f.Close()
	names, _ = f.Readdirnames(maxSiblings)
	return path.Dir(p.Display), names
}

// findBase searches the main directory breadth first for files called base, ignoring case. Those that share more trailing
// components with given come first.
func (r *Root) findBase(ctx context.Context, base, given string) (found []string, done bool) {
	h, err := r.main.root()
	if err != nil {
		return nil, true
	}
	fold := Fold(base)
	var hits []hit
	queue := []string{"."}
	for seen := 0; len(queue) > 0; {
		dir := queue[0]
		queue = queue[1:]
		entries := readEntries(h, dir)
		for _, e := range entries {
			seen++
			if seen > maxWalked || seen%256 == 0 && ctx.Err() != nil {
				return best(hits), false
			}
			name := path.Join(filepath.ToSlash(dir), e.Name())
			if e.IsDir() {
				if n := Fold(e.Name()); n != ".git" && n != "node_modules" {
					queue = append(queue, filepath.FromSlash(name))
				}
				continue
			}
			if Fold(e.Name()) == fold {
				hits = append(hits, hit{name, sharedTail(name, given)})
			}
		}
		if ctx.Err() != nil {
			return best(hits), len(queue) == 0
		}
	}
	return best(hits), true
}

func readEntries(h *os.Root, dir string) []fs.DirEntry {
	f, err := h.OpenFile(dir, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxSiblings)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// A hit is a file with the wanted base name, and how many trailing components it shares with the wanted path.
type hit struct {
	path   string
	shared int
}

func best(hits []hit) []string {
	slices.SortStableFunc(hits, func(a, b hit) int { return b.shared - a.shared })
	var out []string
	for _, h := range hits[:min(len(hits), maxSuggestions)] {
		out = append(out, h.path)
	}
	return out
}

// sharedTail counts the components that two slash paths have in common at their ends.
func sharedTail(a, b string) int {
	x, y := components(a), components(b)
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// plainForm is the form in which two names that look the same are equal: composed, with plain spaces.
func plainForm(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Zs, r):
			return ' '
		case r == 0x200b || r == 0xfeff || r == 0x2060:
			return -1
		}
		return r
	}, norm.NFC.String(name))
}

// resemblance scores how like two names are; lower is closer.
func resemblance(have, want string) (int, bool) {
	a, b := []rune(Fold(plainForm(have))), []rune(Fold(plainForm(want)))
	if string(a) == string(b) {
		return 0, true
	}
	most := max(len(a), len(b))
	limit := min(max(most/3, 1), 8)
	if d := distance(a, b, limit); d <= limit {
		return d, true
	}
	if len(a) >= 3 && len(b) >= 3 && (strings.Contains(string(a), string(b)) || strings.Contains(string(b), string(a))) {
		return limit + most - min(len(a), len(b)), true
	}
	stemA, stemB := stem(string(a)), stem(string(b))
	if stemA == stemB && len(stemA) >= 2 {
		return limit + 1, true
	}
	return 0, false
}

func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// distance is the edit distance of a and b, with neighbours swapped as one edit, or limit+1 when it is larger.
func distance(a, b []rune, limit int) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a)-len(b) > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
