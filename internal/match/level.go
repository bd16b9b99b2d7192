package match

// A Level is a rung of the matching ladder, from exact to lenient.
type Level int

const (
	// Exact means byte for byte, except that CRLF and LF are the same.
	// This is the only level that matches parts of lines.
	Exact Level = iota

	// TrailingBlanks ignores blanks at the ends of lines.
	TrailingBlanks

	// Indentation ignores blanks at both ends of lines.
	Indentation

	// Folded also takes runs of blanks as one, and typographic quotes,
	// dashes, spaces and ellipses as their plain forms.
	Folded

	// Spacing also ignores blanks that do not separate two words.
	Spacing

	// BlankLines also ignores blank lines inside and around the block.
	BlankLines

	// Ellipsis matches the stretches between lines of dots that the old and
	// the new text have in common, each at its only place, in order.
	Ellipsis

	// Slips accepts a few similar lines in a block of at least five lines
	// whose other lines are equal.
	Slips
)

// String returns a phrase that completes "matched with".
func (l Level) String() string {
	switch l {
	case Exact:
		return "no differences"
	case TrailingBlanks:
		return "trailing blanks ignored"
	case Indentation:
		return "indentation ignored"
	case Folded:
		return "blanks and typographic characters folded"
	case Spacing:
		return "spacing ignored"
	case BlankLines:
		return "blank lines ignored"
	case Ellipsis:
		return "the stretches around the ellipsis lines"
	case Slips:
		return "small differences in some lines"
	}
	return "an unknown level"
}
