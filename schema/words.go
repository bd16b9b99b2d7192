package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// describe says what v is, in the words of [Issue.Got].
func (v *value) describe() string {
	switch v.kind {
	case kNull:
		return "null"
	case kBool:
		return "boolean " + v.text
	case kNumber:
		return "number " + clip(v.text, maxEcho)
	case kString:
		return "string " + quote(v.text)
	case kArray:
		if len(v.items) == 0 {
			return "an empty array"
		}
		return "array of " + plural(len(v.items), "item")
	}
	if len(v.members) == 0 {
		return "an empty object"
	}
	var keys []string
	for _, m := range v.members {
		keys = append(keys, m.spelled())
	}
	return "object with " + series(keys, "and", 6, maxEcho/4)
}

// quote returns s as a JSON string of a bounded length.
func quote(s string) string { return string(appendString(nil, clip(s, maxEcho))) }

// echo returns v as JSON of a bounded length.
func echo(v *value) string {
	if v.raw != "" && len(v.raw) <= maxEcho {
		return v.raw
	}
	return clip(string(appendCompact(nil, v)), maxEcho)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// series lists names in quotes, at most n of them and each at most width characters long.
func series(names []string, word string, n, width int) string {
	var b strings.Builder
	for i, name := range names {
		if i == n {
			fmt.Fprintf(&b, " %s %d more", word, len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(appendString(nil, clip(name, width)))
	}
	return b.String()
}

// alternatives lists values as JSON.
func alternatives(vs []*value) string {
	const most = 20
	var parts []string
	for i, v := range vs {
		if i == most {
			parts = append(parts, fmt.Sprintf("or %d more", len(vs)-i))
			break
		}
		parts = append(parts, clip(string(appendCompact(nil, v)), maxEcho/4))
	}
	return strings.Join(parts, ", ")
}

// want says what the rule expects, in the words of [Issue.Want].
func (r *rule) want() string { return r.wantDepth(3) }

func (r *rule) wantDepth(depth int) string {
	switch {
	case r.never:
		return "nothing"
	case r.konst != nil:
		return clip(string(appendCompact(nil, r.konst)), maxEcho)
	case r.enum != nil:
		if len(r.enum) == 1 {
			return alternatives(r.enum)
		}
		return "one of " + alternatives(r.enum)
	case r.types == 0 && r.ref != nil && depth > 0:
		return r.ref.wantDepth(depth - 1)
	case r.types == 0 && depth > 0:
		for _, sub := range r.allOf {
			if w := sub.wantDepth(depth - 1); w != anything {
				return w
			}
		}
		if branches := append(slices.Clone(r.anyOf), r.oneOf...); len(branches) > 0 {
			var parts []string
			for _, sub := range branches {
				if w := sub.wantDepth(depth - 1); !slices.Contains(parts, w) {
					parts = append(parts, w)
				}
			}
			return clip(strings.Join(parts, " or "), maxEcho)
		}
		return anything
	case r.types == 0:
		return anything
	}
	names := r.types.names()
	if r.types&tNumber != 0 { // integer is in it
		names = slices.DeleteFunc(names, func(n string) bool { return n == "integer" })
	}
	for i, n := range names {
		switch n {
		case "integer", "number":
			names[i] = n + r.bounds()
		case "string":
			names[i] = r.wantString()
		case "array":
			if r.items != nil && depth > 0 {
				if w := r.items.wantDepth(depth - 2); w != anything && !strings.Contains(w, " ") {
					names[i] = "array of " + w + "s"
				}
			}
		}
	}
	return strings.Join(names, " or ")
}

const anything = "any value"

// bounds is what the rule demands of a number, beginning with a space if anything.
func (r *rule) bounds() string {
	var parts []string
	for _, b := range []struct {
		op string
		d  *decimal
	}{{">=", r.min}, {">", r.above}, {"<=", r.max}, {"<", r.below}} {
		if b.d != nil {
			parts = append(parts, b.op+" "+b.d.String())
		}
	}
	if r.multipleOf != 0 {
		parts = append(parts, "a multiple of "+strconv.FormatFloat(r.multipleOf, 'g', -1, 64))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " and ")
}

func (r *rule) wantString() string {
	s := "string"
	if r.format != "" {
		s += " (" + clip(r.format, 40) + ")"
	}
	if n := span(r.minLen, r.maxLen, "character"); n != "" {
		s += " of " + n
	}
	if r.pattern != nil {
		s += " matching " + clip(r.pattern.String(), maxEcho)
	}
	return s
}

// span words a range of counts: "at least 1 item".
func span(low, high bound, noun string) string {
	if low.n <= 0 {
		low.ok = false
	}
	switch {
	case low.ok && high.ok && low.n == high.n:
		return "exactly " + plural(low.n, noun)
	case low.ok && high.ok:
		return fmt.Sprintf("%d to %s", low.n, plural(high.n, noun))
	case low.ok:
		return "at least " + plural(low.n, noun)
	case high.ok:
		return "at most " + plural(high.n, noun)
	}
	return ""
}

// nearest returns the one of names that key most likely stands for, or "". Of
// very many names it looks at the first few hundred.
func nearest(key string, names []string) string {
	best, score := "", 1000
	k := plain(key)
	for _, name := range names[:min(len(names), 300)] {
		n := plain(name)
		s := 1000
		switch d := distance(k, n); {
		case k == n:
			s = 0
		case d <= max(1, min(len(k), len(n))/3) && d < min(len(k), len(n)):
			s = d
		case len(k) >= 3 && len(n) >= 3 && (strings.HasPrefix(n, k) || strings.HasPrefix(k, n)):
			s = 50 + d
		case len(k) >= 3 && len(n) >= 3 && (strings.HasSuffix(n, k) || strings.HasSuffix(k, n)):
			s = 100 + d
		case len(k) >= 3 && k[0] == n[0] && within(k, n):
			s = 150 + d
		}
		if s < score {
			best, score = name, s
		}
	}
	return best
}

// plain drops what spelling conventions differ in: case, underscores, hyphens.
func plain(s string) string {
	return separators.Replace(strings.ToLower(clip(s, 32)))
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// within reports whether the bytes of s occur in t in this order, as cmd in command.
func within(s, t string) bool {
	for i := 0; i < len(t) && s != ""; i++ {
		if t[i] == s[0] {
			s = s[1:]
		}
	}
	return s == ""
}

// distance is the edit distance of two short strings, swapped neighbours
// counting as one edit.
func distance(s, t string) int {
	a, b := []rune(s), []rune(t)
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	before, prev, cur := rows[0], rows[1], rows[2]
	for j := range prev {
		prev[j] = j
	}
	for i := range a {
		cur[0] = i + 1
		for j := range b {
			d := prev[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, prev[j+1]+1, cur[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			cur[j+1] = d
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}

// runes counts characters as JSON Schema does.
func runes(s string) int { return utf8.RuneCountInString(s) }
