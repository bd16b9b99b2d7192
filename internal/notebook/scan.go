package notebook

import (
	"encoding/json"
	"errors"
	"strings"
)

// A node is a JSON value with its place in the text.
type node struct {
	start, end int
	kind       byte // '{', '[', '"', or 0 for numbers and literals
	members    []member
	items      []*node
}

type member struct {
	name  string
	start int // of the key
	value *node
}

// get returns the last member called name, which is the one that JSON readers see.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

const maxDepth = 200

var errJSON = errors.New("not valid JSON")

// scan reads a whole JSON text, which must be valid.
func scan(src string) (*node, error) {
	if !json.Valid([]byte(src)) {
		return nil, errJSON
	}
	s := &scanner{src: src}
	n, err := s.value(0)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// A scanner goes through text that is known to be valid.
type scanner struct {
	src string
	pos int
}

func (s *scanner) blanks() {
	for s.pos < len(s.src) && strings.IndexByte(" \t\r\n", s.src[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *scanner) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	s.blanks()
	n := &node{start: s.pos}
	switch c := s.src[s.pos]; c {
	case '{', '[':
		n.kind = c
		if err := s.inside(n, depth); err != nil {
			return nil, err
		}
	case '"':
		n.kind = c
		s.str()
	default:
		for s.pos < len(s.src) && strings.IndexByte(" \t\r\n,]}", s.src[s.pos]) < 0 {
			s.pos++
		}
	}
	n.end = s.pos
	return n, nil
}

// inside reads the members or items of n, and what closes it.
func (s *scanner) inside(n *node, depth int) error {
	s.pos++
	for {
		s.blanks()
		switch s.src[s.pos] {
		case '}', ']':
			s.pos++
			return nil
		case ',':
			s.pos++
			continue
		}
		var m member
		if n.kind == '{' {
			m.start = s.pos
			s.str()
			m.name = decode(s.src[m.start:s.pos])
			s.blanks()
			s.pos++ // the colon
		}
		v, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		if n.kind == '{' {
			m.value = v
			n.members = append(n.members, m)
		} else {
			n.items = append(n.items, v)
		}
	}
}

// str passes over a string.
func (s *scanner) str() {
	for s.pos++; s.src[s.pos] != '"'; s.pos++ {
		if s.src[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos++
}

// decode returns what a JSON string says.
func decode(literal string) string {
	var out string
	if err := json.Unmarshal([]byte(literal), &out); err != nil {
		return ""
	}
	return out
}
