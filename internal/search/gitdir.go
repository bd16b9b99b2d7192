package search

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenttool/tool/internal/search/ignore"
)

// A repository is the top of a git work tree, with a way to read files.
type repository struct {
	dir  string // of the work tree
	read func(name string) (content []byte, ok bool)
}

// repository returns that of a directory below the root. What lies below the root is
// read through it, and what a ".git" file or the configuration names outside of it only
// if the engine may look there.
func (w *walk) repository(dir string) repository {
	w.outer()
	abs := w.outside.abs
	below := func(name string) (content []byte, ok bool) {
		f, err := w.fs.openPath(filepath.ToSlash(name))
		if err != nil {
			return nil, false
		}
		return readSmall(f)
	}
	if abs == "" {
		return repository{dir: filepath.FromSlash(dir), read: func(name string) ([]byte, bool) {
			if !filepath.IsLocal(name) {
				return nil, false
			}
			return below(name)
		}}
	}
	return repository{dir: filepath.Join(abs, filepath.FromSlash(dir)), read: func(name string) ([]byte, bool) {
		if rel, err := filepath.Rel(abs, name); err == nil && filepath.IsLocal(rel) {
			return below(rel)
		}
		return readOutside(name)
	}}
}

// rules returns what the repository itself has to say: its exclude file, and, if its
// configuration names one, the excludes file that replaces the user's.
func (r repository) rules() (exclude, user *ignore.Rules) {
	common := r.common()
	if b, ok := r.read(filepath.Join(common, "info", "exclude")); ok {
		exclude = ignore.Parse(b)
	}
	if b, ok := r.read(filepath.Join(common, "config")); ok {
		if name, set := excludesFile(b, filepath.Join(common, "config"), r.read); set {
			b, _ := r.read(r.join(home(name)))
			if user = ignore.Parse(b); user == nil {
				user = &ignore.Rules{} // it replaces the other even if it says nothing
			}
		}
	}
	return exclude, user
}

// common is the directory with what all work trees of the repository share. A ".git"
// that is a file names the directory of a work tree or of a submodule.
func (r repository) common() string {
	git := filepath.Join(r.dir, ".git")
	if b, ok := r.read(git); ok {
		to, ok := bytes.CutPrefix(b, []byte("gitdir:"))
		if !ok {
			return git
		}
		git = r.join(string(bytes.TrimSpace(to)))
	}
	if b, ok := r.read(filepath.Join(git, "commondir")); ok {
		to := filepath.FromSlash(string(bytes.TrimSpace(b)))
		if filepath.IsAbs(to) {
			return to
		}
		return filepath.Join(git, to)
	}
	return git
}

// join makes a name that is relative to the work tree one that can be read.
func (r repository) join(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(r.dir, name)
}

// home replaces a leading "~/".
func home(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return name
}

// UserExcludes returns the path of the user's ignore file as git would find it
// from the environment: core.excludesFile in the configuration of the system or the user,
// else git/ignore in the configuration directory. It reads the environment and the
// configuration, so the host decides whether to call it. "" means there is none.
func UserExcludes() string {
	dir, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && dir != "" {
		config = filepath.Join(dir, ".config")
	}
	files := []string{"/etc/gitconfig"}
	if s := os.Getenv("GIT_CONFIG_SYSTEM"); s != "" {
		files[0] = s
	}
	if s := os.Getenv("GIT_CONFIG_NOSYSTEM"); s != "" && s != "0" && s != "false" {
		files = nil
	}
	if g := os.Getenv("GIT_CONFIG_GLOBAL"); g != "" {
		files = append(files, g)
	} else {
		if config != "" {
			files = append(files, filepath.Join(config, "git", "config"))
		}
		if dir != "" {
			files = append(files, filepath.Join(dir, ".gitconfig"))
		}
	}
	found, set := "", false
	for _, name := range files { // the later file wins
		b, ok := readOutside(name)
		if !ok {
			continue
		}
		if v, ok := excludesFile(b, name, readOutside); ok {
			found, set = home(v), true
		}
	}
	if !set && config != "" {
		found = filepath.Join(config, "git", "ignore")
	}
	if _, err := os.Stat(found); err != nil {
		return ""
	}
	return found
}

// maxIncludes is how many others a configuration file may include in all, directly or
// through others.
const maxIncludes = 50

// excludesFile returns core.excludesFile as a git configuration file, or one that it
// includes, has it. Conditional includes are not followed.
func excludesFile(config []byte, name string, read func(string) ([]byte, bool)) (value string, set bool) {
	left := maxIncludes
	return readConfig(config, name, read, &left)
}

func readConfig(config []byte, name string, read func(string) ([]byte, bool), left *int) (value string, set bool) {
	section := ""
	text := strings.ReplaceAll(string(config), "\r\n", "\n")
	for text != "" {
		text = strings.TrimLeft(text, " \t\n")
		if strings.HasPrefix(text, "[") {
			var head string
			if end := strings.IndexByte(text, ']'); end > 0 {
				head, text = text[1:end], text[end+1:]
			} else {
				break
			}
			section = strings.ToLower(strings.TrimSpace(head))
			continue
		}
		key := text[:len(text)-len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"))]
		rest := strings.TrimLeft(text[len(key):], " \t")
		if key == "" || !strings.HasPrefix(rest, "=") { // a comment, or a key without a value
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		var v string
		v, text = configValue(rest[1:])
		switch {
		case section == "core" && strings.EqualFold(key, "excludesfile"):
			value, set = v, true
		case section == "include" && strings.EqualFold(key, "path") && *left > 0:
			*left--
			file := filepath.FromSlash(home(v))
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(name), file)
			}
			if b, ok := read(file); ok {
				if v, ok := readConfig(b, file, read, left); ok {
					value, set = v, true
				}
			}
		}
	}
	return value, set
}

// configValue reads a value of a git configuration file: up to the end of the line or
// a comment, without blanks around it, with quotes and escapes.
func configValue(s string) (value, rest string) {
	s = strings.TrimLeft(s, " \t")
	var b strings.Builder
	quoted, keep := false, 0 // what is before keep stays, blanks or not
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			return trimValue(b.String(), keep), s[i+1:]
		case c == '"':
			quoted = !quoted
			keep = b.Len()
			continue
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case '\n':
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			default:
				b.WriteByte(s[i])
			}
			keep = b.Len()
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ = strings.Cut(s[i:], "\n")
			return trimValue(b.String(), keep), rest
		default:
			b.WriteByte(c)
			if quoted {
				keep = b.Len()
			}
		}
	}
	return trimValue(b.String(), keep), ""
}

// trimValue drops blanks at the end, behind what was quoted.
func trimValue(s string, keep int) string {
	return s[:keep] + strings.TrimRight(s[keep:], " \t")
}
