package diff

import (
	"fmt"
	"strconv"
	"strings"
)

// DevNull is the name that stands for a file that is not there, before its
// creation or after its deletion.
const DevNull = "/dev/null"

const noNewline = "\\ No newline at end of file\n"

// Unified returns the unified diff of two texts under the names given, as they
// should stand behind --- and +++; it is empty when the texts are equal.
func Unified(oldName, newName, old, new string, opts *Options) string {
	return Compute(old, new, opts).Unified(oldName, newName)
}

// Unified writes the diff in unified format, empty when there are no changes.
// Names that need it are quoted as git does.
func (d *Diff) Unified(oldName, newName string) string {
	if len(d.Hunks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("--- " + headerName(oldName) + "\n")
	b.WriteString("+++ " + headerName(newName) + "\n")
	for i := range d.Hunks {
		d.Hunks[i].write(&b)
	}
	return b.String()
}

// A Header says what else happens to the file of a diff, for [Diff.Git]. Names are
// without the prefixes a/ and b/.
type Header struct {
	Old, New   string // equal unless the file is renamed
	Created    bool
	Deleted    bool
	Executable bool // the mode of a file that is created or deleted
}

// Git writes the diff as git does: with the lines that say that a file is created,
// deleted or renamed, which alone tell it where no line changes. It is empty when
// nothing happens to the file.
func (d *Diff) Git(h Header) string {
	from, to := "a/"+h.Old, "b/"+h.New
	var b strings.Builder
	b.WriteString("diff --git " + extended(from) + " " + extended(to) + "\n")
	mode := "100644"
	if h.Executable {
		mode = "100755"
	}
	switch {
	case h.Created:
		b.WriteString("new file mode " + mode + "\n")
		from = DevNull
	case h.Deleted:
		b.WriteString("deleted file mode " + mode + "\n")
		to = DevNull
	case h.Old != h.New:
		b.WriteString("rename from " + extended(h.Old) + "\nrename to " + extended(h.New) + "\n")
	case len(d.Hunks) == 0:
		return ""
	}
	b.WriteString(d.Unified(from, to))
	return b.String()
}

// headerName quotes a name with characters that end a name early. A name with
// blanks is followed by a tab, which tells where it ends.
func headerName(name string) string {
	if q := quoted(name); q != name {
		return q
	}
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// extended writes a name in a line that only git knows. Others who read it, like
// patch, take a blank for the end of a name that is not quoted.
func extended(name string) string {
	if strings.Contains(name, " ") {
		return quoteName(name)
	}
	return quoted(name)
}

// quoted quotes a name that has to be.
func quoted(name string) string {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '"' || r == '\\' {
			return quoteName(name)
		}
	}
	return name
}

func quoteName(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Header returns the line that opens the hunk, without its line break.
func (h *Hunk) Header() string {
	return "@@ -" + span(h.OldStart, h.OldLines) + " +" + span(h.NewStart, h.NewLines) + " @@"
}

func span(start, lines int) string {
	if lines == 1 {
		return strconv.Itoa(start)
	}
	return strconv.Itoa(start) + "," + strconv.Itoa(lines)
}

var marks = [...]byte{Equal: ' ', Delete: '-', Insert: '+'}

func (h *Hunk) write(b *strings.Builder) {
	b.WriteString(h.Header() + "\n")
	for _, l := range h.Lines {
		b.WriteByte(marks[l.Op])
		b.WriteString(l.Text)
		b.WriteByte('\n')
		if l.NoEOL {
			b.WriteString(noNewline)
		}
	}
}

// Compact returns the diff for a message: the hunks without file names, in at
// most maxLines lines. Where it is cut, the last line says how much is missing.
func (d *Diff) Compact(maxLines int) string {
	var all strings.Builder
	for i := range d.Hunks {
		d.Hunks[i].write(&all)
	}
	lines := strings.SplitAfter(all.String(), "\n")
	lines = lines[:len(lines)-1]
	if len(lines) <= maxLines {
		return all.String()
	}
	keep := max(0, maxLines-1)
	add, del := d.Additions, d.Deletions
	for _, l := range lines[:keep] {
		switch l[0] {
		case '+':
			add--
		case '-':
			del--
		}
	}
	return strings.Join(lines[:keep], "") + fmt.Sprintf("… %d more lines of diff (+%d −%d)\n", len(lines)-keep, add, del)
}

// Stat returns the number of added and of removed lines.
func Stat(old, new string) (additions, deletions int) {
	d := Compute(old, new, nil)
	return d.Additions, d.Deletions
}
