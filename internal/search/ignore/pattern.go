package ignore

type kind uint8

const (
	kByte      kind = iota
	kAny            // "?"
	kClass          // "[...]"
	kStar           // any run without a slash
	kStarStar       // any run
	kStarSlash      // nothing, or any run that ends in a slash ("**/")
	kNever          // malformed: matches nothing
)

type token struct {
	kind  kind
	b     byte
	class *[4]uint64
}

// A pattern is a shell pattern as git's wildmatch understands it.
type pattern struct {
	tokens []token
}

// compile reads p. With path set the wildcards "?", "*" and "[" do not match a
// slash, and "**" between slashes does.
func compile(p string, path bool) pattern {
	var pat pattern
	add := func(t token) { pat.tokens = append(pat.tokens, t) }
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '?':
			add(token{kind: kAny})
		case '\\':
			if i++; i == len(p) {
				add(token{kind: kNever})
				break
			}
			add(token{kind: kByte, b: p[i]})
		case '[':
			class, n := parseClass(p[i:])
			if n == 0 {
				add(token{kind: kNever})
				return pat
			}
			if path {
				class['/'>>6] &^= 1 << ('/' & 63)
			}
			add(token{kind: kClass, class: class})
			i += n - 1
		case '*':
			start := i
			for i+1 < len(p) && p[i+1] == '*' {
				i++
			}
			rest := p[i+1:]
			switch {
			case !path:
				add(token{kind: kStarStar})
			case i == start || start > 0 && p[start-1] != '/':
				add(token{kind: kStar})
			case rest != "" && rest[0] == '/':
				add(token{kind: kStarSlash})
				i++
			case rest == "" || len(rest) > 1 && rest[:2] == `\/`:
				add(token{kind: kStarStar})
			default:
				add(token{kind: kStar})
			}
		default:
			add(token{kind: kByte, b: c})
		}
	}
	return pat
}

var posix = map[string]func(b byte) bool{
	"alnum":  func(b byte) bool { return isAlpha(b) || isDigit(b) },
	"alpha":  isAlpha,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < ' ' || b == 0x7F },
	"digit":  isDigit,
	"graph":  func(b byte) bool { return b > ' ' && b < 0x7F },
	"lower":  func(b byte) bool { return 'a' <= b && b <= 'z' },
	"print":  func(b byte) bool { return b >= ' ' && b < 0x7F },
	"punct":  func(b byte) bool { return b > ' ' && b < 0x7F && !isAlpha(b) && !isDigit(b) },
	"space":  func(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' && b != '\v' && b != '\f' },
	"upper":  func(b byte) bool { return 'A' <= b && b <= 'Z' },
	"xdigit": func(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' },
}

func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// parseClass reads the bracket expression at the start of p and returns its
// length, 0 if it is malformed. A "]" right at the start is an ordinary
// character, and so is a "-" at either end.
func parseClass(p string) (*[4]uint64, int) {
	var set [4]uint64
	add := func(lo, hi byte) {
		for b := int(lo); b <= int(hi); b++ {
			set[b>>6] |= 1 << (b & 63)
		}
	}
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	prev := byte(0) // the last single character, which may begin a range
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0
		}
		c := p[i]
		switch {
		case c == ']' && !first:
			if negated {
				for j := range set {
					set[j] = ^set[j]
				}
			}
			return &set, i + 1
		case c == '\\':
			if i++; i >= len(p) {
				return nil, 0
			}
			add(p[i], p[i])
			prev = p[i]
			i++
		case c == '-' && prev != 0 && i+1 < len(p) && p[i+1] != ']':
			if i++; p[i] == '\\' {
				if i++; i >= len(p) {
					return nil, 0
				}
			}
			add(prev, p[i])
			prev = 0
			i++
		case c == '[' && i+1 < len(p) && p[i+1] == ':':
			end := i + 2
			for end < len(p) && p[end] != ']' {
				end++
			}
			if end == len(p) {
				return nil, 0
			}
			if end-1 < i+2 || p[end-1] != ':' { // not a class name after all
				add('[', '[')
				prev = '['
				i++
				continue
			}
			is := posix[p[i+2:end-1]]
			if is == nil {
				return nil, 0
			}
			for b := range 256 {
				if is(byte(b)) {
					add(byte(b), byte(b))
				}
			}
			prev = 0
			i = end + 1
		default:
			add(c, c)
			prev = c
			i++
		}
	}
}

// prefix returns the bytes that every match begins with.
func (p *pattern) prefix() string {
	var b []byte
	for _, t := range p.tokens {
		if t.kind != kByte {
			break
		}
		b = append(b, t.b)
	}
	return string(b)
}

// suffix returns the bytes that every match ends with.
func (p *pattern) suffix() string {
	i := len(p.tokens)
	for i > 0 && p.tokens[i-1].kind == kByte {
		i--
	}
	var b []byte
	for _, t := range p.tokens[i:] {
		b = append(b, t.b)
	}
	return string(b)
}

// match reports whether the pattern matches all of s. All positions in the
// pattern that can be current are tracked at once, so no pattern is slow.
func (p *pattern) match(s []byte) bool {
	n := len(p.tokens)
	var small [8]uint64
	cur, next := small[:4], small[4:]
	if words := n/64 + 1; words > 4 {
		cur, next = make([]uint64, words), make([]uint64, words)
	}
	words := n/64 + 1
	cur, next = cur[:words], next[:words]
	p.enter(cur, 0)
	for _, c := range s {
		clear(next)
		live := false
		for j := range n {
			if cur[j>>6]&(1<<(j&63)) == 0 {
				continue
			}
			t := &p.tokens[j]
			switch t.kind {
			case kByte:
				if t.b == c {
					p.enter(next, j+1)
					live = true
				}
			case kAny:
				if c != '/' {
					p.enter(next, j+1)
					live = true
				}
			case kClass:
				if t.class[c>>6]&(1<<(c&63)) != 0 {
					p.enter(next, j+1)
					live = true
				}
			case kStar:
				if c != '/' {
					p.enter(next, j)
					live = true
				}
			case kStarStar:
				p.enter(next, j)
				live = true
			case kStarSlash:
				// Nothing was the choice when it was entered; now it swallows
				// and may end behind a slash.
				next[j>>6] |= 1 << (j & 63)
				if c == '/' {
					p.enter(next, j+1)
				}
				live = true
			}
		}
		if !live {
			return false
		}
		cur, next = next, cur
	}
	return cur[n>>6]&(1<<(n&63)) != 0
}

// enter makes position j current, and those behind wildcards that may match
// nothing.
func (p *pattern) enter(set []uint64, j int) {
	for {
		set[j>>6] |= 1 << (j & 63)
		if j == len(p.tokens) {
			return
		}
		if k := p.tokens[j].kind; k != kStar && k != kStarStar && k != kStarSlash {
			return
		}
		j++
	}
}
