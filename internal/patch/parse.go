package patch

import (
	"strconv"
	"strings"
)

const wantSections = "between *** Begin Patch and *** End Patch stands a *** Update File: path, *** Add File: path or *** Delete File: path for each file"

// Parse reads a patch in either notation. What surrounds it is left aside: prose,
// Markdown fences, a shell command with a here-document. Line breaks may be LF or
// CRLF. The error is an [*Error] with [ErrSyntax], [ErrBinary] or [ErrEmpty].
func Parse(text string) (*Patch, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if !strings.Contains(text, "\n") && strings.Contains(text, `\n`) {
		// The whole patch was quoted once too often.
		text = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`).Replace(text)
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Reason: ErrEmpty, message: "the patch is empty; " + wantSections}
	}
	p := &parser{closed: strings.HasSuffix(text, "\n")}
	p.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range p.lines {
		if isBegin(l) {
			return p.envelope(i)
		}
	}
	for i, l := range p.lines {
		if _, ok := header(l); ok {
			return nil, syntax(i+1, `"*** Begin Patch" is missing in front of the first section`)
		}
	}
	return p.unified()
}

type parser struct {
	lines  []string
	pos    int
	closed bool // the text ends in a line break
	patch  Patch

	headsOnly string // path of a section that had no hunks
}

func isBegin(line string) bool {
	line = strings.TrimSpace(line)
	return line == "*** Begin Patch" || strings.HasSuffix(line, "*** Begin Patch") &&
		(strings.HasPrefix(line, "apply_patch") || strings.HasPrefix(line, "patch"))
}

func isEnd(line string) bool {
	return strings.HasPrefix(line, "*** End Patch") || strings.TrimSpace(line) == "*** End Patch"
}

// header returns what follows the asterisks of a section's head line.
func header(line string) (string, bool) {
	line = strings.TrimSpace(line)
	for _, h := range [...]string{"Update File:", "Add File:", "Delete File:", "Move to:"} {
		if rest, ok := strings.CutPrefix(line, "*** "+h); ok {
			return h + strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// envelope reads everything between begin and end markers.
func (p *parser) envelope(begin int) (*Patch, error) {
	ended := false
	p.pos = begin + 1
	for p.pos < len(p.lines) {
		line := p.lines[p.pos]
		switch {
		case isEnd(line):
			ended = true
			p.pos++
			for p.pos < len(p.lines) && !isBegin(p.lines[p.pos]) {
				p.pos++
			}
			if p.pos < len(p.lines) {
				ended = false
				p.pos++
			}
		case strings.TrimSpace(line) == "":
			p.pos++
		default:
			if !ended && p.tail() {
				p.pos = len(p.lines)
				break
			}
			if err := p.section(); err != nil {
				return nil, err
			}
		}
	}
	if !ended && p.cutOff() {
		return nil, syntax(len(p.lines), `"*** End Patch" is missing and the last line has no line break, so the patch may be cut off. Send it again, complete`)
	}
	if len(p.patch.Sections) == 0 {
		return nil, &Error{Reason: ErrEmpty, message: "the patch has no sections; " + wantSections}
	}
	return &p.patch, nil
}

// tail reports whether all that is left closes a wrapper: a fence or the end of
// a here-document.
func (p *parser) tail() bool {
	for _, l := range p.lines[p.pos:] {
		if !isWrapperEnd(l) && strings.TrimSpace(l) != "" {
			return false
		}
	}
	return true
}

func isWrapperEnd(line string) bool {
	switch strings.TrimSpace(line) {
	case "```", "~~~", "EOF", "PATCH", "END", "'", `"`, ")":
		return true
	}
	return false
}

// cutOff reports whether a patch without an end may lack more than its end.
func (p *parser) cutOff() bool {
	if p.closed || len(p.lines) == 0 {
		return false
	}
	last := p.lines[len(p.lines)-1]
	return strings.HasPrefix(last, "+") || strings.HasPrefix(last, "-")
}

func (p *parser) section() error {
	h, ok := header(p.lines[p.pos])
	s := Section{line: p.pos + 1}
	kind, path, _ := strings.Cut(h, ":")
	switch {
	case !ok || kind == "Move to":
		return syntax(p.pos+1, `expected "*** Update File: ", "*** Add File: " or "*** Delete File: ", found %q`, short(p.lines[p.pos]))
	case path == "":
		return syntax(p.pos+1, "the section has no path")
	case kind == "Add File":
		s.Kind = Add
	case kind == "Delete File":
		s.Kind = Delete
	}
	s.Path = path
	p.pos++
	var err error
	switch s.Kind {
	case Add:
		err = p.content(&s)
	case Update:
		err = p.updates(&s)
	}
	if err != nil {
		return err
	}
	p.patch.Sections = append(p.patch.Sections, s)
	return nil
}

// sectionEnd reports whether the line at i is not part of the section any more.
func (p *parser) sectionEnd(i int) bool {
	line := p.lines[i]
	if isEnd(line) || isBegin(line) {
		return true
	}
	h, ok := header(line)
	return ok && !strings.HasPrefix(h, "Move to:") && (line[0] == '*' || line[0] == ' ' && strings.HasPrefix(strings.TrimSpace(line), "*** "))
}

func (p *parser) content(s *Section) error {
	var b strings.Builder
	blanks := 0
	noEOL := false
	for ; p.pos < len(p.lines) && !p.sectionEnd(p.pos); p.pos++ {
		line := p.lines[p.pos]
		switch {
		case strings.HasPrefix(line, "+"):
			b.WriteString(strings.Repeat("\n", blanks))
			blanks = 0
			b.WriteString(line[1:] + "\n")
		case strings.TrimSpace(line) == "":
			blanks++ // content only if more follows
		case strings.HasPrefix(line, `\ No newline`):
			noEOL = true
		case strings.TrimSpace(line) == "*** End of File":
		case p.tail():
			p.pos = len(p.lines)
			p.pos--
		default:
			return syntax(p.pos+1, "every line of an added file starts with +, found %q", short(line))
		}
	}
	s.Content = b.String()
	if noEOL {
		s.Content = strings.TrimSuffix(s.Content, "\n")
	}
	return nil
}

// updates reads the hunks of an updated file.
func (p *parser) updates(s *Section) error {
	if p.pos < len(p.lines) {
		if h, ok := header(p.lines[p.pos]); ok && strings.HasPrefix(h, "Move to:") {
			s.MoveTo = strings.TrimPrefix(h, "Move to:")
			if s.MoveTo == "" {
				return syntax(p.pos+1, "the move has no destination")
			}
			p.pos++
		}
	}
	var h *Hunk
	flush := func() error {
		if h == nil {
			return nil
		}
		if len(h.Lines) == 0 {
			return syntax(h.line, "the hunk of %s has no lines", s.Path)
		}
		s.Hunks = append(s.Hunks, *h)
		h = nil
		return nil
	}
	ended := false
	for ; p.pos < len(p.lines) && !p.sectionEnd(p.pos); p.pos++ {
		line := p.lines[p.pos]
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "*** End of File":
			if h != nil {
				h.EndOfFile = true
				ended = true
			}
			continue
		case h == nil && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")) && p.fileNames():
			continue
		case strings.HasPrefix(line, "@@"):
			if h == nil || len(h.Lines) > 0 {
				if err := flush(); err != nil {
					return err
				}
				h = &Hunk{line: p.pos + 1}
			}
			ended = false
			n, anchor := hunkHead(line)
			if n > 0 {
				h.Line = n
			}
			if anchor != "" {
				h.Anchors = append(h.Anchors, anchor)
			}
			continue
		case strings.HasPrefix(line, `\ No newline`):
			if h != nil {
				h.noEOL()
			}
			continue
		case p.tail():
			p.pos = len(p.lines)
		}
		if p.pos == len(p.lines) {
			break
		}
		if h == nil {
			if trimmed == "" {
				continue
			}
			if !marked(line) && !p.hunkBelow() {
				return syntax(p.pos+1, "expected a hunk of %s, found %q", s.Path, short(line))
			}
			h = &Hunk{line: p.pos + 1}
		}
		if strings.HasPrefix(trimmed, "*** ") && !marked(line) {
			return syntax(p.pos+1, "unknown marker %q", short(line))
		}
		if ended {
			if trimmed == "" {
				continue
			}
			return syntax(p.pos+1, `a line follows "*** End of File" without a new @@`)
		}
		h.Lines = append(h.Lines, lineOf(line))
	}
	if err := flush(); err != nil {
		return err
	}
	if len(s.Hunks) == 0 && s.MoveTo == "" {
		return &Error{Reason: ErrEmpty, Path: s.Path, Line: s.line, message: s.Path + ": the section has no hunks, so it changes nothing"}
	}
	return nil
}

// fileNames reports whether the line is one of a pair of names, left over from
// unified notation.
func (p *parser) fileNames() bool {
	line := p.lines[p.pos]
	if strings.HasPrefix(line, "+++ ") {
		return p.pos > 0 && strings.HasPrefix(p.lines[p.pos-1], "--- ")
	}
	return p.pos+1 < len(p.lines) && strings.HasPrefix(p.lines[p.pos+1], "+++ ")
}

// hunkBelow reports whether marked lines follow in the section, so that a line
// without a mark is context that lost it.
func (p *parser) hunkBelow() bool {
	for i := p.pos + 1; i < len(p.lines) && !p.sectionEnd(i); i++ {
		if c := p.lines[i]; c != "" && (c[0] == '+' || c[0] == '-') {
			return true
		}
	}
	return false
}

func marked(line string) bool {
	return line != "" && (line[0] == ' ' || line[0] == '+' || line[0] == '-' || line[0] == '\t')
}

// lineOf reads a line of a hunk. One without a mark is context that lost it, as
// happens to blank lines above all.
func lineOf(line string) Line {
	if line != "" && (line[0] == ' ' || line[0] == '+' || line[0] == '-') {
		return Line{line[0], line[1:]}
	}
	return Line{' ', line}
}

// noEOL notes a "No newline at end of file" behind the last line read.
func (h *Hunk) noEOL() {
	if len(h.Lines) == 0 {
		return
	}
	switch h.Lines[len(h.Lines)-1].Mark {
	case '-':
		h.OldNoEOL = true
	case '+':
		h.NewNoEOL = true
	default:
		h.OldNoEOL, h.NewNoEOL = true, true
	}
}

// hunkHead reads an @@ line: the claimed line of a unified head, or 0, and the
// text that names the surroundings.
func hunkHead(line string) (n int, anchor string) {
	rest := strings.TrimLeft(line, "@")
	body, after, closed := strings.Cut(rest, "@@")
	fields := strings.Fields(body)
	if len(fields) >= 2 && strings.HasPrefix(fields[0], "-") && strings.HasPrefix(fields[1], "+") {
		first, _, _ := strings.Cut(fields[0][1:], ",")
		if v, err := strconv.Atoi(first); err == nil {
			if !closed {
				after = strings.Join(fields[2:], " ")
			}
			return v, strings.TrimSpace(after)
		}
	}
	if strings.TrimSpace(body) == "..." {
		return 0, ""
	}
	if closed && strings.TrimSpace(after) == "" {
		rest = body
	}
	return 0, strings.TrimSpace(rest)
}

func short(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
