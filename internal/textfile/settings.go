package textfile

import (
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/fsroot"
)

// Settings are what a project says about how a file is stored. The zero value means that it says nothing.
type Settings struct {
	// EOL is EOLLF or EOLCRLF; EOLNone means not said.
	EOL EOL
	// Charset is as in .editorconfig: "utf-8", "utf-8-bom", "utf-16le", "utf-16be", "latin1", or any other name of a charset; ""
	// means not said.
	Charset string
}

const maxSettingsFile = 1 << 20 // bytes of one .editorconfig or .gitattributes

// ReadSettings looks for .editorconfig and .gitattributes from the directory of p up to the granted directory that it is in.
// An end_of_line of .editorconfig counts before an eol attribute; the nearest file counts first. Files that cannot be read
// are passed over, since they are advice only.
func ReadSettings(root *fsroot.Root, p *fsroot.Path) Settings {
	var s Settings
	var attrs Settings
	editor, attributes := true, true
	name := p.Base()
	for dir := filepath.Dir(p.Resolved); editor || attributes; dir = filepath.Dir(dir) {
		if editor {
			if text, ok := readAdvice(root, dir, ".editorconfig"); ok {
				var top bool
				top, s = mergeEditorConfig(text, name, s)
				editor = !top
			}
		}
		if attributes && attrs.EOL == EOLNone {
			if text, ok := readAdvice(root, dir, ".gitattributes"); ok {
				var settled bool
				attrs.EOL, settled = attributeEOL(text, name)
				attributes = !settled
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		if q, err := root.ResolveIn(up, ".", true); err != nil || !q.Inside {
			break
		}
		name = path.Join(filepath.Base(dir), name)
	}
	if s.EOL == EOLNone {
		s.EOL = attrs.EOL
	}
	return s
}

func readAdvice(root *fsroot.Root, dir, name string) (string, bool) {
	p, err := root.ResolveIn(dir, name, true)
	if err != nil || !p.Inside || !p.Exists {
		return "", false
	}
	f, info, err := root.Open(p)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return "", false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSettingsFile))
	return string(b), err == nil
}

// mergeEditorConfig adds to s what text says about the slash path name, and reports whether files further up do not count.
// Later sections override earlier ones, but nothing overrides what a nearer file said.
func mergeEditorConfig(text, name string, s Settings) (top bool, merged Settings) {
	var here Settings
	section, applies := false, false
	for _, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' && line[len(line)-1] == ']' {
			section = true
			re, err := globRegexp(line[1:len(line)-1], true)
			applies = err == nil && re.MatchString(name)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(value))
		switch {
		case !section && key == "root":
			top = value == "true"
		case !applies:
		case key == "end_of_line":
			here.EOL = map[string]EOL{"lf": EOLLF, "crlf": EOLCRLF}[value]
		case key == "charset":
			here.Charset = value
			if value == "unset" {
				here.Charset = ""
			}
		}
	}
	if s.EOL == EOLNone {
		s.EOL = here.EOL
	}
	if s.Charset == "" {
		s.Charset = here.Charset
	}
	return top, s
}

// attributeEOL returns the eol attribute that text gives the slash path name. settled reports that the file said something
// about it, be it that the name is no text.
func attributeEOL(text, name string) (eol EOL, settled bool) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "[attr]") {
			continue
		}
		pattern, attrs := line, ""
		if q, err := strconv.QuotedPrefix(line); err == nil {
			attrs = line[len(q):]
			if pattern, err = strconv.Unquote(q); err != nil {
				continue
			}
		} else if i := strings.IndexAny(line, " \t"); i >= 0 {
			pattern, attrs = line[:i], line[i:]
		}
		re, err := globRegexp(pattern, false)
		if err != nil || !re.MatchString(name) {
			continue
		}
		for _, a := range strings.Fields(attrs) {
			switch a {
			case "eol=lf":
				eol, settled = EOLLF, true
			case "eol=crlf":
				eol, settled = EOLCRLF, true
			case "-text", "binary", "-eol", "!eol":
				eol, settled = EOLNone, true
			}
		}
	}
	return eol, settled
}

const maxGlob = 4096 // bytes of one pattern

// globRegexp translates a pattern of .editorconfig (braces true) or .gitattributes. A pattern without a slash is about the
// base name, in any directory.
func globRegexp(glob string, braces bool) (*regexp.Regexp, error) {
	if len(glob) > maxGlob {
		return nil, strconv.ErrRange
	}
	var b strings.Builder
	b.WriteString("^")
	if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") {
		b.WriteString("(?:.*/)?")
	}
	glob = strings.TrimPrefix(glob, "/")
	depth := 0
	if !braces || !balanced(glob) {
		depth = -1 // braces are ordinary characters
	}
	for i := 0; i < len(glob); {
		rest := glob[i:]
		switch c := glob[i]; {
		case c == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
			continue
		case strings.HasPrefix(rest, "/**/"):
			b.WriteString("(?:/.*)?/")
			i += 4
			continue
		case i == 0 && strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 3
			continue
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i += 2
			continue
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[':
			if class, n := globClass(rest); n > 0 {
				b.WriteString(class)
				i += n
				continue
			}
			b.WriteString(`\[`)
		case c == '{' && depth >= 0:
			if numbers, n := numberRange(rest); n > 0 {
				b.WriteString(numbers)
				i += n
				continue
			}
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case c == ',' && depth > 0:
			b.WriteString("|")
		default:
			_, n := utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
			continue
		}
		i++
	}
	b.WriteString("$")
	return regexp.Compile(b.String())
}

func balanced(glob string) bool {
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// globClass translates [abc], [!abc] and [a-z] at the beginning of s; n is 0 when there is no closing bracket.
func globClass(s string) (class string, n int) {
	end := strings.IndexByte(s[1:], ']')
	if end < 1 || strings.IndexByte(s[:end+1], '/') >= 0 {
		return "", 0
	}
	body := s[1 : end+1]
	not := ""
	if body[0] == '!' || body[0] == '^' {
		not, body = "^/", body[1:]
		if body == "" {
			return "", 0
		}
	}
	body = strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`, "&", `\&`).Replace(body)
	return "[" + not + body + "]", end + 2
}

// numberRange translates {1..9} at the beginning of s.
func numberRange(s string) (alternatives string, n int) {
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return "", 0
	}
	lo, hi, ok := strings.Cut(s[1:end], "..")
	from, err1 := strconv.Atoi(lo)
	to, err2 := strconv.Atoi(hi)
	if !ok || err1 != nil || err2 != nil {
		return "", 0
	}
	if from > to {
		from, to = to, from
	}
	if to-from > 1000 {
		return `[+-]?\d+`, end + 1
	}
	nums := make([]string, 0, to-from+1)
	for i := from; i <= to; i++ {
		nums = append(nums, strconv.Itoa(i))
	}
	return "(?:" + strings.Join(nums, "|") + ")", end + 1
}
