package patch

// A Kind says what a section of a patch does to a file.
type Kind int

const (
	Update Kind = iota
	Add
	Delete
)

// String returns the letter that tools show for the kind: M, A or D.
func (k Kind) String() string {
	switch k {
	case Add:
		return "A"
	case Delete:
		return "D"
	}
	return "M"
}

// A Patch is a patch as it was written, not yet matched with any file.
type Patch struct {
	Sections []Section

	// Unified says that the patch was a unified diff.
	Unified bool
}

// A Section is the part of a patch about one file.
type Section struct {
	Kind   Kind
	Path   string
	MoveTo string // empty unless the file moves
	Hunks  []Hunk

	// Content is the text of an added file.
	Content string

	line int // of the patch, from 1
}

// A Hunk is a group of changed lines and the lines around them.
type Hunk struct {
	// Anchors are the texts behind @@, outermost first: lines of the file that
	// come before the place.
	Anchors []string

	// Line is the line number that the head of a unified hunk claims for the
	// old file, 0 if there is none. It is a hint and may be wrong.
	Line int

	Lines []Line

	// EndOfFile says that the last line is the last one of the file.
	EndOfFile bool

	// OldNoEOL and NewNoEOL say that the patch marks the end of the old or the
	// new file as being without a line break.
	OldNoEOL, NewNoEOL bool

	line int
}

// A Line is a line of a hunk.
type Line struct {
	Mark byte // ' ', '-' or '+'
	Text string
}

// changes reports whether the hunk adds or removes any line.
func (h *Hunk) changes() bool {
	for _, l := range h.Lines {
		if l.Mark != ' ' {
			return true
		}
	}
	return false
}
