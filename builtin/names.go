package builtin

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// nameRules say which names are secret or protected. Case is ignored.
type nameRules struct {
	secrets, guarded []string // the host's patterns, in lower case
}

func newNameRules(secrets, protected []string) (nameRules, error) {
	n := nameRules{}
	for _, list := range []struct {
		from []string
		to   *[]string
		what string
	}{{secrets, &n.secrets, "Secrets"}, {protected, &n.guarded, "Protected"}} {
		for _, p := range list.from {
			if p == "" || !doublestar.ValidatePattern(p) {
				return n, fmt.Errorf("builtin: Config.%s: %q is not a pattern", list.what, p)
			}
			*list.to = append(*list.to, strings.ToLower(p))
		}
	}
	return n, nil
}

// secret reports whether the slash-separated path names a file whose content
// needs a permission of its own: .env and its variants, private SSH keys.
func (n nameRules) secret(p string) bool {
	p = strings.ToLower(p)
	base := path.Base(p)
	if matchAny(n.secrets, p) {
		return true
	}
	for _, s := range []string{".example", ".sample", ".template", ".dist", ".defaults"} {
		if strings.HasSuffix(base, s) {
			return false
		}
	}
	for _, s := range []string{".env.", ".env-", ".env_", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if strings.HasPrefix(base, s) && base != s+"pub" && !strings.HasSuffix(base, ".pub") {
			return true
		}
	}
	return base == ".envrc" || strings.HasSuffix(base, ".env") || strings.Contains(base, ".env.")
}

// protected reports whether changing the file at the slash-separated path could
// make another program run something: git's own files, hooks, editor tasks,
// workflows, shell start-up files, SSH settings. It need not exist.
func (n nameRules) protected(p string) bool {
	p = strings.ToLower(p)
	if matchAny(n.guarded, p) {
		return true
	}
	switch path.Base(p) {
	case ".gitattributes", ".gitmodules", ".gitconfig", ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
		".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".inputrc":
		return true
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		next := ""
		if i+1 < len(parts) {
			next = parts[i+1]
		}
		switch part {
		case ".git", ".husky", ".idea", ".devcontainer", ".ssh":
			return true
		case ".vscode":
			if next == "tasks.json" || next == "settings.json" || next == "launch.json" {
				return true
			}
		case ".github":
			if next == "workflows" {
				return true
			}
		}
	}
	return false
}

// matchAny matches p, or one of the directories above it, against patterns; one
// without a slash is for base names.
func matchAny(patterns []string, p string) bool {
	for _, pat := range patterns {
		for q := p; q != "." && q != "/" && q != ""; q = path.Dir(q) {
			subject := q
			if !strings.Contains(pat, "/") {
				subject = path.Base(q)
			}
			if ok, err := doublestar.Match(pat, subject); err == nil && ok {
				return true
			}
		}
	}
	return false
}

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}

// similar returns up to n of the entries' names that a misspelt name may have
// meant, best first.
func similar(name string, list []fs.DirEntry, n int) []string {
	type scored struct {
		name  string
		score int
	}
	want := strings.ToLower(name)
	var hits []scored
	for _, e := range list {
		have := strings.ToLower(e.Name())
		d := distance(want, have)
		switch {
		case d <= max(1, len(want)/3):
		case len(want) >= 3 && (strings.Contains(have, want) || len(have) >= 3 && strings.Contains(want, have)):
			d += 100
		default:
			continue
		}
		hits = append(hits, scored{e.Name(), d})
	}
	slices.SortStableFunc(hits, func(a, b scored) int { return a.score - b.score })
	var out []string
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// distance is Levenshtein's, over bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			c := diag
			if a[i] != b[j] {
				c = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], c
		}
	}
	return row[len(b)]
}

// clip shortens s to about n bytes and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
