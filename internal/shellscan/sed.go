package shellscan

import "strings"

// A sedScanner reads a sed script to find the commands that run programs or touch files.
type sedScanner struct {
	text  string
	pos   int
	bad   bool
	files []sedFile
}

type sedFile struct {
	name string
	read bool
}

func (s *sedScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *sedScanner) skip(chars string) {
	for s.pos < len(s.text) && strings.IndexByte(chars, s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// until moves behind the next delimiter that is not escaped, and returns what is before it.
func (s *sedScanner) until(delim byte, brackets bool) (string, bool) {
	from := s.pos
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '\\':
			s.pos++
		case c == '[' && brackets && delim != '[':
			if end := strings.IndexByte(s.text[min(s.pos+2, len(s.text)):], ']'); end >= 0 && strings.IndexByte(s.text[s.pos:s.pos+2+end], delim) >= 0 {
				return "", false // a delimiter in brackets: versions differ
			}
		case c == delim:
			s.pos++
			return s.text[from : s.pos-1], true
		}
		s.pos++
	}
	return "", false
}

func (s *sedScanner) line() string {
	rest := s.text[s.pos:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	s.pos += len(rest)
	return rest
}

func (s *sedScanner) address() bool {
	switch c := s.peek(); {
	case c >= '0' && c <= '9', c == '+', c == '~':
		s.pos++
		s.skip("0123456789~")
	case c == '$':
		s.pos++
	case c == '/' || c == '\\':
		s.pos++
		delim := byte('/')
		if c == '\\' {
			delim = s.peek()
			s.pos++
		}
		if delim == 0 || delim >= 0x80 {
			s.bad = true
			return false
		}
		if _, ok := s.until(delim, true); !ok {
			s.bad = true
			return false
		}
		s.skip("IM")
	default:
		return false
	}
	return true
}

func (s *sedScanner) run() {
	for !s.bad && s.pos < len(s.text) {
		s.skip(" \t\n;}")
		if s.pos >= len(s.text) {
			return
		}
		if s.address() {
			s.skip(" \t")
			if s.peek() == ',' {
				s.pos++
				s.skip(" \t")
				if !s.address() {
					s.bad = true
					return
				}
			}
		}
		s.skip(" \t!")
		c := s.peek()
		s.pos++
		switch c {
		case '{', 0:
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
			s.end()
		case 'q', 'Q', 'l', 'L':
			s.skip(" \t0123456789")
			s.end()
		case '#':
			s.line()
		case ':', 'b', 't', 'T':
			s.skip(" \t")
			for s.pos < len(s.text) && strings.IndexByte(" \t\n;}", s.text[s.pos]) < 0 {
				s.pos++
			}
		case 'a', 'i', 'c':
			for {
				l := s.line()
				if !strings.HasSuffix(l, `\`) || s.pos >= len(s.text) {
					break
				}
				s.pos++
			}
		case 's':
			s.substitute()
		case 'y':
			d := s.peek()
			s.pos++
			_, ok1 := s.until(d, false)
			_, ok2 := s.until(d, false)
			s.bad = s.bad || !ok1 || !ok2
			s.end()
		case 'r', 'R', 'w', 'W':
			s.skip(" \t")
			s.files = append(s.files, sedFile{s.line(), c == 'r' || c == 'R'})
		default: // e, and what is not known
			s.bad = true
		}
	}
}

func (s *sedScanner) substitute() {
	d := s.peek()
	s.pos++
	_, ok1 := s.until(d, true)
	_, ok2 := s.until(d, false)
	if !ok1 || !ok2 || d >= 0x80 || d == '\n' || d == '\\' {
		s.bad = true
		return
	}
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case strings.IndexByte("gpiIMm0123456789", c) >= 0:
			s.pos++
		case c == 'w':
			s.pos++
			s.skip(" \t")
			s.files = append(s.files, sedFile{s.line(), false})
			return
		case c == 'e':
			s.bad = true
			return
		default:
			s.end()
			return
		}
	}
}

// end checks that a command is over.
func (s *sedScanner) end() {
	s.skip(" \t\r")
	switch s.peek() {
	case 0, ';', '\n', '}', '#':
	default:
		s.bad = true
	}
}
