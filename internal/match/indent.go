package match

import "strings"

// An indenter carries the indentation of new lines over to that of the place.
// It learns from the lines that matched: the old text's indentation of a line
// and the text's own.
type indenter struct {
	known    []indentPair
	same     bool          // the old text had the indentation right everywhere
	uneven   bool          // no rule leads from the old indentation to the text's
	scaled   bool          // the old indentation is the text's at another scale, or moved; which of them is open
	mended   bool          // it had not, but new has, and old was taken as if
	doubt    bool          // the indentation of some new line had to be guessed
	style    func() string // the steps of the text
	fileUnit string
	oldUnit  int // columns per step where the old text uses blanks
}

type indentPair struct {
	index      int // of the old line
	old, have  string
	firstOfAll bool
}

// newIndenter learns from the lines of old that matched. have returns the
// text's line for an old line and whether there is one.
func newIndenter(old, new []string, have func(i int) (string, bool), style func() string) *indenter {
	ind := &indenter{same: true, style: style}
	for i, o := range old {
		if isBlank(o) {
			continue
		}
		h, ok := have(i)
		if !ok {
			continue
		}
		p := indentPair{index: i, old: indentOf(o), have: indentOf(h), firstOfAll: len(ind.known) == 0}
		if p.old != p.have {
			ind.same = false
		}
		ind.known = append(ind.known, p)
	}
	if ind.same && !ind.foreign(new, style) {
		return ind
	}
	ind.same = false
	for _, p := range ind.known {
		if strings.Contains(p.have, "\t") {
			ind.fileUnit = "\t"
			break
		}
	}
	if ind.fileUnit == "" {
		ind.fileUnit = style()
	}
	ind.oldUnit = blankUnit(old, new)
	ind.scaled = ind.fileUnit == "" && ind.scalable()
	if _, _, ok := ind.shift(); !ok && !ind.converts() {
		ind.uneven = true
		ind.oldUnit = len(ind.fileUnit)
		if ind.fileUnit == "\t" || ind.fileUnit == "" {
			ind.oldUnit = 4
		}
	}
	return ind
}

// scalable reports whether all lines that matched have one depth, which the text
// writes with so many times the blanks that steps of another width explain it as
// well as lines that were moved. Deeper lines come out different then.
func (ind *indenter) scalable() bool {
	if len(ind.known) == 0 {
		return false
	}
	first := ind.known[0]
	o, h := len(first.old), len(first.have)
	if o == 0 || h == 0 || strings.Trim(first.old+first.have, " ") != "" || o != 2*h && h != 2*o && o != 4*h && h != 4*o {
		return false
	}
	for _, p := range ind.known {
		if p.old != first.old || p.have != first.have {
			return false
		}
	}
	return true
}

// converts reports whether one kind of steps was written for another.
func (ind *indenter) converts() bool {
	_, ok := ind.convert("")
	return ok
}

// foreign reports whether the new lines are indented by other means than the
// text, where no matched line is indented and could tell.
func (ind *indenter) foreign(new []string, style func() string) bool {
	for _, p := range ind.known {
		if p.have != "" {
			return false
		}
	}
	tabs, blanks := false, false
	for _, l := range new {
		if isBlank(l) {
			continue
		}
		in := indentOf(l)
		tabs = tabs || strings.Contains(in, "\t")
		blanks = blanks || len(in) > 1 && in[0] == ' '
	}
	if tabs == blanks {
		return false
	}
	unit := style()
	return blanks && unit == "\t" || tabs && strings.HasPrefix(unit, " ")
}

// blankUnit is the step of an indentation made of blanks: the greatest common
// divisor of the widths and of their differences.
func blankUnit(groups ...[]string) int {
	unit := 0
	for _, lines := range groups {
		last := -1
		for _, l := range lines {
			if isBlank(l) {
				continue
			}
			in := indentOf(l)
			if strings.Contains(in, "\t") {
				continue
			}
			if last >= 0 && len(in) != last {
				d := len(in) - last
				unit = gcd(unit, max(d, -d))
			}
			last = len(in)
		}
	}
	switch {
	case unit == 1:
		return 2
	case unit > 8 && unit%4 == 0:
		return 4
	}
	return unit
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// carry returns the indentation at the place for a new line indented by s that
// stands near old line i.
func (ind *indenter) carry(s string, i int) string {
	if ind.same || len(ind.known) == 0 {
		ind.doubt = ind.doubt || ind.mended && !ind.fits(s)
		return s
	}
	if have, ok := ind.seen(s, i); ok {
		return have
	}
	if base := ind.deepest(s); strings.Contains(base, "\t ") && len(s) > len(base) || strings.Contains(s, " ") && ind.mixes() {
		ind.doubt = true // behind blanks that follow tabs, a step may be either
	}
	if ind.uneven {
		return ind.carryUneven(s)
	}
	if ind.scaled && len(s) > len(ind.known[0].old) {
		ind.doubt = true
	}
	if ind.oldUnit > 0 && strings.HasPrefix(ind.fileUnit, " ") && len(ind.fileUnit) != ind.oldUnit {
		if have, ok := ind.convertBy(s, ind.fileUnit, ind.oldUnit); ok {
			return have
		}
	}
	if have, ok := ind.prefix(s); ok {
		return have
	}
	if have, ok := ind.convert(s); ok {
		return have
	}
	return ind.relative(s, i)
}

// carryFrom is like carry for a line that takes the place of old line i, or is
// that line, indented anew.
func (ind *indenter) carryFrom(s string, i int, old, have string) string {
	if !ind.uneven {
		return ind.carry(s, i)
	}
	if in, ok := ind.seen(s, i); ok {
		return in
	}
	if rest, ok := strings.CutPrefix(s, old); ok && ind.whole(rest) && !strings.Contains(have, "\t ") {
		return have + ind.translate(rest)
	}
	return ind.carry(s, i)
}

// carryUneven is carry where no rule explains the old text's indentation: what
// the matched lines say themselves is believed, and whole steps from there.
func (ind *indenter) carryUneven(s string) string {
	var base *indentPair
	for n := range ind.known {
		p := &ind.known[n]
		if p.have == s {
			return s // as the text has it
		}
		if rest, ok := strings.CutPrefix(s, p.old); ok && ind.whole(rest) && (base == nil || len(p.old) > len(base.old)) {
			base = p
		}
	}
	if base == nil {
		ind.doubt = true
		return s
	}
	in := base.have + ind.translate(s[len(base.old):])
	ind.doubt = ind.doubt || strings.Contains(in, " \t")
	return in
}

// fits reports whether s is an indentation that the text's lines there have, or
// whole steps from one.
func (ind *indenter) fits(s string) bool {
	unit := max(len(ind.style()), 2)
	whole := func(rest string) bool {
		return strings.Trim(rest, "\t") == "" || strings.Trim(rest, " ") == "" && len(rest)%unit == 0
	}
	for _, p := range ind.known {
		if rest, ok := strings.CutPrefix(s, p.have); ok && whole(rest) {
			return true
		}
		if rest, ok := strings.CutPrefix(p.have, s); ok && whole(rest) {
			return true
		}
	}
	return false
}

// mixes reports whether the text has lines indented by blanks behind tabs.
func (ind *indenter) mixes() bool {
	for _, p := range ind.known {
		if strings.Contains(p.have, "\t ") {
			return true
		}
	}
	return false
}

// deepest returns the text's indentation for the matched line whose indentation in
// the old text is the longest beginning of s.
func (ind *indenter) deepest(s string) string {
	var best *indentPair
	for n := range ind.known {
		if p := &ind.known[n]; strings.HasPrefix(s, p.old) && (best == nil || len(p.old) > len(best.old)) {
			best = p
		}
	}
	if best == nil {
		return ""
	}
	return best.have
}

// whole reports whether an indentation consists of whole steps.
func (ind *indenter) whole(s string) bool {
	return strings.Trim(s, "\t") == "" || strings.Trim(s, " ") == "" && ind.oldUnit > 1 && len(s)%ind.oldUnit == 0
}

// relative works from the matched line whose indentation is nearest to s.
func (ind *indenter) relative(s string, i int) string {
	var best indentPair
	found := false
	for _, p := range ind.known {
		if strings.HasPrefix(s, p.old) && (!found || len(p.old) > len(best.old) ||
			len(p.old) == len(best.old) && distance(p.index, i) < distance(best.index, i)) {
			best, found = p, true
		}
	}
	if found {
		return best.have + ind.translate(s[len(best.old):])
	}
	// Shallower than anything known: go out as many steps as the new text does.
	for _, p := range ind.known {
		if strings.HasPrefix(p.old, s) && (!found || len(p.old) < len(best.old)) {
			best, found = p, true
		}
	}
	if found {
		return strings.TrimSuffix(best.have, ind.translate(best.old[len(s):]))
	}
	return s
}

func distance(a, b int) int { return max(a-b, b-a) }

// seen looks for the nearest matched line with the same indentation. The first
// line counts last: it often comes without its indentation.
func (ind *indenter) seen(s string, i int) (string, bool) {
	var best indentPair
	found := false
	for _, p := range ind.known {
		if p.old != s {
			continue
		}
		stripped := p.firstOfAll && p.old == "" && len(ind.known) > 1 && p.index != i
		if stripped {
			if !found {
				best, found = p, true
			}
			continue
		}
		if !found || best.firstOfAll && best.old == "" && best.index != i ||
			distance(p.index, i) < distance(best.index, i) {
			best, found = p, true
		}
	}
	return best.have, found
}

// shift returns the prefix that was added to the old indentation, or removed
// from it, throughout.
func (ind *indenter) shift() (add, cut string, ok bool) {
	for n, p := range ind.reliable() {
		var a, c string
		switch {
		case strings.HasSuffix(p.have, p.old):
			a = p.have[:len(p.have)-len(p.old)]
		case strings.HasSuffix(p.old, p.have):
			c = p.old[:len(p.old)-len(p.have)]
		default:
			return "", "", false
		}
		if n > 0 && (a != add || c != cut) {
			return "", "", false
		}
		add, cut = a, c
	}
	return add, cut, true
}

// prefix applies such a shift.
func (ind *indenter) prefix(s string) (string, bool) {
	add, cut, ok := ind.shift()
	switch {
	case !ok || add == "" && cut == "":
		return "", false
	case cut != "":
		if !strings.HasPrefix(s, cut) {
			return "", strings.HasPrefix(cut, s)
		}
		return s[len(cut):], true
	case strings.Contains(add, "\t") && strings.Contains(s, " "):
		return "", false // tabs there, blanks here: convert
	}
	return add + s, true
}

// reliable are the known pairs without a first line that lost its indentation.
func (ind *indenter) reliable() []indentPair {
	if len(ind.known) > 1 && ind.known[0].old == "" && ind.known[0].have != "" {
		return ind.known[1:]
	}
	return ind.known
}

// convert applies when steps of one kind were written as steps of another, at
// an offset of whole steps.
func (ind *indenter) convert(s string) (string, bool) {
	for _, fu := range [...]string{ind.fileUnit, "\t", "    ", "  ", "        ", "   "} {
		for _, ou := range [...]int{ind.oldUnit, 4, 2, 8, 3} {
			if have, ok := ind.convertBy(s, fu, ou); ok {
				return have, true
			}
		}
	}
	return "", false
}

// convertBy converts from steps of a width to the text's steps, if that explains
// every matched line.
func (ind *indenter) convertBy(s, fileUnit string, oldUnit int) (string, bool) {
	if fileUnit == "" || oldUnit == 0 {
		return "", false
	}
	offset := 0
	for n, p := range ind.reliable() {
		od, odd := steps(p.old, oldUnit)
		hd, oddHave := steps(p.have, len(fileUnit))
		if fileUnit == "\t" {
			hd, oddHave = strings.Count(p.have, "\t"), strings.Trim(p.have, "\t") != ""
		}
		if odd || oddHave || fileUnit != "\t" && strings.Contains(p.have, "\t") || n > 0 && hd-od != offset {
			return "", false
		}
		offset = hd - od
	}
	d, odd := steps(s, oldUnit)
	rest := ""
	if odd {
		rest = strings.Repeat(" ", columns(s, oldUnit)%oldUnit)
		// Steps that nobody uses, and a line that does not keep to them: that the
		// matched lines do may be chance.
		ind.doubt = ind.doubt || oldUnit == 3 && offset != 0
	}
	return strings.Repeat(fileUnit, max(0, d+offset)) + rest, true
}

// columns is the width of an indentation with tabs of the given width, each
// counted as one step.
func columns(s string, unit int) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\t' {
			n += unit
		} else {
			n++
		}
	}
	return n
}

func steps(s string, unit int) (n int, odd bool) {
	c := columns(s, unit)
	return c / unit, c%unit != 0
}

// translate writes a deeper indentation's additional blanks in the file's units.
func (ind *indenter) translate(rest string) string {
	unit := ind.oldUnit
	if unit == 0 {
		unit = 4
		if len(rest)%4 != 0 && len(rest)%2 == 0 {
			unit = 2
		}
	}
	fu := ind.fileUnit
	if fu == "" || strings.Contains(rest, "\t") == strings.Contains(fu, "\t") && (strings.Contains(fu, "\t") || len(fu) == unit) {
		return rest
	}
	d, odd := steps(rest, unit)
	out := strings.Repeat(fu, d)
	if odd {
		out += strings.Repeat(" ", columns(rest, unit)%unit)
	}
	return out
}

// indentStyle returns the indentation step of a text, from lines around a line
// first and the rest of the text after: a tab, or some blanks.
func (t *Text) indentStyle(at int) string {
	const reach = 400
	tabs, widths := 0, [9]int{}
	last := -1
	for i := max(0, at-reach); i < min(t.Len(), at+reach); i++ {
		line := t.Line(i)
		if isBlank(line) {
			continue
		}
		in := indentOf(line)
		if strings.HasPrefix(in, "\t") {
			tabs++
			continue
		}
		if d := len(in) - last; last >= 0 && d > 1 && d <= 8 {
			widths[d]++
		}
		last = len(in)
	}
	best := 0
	for w, n := range widths {
		if n > 0 && (best == 0 || n > widths[best]) {
			best = w
		}
	}
	switch {
	case best == 0 && tabs == 0:
		return ""
	case best == 0 || tabs > widths[best]:
		return "\t"
	}
	return strings.Repeat(" ", best)
}
