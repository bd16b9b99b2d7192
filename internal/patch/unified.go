package patch

import (
	"strconv"
	"strings"
)

// unified reads a unified diff, plain or as git writes it.
func (p *parser) unified() (*Patch, error) {
	p.patch.Unified = true
	for p.pos < len(p.lines) {
		line := p.lines[p.pos]
		switch {
		case strings.HasPrefix(line, "diff --git "):
			if err := p.gitSection(); err != nil {
				return nil, err
			}
		case p.namesAt(p.pos):
			if err := p.namedSection(Section{line: p.pos + 1}); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "Binary files ") || line == "GIT binary patch":
			return nil, binary(p.pos+1, "")
		case strings.HasPrefix(line, "@@ ") || line == "@@":
			return nil, syntax(p.pos+1, `a hunk without a file: "--- a/path" and "+++ b/path" lines, or an "*** Update File: path" section in an envelope, must come first`)
		default:
			p.pos++
		}
	}
	if len(p.patch.Sections) == 0 && p.headsOnly != "" {
		return nil, &Error{Reason: ErrEmpty, Path: p.headsOnly, message: p.headsOnly + ": the patch changes no text, and file modes are not applied"}
	}
	if len(p.patch.Sections) == 0 {
		return nil, syntax(0, `no patch found. Expected "*** Begin Patch" … "*** End Patch" with "*** Update File: path" sections, or a unified diff with --- and +++ lines`)
	}
	return &p.patch, nil
}

func binary(line int, path string) *Error {
	msg := "the patch has binary content, which cannot be applied as text. Write the file by other means"
	if path != "" {
		msg = path + ": " + msg
	}
	return &Error{Reason: ErrBinary, Path: path, Line: line, message: msg}
}

// namesAt reports whether a pair of file names is at line i.
func (p *parser) namesAt(i int) bool {
	return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i], "--- ") && strings.HasPrefix(p.lines[i+1], "+++ ")
}

// gitSection reads a section that opens with "diff --git".
func (p *parser) gitSection() error {
	s := Section{line: p.pos + 1}
	oldName, newName := gitNames(strings.TrimPrefix(p.lines[p.pos], "diff --git "))
	renameFrom := ""
	p.pos++
	for ; p.pos < len(p.lines); p.pos++ {
		line := p.lines[p.pos]
		if p.namesAt(p.pos) || strings.HasPrefix(line, "diff --git ") {
			break
		}
		word, _, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "new file mode "):
			s.Kind = Add
		case strings.HasPrefix(line, "deleted file mode "):
			s.Kind = Delete
		case strings.HasPrefix(line, "rename from "):
			renameFrom = unquote(strings.TrimPrefix(line, "rename from "))
		case strings.HasPrefix(line, "rename to "):
			s.MoveTo = unquote(strings.TrimPrefix(line, "rename to "))
		case strings.HasPrefix(line, "copy "):
			return syntax(p.pos+1, "copies are not supported; add the new file with its content")
		case strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "GIT binary patch"):
			return binary(p.pos+1, newName)
		case word == "index" || word == "similarity" || word == "dissimilarity" || strings.HasPrefix(line, "old mode ") || strings.HasPrefix(line, "new mode "):
		case strings.HasPrefix(line, "@@"):
			return syntax(p.pos+1, "a hunk without --- and +++ lines in front")
		case strings.TrimSpace(line) == "":
		default:
			// Prose between sections ends this one.
			return p.finishGit(s, oldName, newName, renameFrom)
		}
	}
	if p.namesAt(p.pos) {
		s.Path = oldName
		if renameFrom != "" {
			s.Path = renameFrom
		}
		return p.namedSection(s)
	}
	return p.finishGit(s, oldName, newName, renameFrom)
}

// finishGit completes a section that has heads only.
func (p *parser) finishGit(s Section, oldName, newName, renameFrom string) error {
	s.Path = newName
	switch {
	case renameFrom != "" && s.MoveTo != "":
		s.Path = renameFrom
	case s.Kind == Delete:
		s.Path = oldName
	case s.Kind == Add:
	default:
		p.headsOnly = newName // a change of the mode, which is not applied
		return nil
	}
	if s.Path == "" {
		return syntax(s.line, "the section has no path")
	}
	p.patch.Sections = append(p.patch.Sections, s)
	return nil
}

// gitNames splits the two names behind "diff --git".
func gitNames(s string) (oldName, newName string) {
	if i := strings.Index(s, " b/"); i > 0 && strings.HasPrefix(s, "a/") {
		// With blanks in the name the two halves are alike.
		if n := len(s) / 2; len(s)%2 == 1 && s[n] == ' ' && s[2:n] == s[n+3:] {
			return s[2:n], s[n+3:]
		}
		return s[2:i], s[i+3:]
	}
	if f := strings.Fields(s); len(f) == 2 {
		a, b := unquote(f[0]), unquote(f[1])
		return strings.TrimPrefix(a, "a/"), strings.TrimPrefix(b, "b/")
	}
	return "", ""
}

// unquote undoes git's quoting of names with special characters.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s[1 : len(s)-1]
}

// fileName reads a name behind --- or +++: up to a tab, which a time may follow.
func fileName(line string) string {
	name, _, _ := strings.Cut(line[4:], "\t")
	return unquote(name)
}

// namedSection reads a section from its --- line on.
func (p *parser) namedSection(s Section) error {
	oldName, newName := fileName(p.lines[p.pos]), fileName(p.lines[p.pos+1])
	strip := (strings.HasPrefix(oldName, "a/") || oldName == devNull) && (strings.HasPrefix(newName, "b/") || newName == devNull)
	if strip && oldName != devNull {
		oldName = oldName[2:]
	}
	if strip && newName != devNull {
		newName = newName[2:]
	}
	switch {
	case oldName == devNull && newName == devNull || oldName == "" || newName == "":
		return syntax(p.pos+1, "the section has no path")
	case oldName == devNull:
		s.Kind, s.Path = Add, newName
	case newName == devNull:
		s.Kind, s.Path = Delete, oldName
	case s.MoveTo == "" && oldName != newName && s.Kind == Update:
		// Names that differ without a rename head: the file is the new name
		// unless only the old one tells where it is, as with .orig copies.
		s.Path = newName
		if strings.HasSuffix(newName, ".orig") || strings.HasSuffix(newName, ".new") {
			s.Path = oldName
		}
	case s.MoveTo == "":
		s.Path = newName
	default:
		s.Path = oldName
	}
	p.pos += 2
	for p.pos < len(p.lines) && strings.HasPrefix(p.lines[p.pos], "@@") {
		h, err := p.unifiedHunk(s.Path)
		if err != nil {
			return err
		}
		s.Hunks = append(s.Hunks, *h)
		for p.pos < len(p.lines) && strings.TrimSpace(p.lines[p.pos]) == "" {
			p.pos++
		}
	}
	if len(s.Hunks) == 0 && s.MoveTo == "" {
		if p.pos < len(p.lines) && strings.TrimSpace(p.lines[p.pos]) != "" {
			return syntax(p.pos+1, "expected a hunk of %s, which starts with @@, found %q", s.Path, short(p.lines[p.pos]))
		}
		return &Error{Reason: ErrEmpty, Path: s.Path, Line: s.line, message: s.Path + ": the section has no hunks, so it changes nothing"}
	}
	if s.Kind == Add {
		return p.addedFile(s)
	}
	p.patch.Sections = append(p.patch.Sections, s)
	return nil
}

const devNull = "/dev/null"

// addedFile turns the hunk of a new file into its content.
func (p *parser) addedFile(s Section) error {
	var b strings.Builder
	noEOL := false
	for _, h := range s.Hunks {
		for _, l := range h.Lines {
			if l.Mark == '+' {
				b.WriteString(l.Text + "\n")
			} else if l.Mark == '-' || l.Text != "" {
				return syntax(h.line, "the hunk of a new file can only add lines, found %q", short(string(l.Mark)+l.Text))
			}
		}
		noEOL = noEOL || h.NewNoEOL
	}
	s.Content, s.Hunks = b.String(), nil
	if noEOL {
		s.Content = strings.TrimSuffix(s.Content, "\n")
	}
	p.patch.Sections = append(p.patch.Sections, s)
	return nil
}

// unifiedHunk reads a hunk. The counts of its head may be wrong; they only help
// to tell where it ends.
func (p *parser) unifiedHunk(path string) (*Hunk, error) {
	h := &Hunk{line: p.pos + 1}
	head := p.lines[p.pos]
	n, anchor := hunkHead(head)
	h.Line = n
	if anchor != "" {
		h.Anchors = []string{anchor}
	}
	oldLeft, newLeft := counts(head)
	p.pos++
	for ; p.pos < len(p.lines); p.pos++ {
		line := p.lines[p.pos]
		if strings.HasPrefix(line, `\`) {
			h.noEOL()
			continue
		}
		done := oldLeft <= 0 && newLeft <= 0
		if strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "diff --git ") ||
			p.namesAt(p.pos) && (done || p.pos+2 < len(p.lines) && strings.HasPrefix(p.lines[p.pos+2], "@@")) {
			break
		}
		if done && (line == "" || line == "-- " || !marked(line)) || isFence(line) && p.tail() {
			break
		}
		if line == "" && p.restBlank() {
			break
		}
		l := lineOf(line)
		if l.Mark != '+' {
			oldLeft--
		}
		if l.Mark != '-' {
			newLeft--
		}
		h.Lines = append(h.Lines, l)
	}
	if len(h.Lines) == 0 {
		return nil, syntax(h.line, "the hunk of %s has no lines", path)
	}
	return h, nil
}

// restBlank reports whether nothing but blank lines follows in the section.
func (p *parser) restBlank() bool {
	for i := p.pos; i < len(p.lines); i++ {
		if strings.HasPrefix(p.lines[i], "diff --git ") || p.namesAt(i) {
			return true
		}
		if p.lines[i] != "" {
			return false
		}
	}
	return true
}

func isFence(line string) bool {
	line = strings.TrimSpace(line)
	return line == "```" || line == "~~~" || line == "EOF"
}

// counts returns the line counts of a unified head.
func counts(head string) (old, new int) {
	f := strings.Fields(head)
	if len(f) < 3 {
		return 0, 0
	}
	count := func(s string) int {
		_, n, ok := strings.Cut(s, ",")
		if !ok {
			return 1
		}
		v, _ := strconv.Atoi(n)
		return v
	}
	if !strings.HasPrefix(f[1], "-") || !strings.HasPrefix(f[2], "+") {
		return 0, 0
	}
	return count(f[1]), count(f[2])
}
