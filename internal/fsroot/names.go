package fsroot

import (
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold returns name in the form in which names are compared: composed (NFC), case folded rune by rune, and without the
// invisible code points that some file systems ignore, so that ".GIT" and ".g\u200cit" are found to be ".git".
func Fold(name string) string {
	plain := true
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	return norm.NFC.String(strings.Map(foldRune, norm.NFC.String(name)))
}

// foldRune maps all runes that differ only in case to the smallest lower one.
func foldRune(r rune) rune {
	switch {
	case r < 0x80:
		return unicode.ToLower(r)
	case r == '\u00ad', 0x200b <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, r == 0xfeff:
		return -1
	}
	least := r
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		least = min(least, s)
	}
	return unicode.ToLower(least)
}

// ntfsName drops what Windows ignores at the end of a name: a stream, blanks and dots.
func ntfsName(folded string) string {
	if i := strings.IndexByte(folded, ':'); i > 0 {
		folded = folded[:i]
	}
	return strings.TrimRight(folded, " .")
}

// components splits a slash path into folded components.
func components(slashed string) []string {
	parts := strings.Split(slashed, "/")
	out := parts[:0]
	for _, p := range parts {
		if p != "" && p != "." {
			out = append(out, Fold(p))
		}
	}
	return out
}

var secretExceptions = []string{".example", ".sample", ".template", ".dist", ".defaults"}

// IsSecretName reports whether a base name belongs to the .env family (.env, .envrc, .env.*, .env-*, .env_*, *.env, *.env.*) or is
// that of a private SSH key (id_rsa and its like). Names that end in .example, .sample, .template, .dist or .defaults are
// not secret. Case and Unicode form do not matter.
func IsSecretName(base string) bool {
	n := ntfsName(Fold(base))
	for _, e := range secretExceptions {
		if strings.HasSuffix(n, e) {
			return false
		}
	}
	switch n {
	case ".env", ".envrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk":
		return true
	}
	for _, p := range []string{".env.", ".env-", ".env_"} {
		if strings.HasPrefix(n, p) {
			return true
		}
	}
	return strings.HasSuffix(n, ".env") || strings.Contains(n, ".env.")
}

// SecretPreset lists patterns for [Options.Secrets] that many hosts want. They are not on by default because tests and
// examples carry such names.
func SecretPreset() []string {
	return []string{".npmrc", ".netrc", ".pypirc", ".git-credentials", "credentials*", "id_*", "!id_*.pub", "*.pem", "*.key", "*.tfvars", "!*.tfvars.example"}
}

var protectedDirs = map[string]bool{
	".git": true, "git~1": true, ".husky": true, ".githooks": true, ".idea": true, ".devcontainer": true, ".ssh": true,
}

var protectedBases = map[string]bool{
	".gitattributes": true, ".gitmodules": true, ".gitconfig": true, ".envrc": true,
	".bashrc": true, ".bash_profile": true, ".bash_login": true, ".bash_logout": true, ".bash_aliases": true, ".profile": true, ".inputrc": true,
	".zshrc": true, ".zshenv": true, ".zprofile": true, ".zlogin": true, ".zlogout": true, ".kshrc": true, ".cshrc": true, ".tcshrc": true, ".login": true, ".logout": true,
	".xinitrc": true, ".xprofile": true, ".xsession": true, "microsoft.powershell_profile.ps1": true,
}

// protectedUnder lists directory, then the base names in it that are protected; none means everything in it.
var protectedUnder = []struct {
	dir   []string
	bases []string
}{
	{[]string{".vscode"}, []string{"tasks.json", "settings.json", "launch.json"}},
	{[]string{".zed"}, []string{"tasks.json", "settings.json"}},
	{[]string{".github", "workflows"}, nil},
	{[]string{".config", "fish"}, nil},
	{[]string{".config", "autostart"}, nil},
	{[]string{".config", "systemd"}, nil},
}

// IsProtectedPath reports whether writing to the slash-separated path, existing or not, could make other programs run
// something later: git's own files and hooks, editor tasks, continuous integration, shell start-up files, SSH settings.
// It looks at names only and ignores case and Unicode form.
func IsProtectedPath(slashed string) bool {
	parts := components(slashed)
	if len(parts) == 0 {
		return false
	}
	for i, p := range parts {
		parts[i] = ntfsName(p)
		if protectedDirs[parts[i]] {
			return true
		}
	}
	base := parts[len(parts)-1]
	if protectedBases[base] {
		return true
	}
	for _, u := range protectedUnder {
		if at := indexRun(parts, u.dir); at >= 0 && len(parts) > at+len(u.dir) {
			if u.bases == nil {
				return true
			}
			for _, b := range u.bases {
				if parts[at+len(u.dir)] == b {
					return true
				}
			}
		}
	}
	return false
}

func indexRun(parts, run []string) int {
next:
	for i := 0; i+len(run) <= len(parts); i++ {
		for k := range run {
			if parts[i+k] != run[k] {
				continue next
			}
		}
		return i
	}
	return -1
}

// matchHost reports whether any of the host's patterns names the file. A pattern without a slash is matched against the
// base name, one with a slash against the path relative to the root and the absolute path; a pattern that ends in /**, or
// names a directory above the file, covers everything below it. The last pattern that matches decides; a leading ! takes
// a name out again.
func matchHost(patterns []string, rel, abs string) bool {
	hit := false
	for _, pat := range patterns {
		not := strings.HasPrefix(pat, "!")
		pat = Fold(filepath.ToSlash(strings.TrimPrefix(pat, "!")))
		if pat != "" && matchOne(pat, rel, abs) {
			hit = !not
		}
	}
	return hit
}

func matchOne(pat, rel, abs string) bool {
	if !strings.Contains(pat, "/") {
		ok, err := path.Match(pat, path.Base(abs))
		return err == nil && ok
	}
	pat = strings.TrimSuffix(strings.TrimSuffix(pat, "/**"), "/")
	for _, name := range []string{rel, abs} {
		if path.IsAbs(pat) != path.IsAbs(name) && !strings.Contains(pat, ":") {
			continue
		}
		for n := name; n != "" && n != "." && n != "/"; n = path.Dir(n) {
			if ok, err := path.Match(pat, n); err == nil && ok {
				return true
			}
			if path.Dir(n) == n {
				break
			}
		}
	}
	return false
}
