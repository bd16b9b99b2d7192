package match_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/editcases"
	"github.com/agenttool/tool/internal/match"
)

func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }

var goFile = lines(
	"package demo",
	"",
	"func sum(items []int) int {",
	"\ttotal := 0",
	"\tfor _, n := range items {",
	"\t\ttotal += n",
	"\t}",
	"\treturn total",
	"}",
	"",
	"func main() {",
	"\tprintln(sum(nil))",
	"}",
)

func TestFind(t *testing.T) {
	tests := []struct {
		name     string
		text     string
		edit     match.Edit
		want     string
		level    match.Level
		repaired string
	}{
		{"part of a line", "a b c\n", match.Edit{Old: "b", New: "$1 \\1 $&"}, "a $1 \\1 $& c\n", match.Exact, ""},
		{"delete whole lines", "a\nb\nc\n", match.Edit{Old: "b\n"}, "a\nc\n", match.Exact, ""},
		{"literal at exact level", "a\n", match.Edit{Old: "a", New: "b  "}, "b  \n", match.Exact, ""},
		{"exact wins over a lenient twin", "\tx = 1\n  x = 1\n", match.Edit{Old: "\tx = 1", New: "\tx = 2"}, "\tx = 2\n  x = 1\n", match.Exact, ""},
		{"trailing blanks of the file stay", "a  \nb \nc\n", match.Edit{Old: "a\nb\nc", New: "a\nB\nc"}, "a  \nB\nc\n", match.TrailingBlanks, ""},
		{"trailing blanks of the model go", "a\nb\n", match.Edit{Old: "a \nb \n", New: "a \nx \nb \n"}, "a\nx\nb\n", match.TrailingBlanks, ""},
		{"blanks for tabs", goFile, match.Edit{Old: "    for _, n := range items {\n        total += n\n    }", New: "    for _, n := range items {\n        if n > 0 {\n            total += n\n        }\n    }"},
			strings.Replace(goFile, "\t\ttotal += n\n", "\t\tif n > 0 {\n\t\t\ttotal += n\n\t\t}\n", 1), match.Indentation, ""},
		{"two for four", "def f():\n    a = 1\n    if a:\n        b()\n", match.Edit{Old: "  a = 1\n  if a:\n    b()", New: "  a = 1\n  if a:\n    b()\n    c()\n  d()"},
			"def f():\n    a = 1\n    if a:\n        b()\n        c()\n    d()\n", match.Indentation, ""},
		{"quotes of the file stay", "say “hello” to the world\n", match.Edit{Old: `say "hello" to the world`, New: `say "hello" to the moon`}, "say “hello” to the moon\n", match.Folded, ""},
		{"quotes of the model go", "x = \"a\"\ny = 'b'\n", match.Edit{Old: "x = “a”\ny = ‘b’", New: "x = “a”\ny = ‘c’\nz = “d”"}, "x = \"a\"\ny = 'c'\nz = \"d\"\n", match.Folded, ""},
		{"decomposed", "caf\u00e9 one\nb\n", match.Edit{Old: "cafe\u0301 one\nb", New: "cafe\u0301 two\nb"}, "caf\u00e9 two\nb\n", match.Folded, ""},
		{"runs of blanks", "x    = 1\nyy   = 2\n", match.Edit{Old: "x = 1\nyy = 2", New: "x = 1\nyy = 3"}, "x    = 1\nyy   = 3\n", match.Folded, ""},
		{"spacing", "f( a,b )\ng()\n", match.Edit{Old: "f(a, b)\ng()", New: "f(a, b)\nh()"}, "f( a,b )\nh()\n", match.Spacing, ""},
		{"blank lines left out", "a()\n\nb()\n\nc()\n", match.Edit{Old: "a()\nb()\nc()", New: "a()\nB()\nc()"}, "a()\n\nB()\n\nc()\n", match.BlankLines, ""},
		{"blank lines around", "a()\nb()\n", match.Edit{Old: "\n\na()\nb()\n\n", New: "\n\na()\nc()\n\n"}, "a()\nc()\n", match.BlankLines, ""},
		{"line numbers", goFile, match.Edit{Old: "     4\t\ttotal := 0\n     5\t\tfor _, n := range items {", New: "     4\t\ttotal := 1\n     5\t\tfor _, n := range items {"},
			strings.Replace(goFile, "total := 0", "total := 1", 1), match.Exact, "line numbers"},
		{"line numbers in the old text only", "7\n9\n12\n15\n", match.Edit{Old: "1\t7\n2\t9\n3\t12", New: "7\n9\n13"}, "7\n9\n13\n15\n", match.Exact, "line numbers"},
		{"line numbers before a counting column", "1\ta\n2\tb\n", match.Edit{Old: "1\t1\ta\n2\t2\tb", New: "1\ta\n2\tc"}, "1\ta\n2\tc\n", match.Exact, "line numbers"},
		{"line numbers, nothing in common", "a\nb\n", match.Edit{Old: "1\ta", New: "1\tc\n2\td"}, "c\nd\nb\n", match.Exact, "line numbers"},
		{"escapes in the old text only", "a := 1\nb := 2\n", match.Edit{Old: `a := 1\nb := 2`, New: "a := 1\nb := \"\\n\""}, "a := 1\nb := \"\\n\"\n", match.Exact, "backslash escapes"},
		{"entities in the old text only", "if a < b {\nx\n", match.Edit{Old: "if a &lt; b {\nx", New: "if a < b {\n&amp;lt;"}, "if a < b {\n&amp;lt;\n", match.Exact, "HTML entities"},
		{"code fence", goFile, match.Edit{Old: "```go\n\ttotal := 0\n```", New: "```go\n\ttotal := 1\n```"}, strings.Replace(goFile, "total := 0", "total := 1", 1), match.Exact, "a code fence"},
		{"escapes", goFile, match.Edit{Old: `\ttotal := 0\n\tfor _, n`, New: `\ttotal := 1\n\tfor _, n`}, strings.Replace(goFile, "total := 0", "total := 1", 1), match.Exact, "backslash escapes"},
		{"entities", "if a < b && c {\n", match.Edit{Old: "if a &lt; b &amp;&amp; c {", New: "if a &gt; b &amp;&amp; c {"}, "if a > b && c {\n", match.Exact, "HTML entities"},
		{"ellipsis", goFile, match.Edit{Old: "func sum(items []int) int {\n\t...\n\treturn total", New: "func add(items []int) int {\n\t...\n\treturn total + 1"},
			strings.Replace(strings.Replace(goFile, "func sum", "func add", 1), "return total\n", "return total + 1\n", 1), match.Ellipsis, ""},
		{"CRLF stays", "a\r\nb\r\nc\r\n", match.Edit{Old: "a\nb", New: "a\nx\nb"}, "a\r\nx\r\nb\r\nc\r\n", match.Exact, ""},
		{"CRLF of the model goes", "a\nb\n", match.Edit{Old: "a\r\nb", New: "a\r\nx"}, "a\nx\n", match.Exact, ""},
		{"mixed endings stay line by line", "a\r\nb\nc\r\nd\n", match.Edit{Old: "a\nb\nc\nd\n", New: "a\nb\nX\nd\n"}, "a\r\nb\nX\r\nd\n", match.Exact, ""},
		{"lone CR is content", "a\rb\nc\n", match.Edit{Old: "c", New: "d"}, "a\rb\nd\n", match.Exact, ""},
		{"no break at the end", "a\nb", match.Edit{Old: "a\nb\n", New: "a\nb\nc\n"}, "a\nb\nc", match.TrailingBlanks, ""},
		{"the last lines go", "a\nb", match.Edit{Old: "b \n", New: ""}, "a", match.TrailingBlanks, ""},
		{"replace all", "a a\na\n", match.Edit{Old: "a", New: "b$&", All: true}, "b$& b$&\nb$&\n", match.Exact, ""},
		{"replace all, indented otherwise", "\tx()\n\ty()\n{\n\t\tx()\n\t\ty()\n}\n", match.Edit{Old: "x()\ny()\n", New: "x()\nz()\n", All: true}, "\tx()\n\tz()\n{\n\t\tx()\n\t\tz()\n}\n", match.Indentation, ""},
		{"expected count", "a a\n", match.Edit{Old: "a", New: "b", Expect: 2}, "b b\n", match.Exact, ""},
		{"new has the right indentation", goFile, match.Edit{Old: "total := 0\nfor _, n := range items {\n\ttotal += n", New: "\ttotal := 0\n\tfor _, n := range items {\n\t\ttotal += 2 * n"},
			strings.Replace(goFile, "total += n", "total += 2 * n", 1), match.Indentation, ""},
		{"a new form of blank lines", "a\n \nb\n", match.Edit{Old: "a\n\nb", New: "a\n\nc"}, "a\n \nc\n", match.TrailingBlanks, ""},
		{"wrapped, without the indentation of the place", "f()\n\talpha(1)\n\tbeta(2)\n\tg()\n", match.Edit{Old: "alpha(1)\nbeta(2)\n", New: "if x {\n\talpha(1)\n\tbeta(2)\n}\n"},
			"f()\n\tif x {\n\t\talpha(1)\n\t\tbeta(2)\n\t}\n\tg()\n", match.Indentation, ""},
		{"wrapped one level out", "class A:\n    def f():\n        alpha(1)\n        beta(2)\n        g()\n", match.Edit{Old: "    alpha(1)\n    beta(2)\n", New: "    if x:\n        alpha(1)\n        beta(2)\n"},
			"class A:\n    def f():\n        if x:\n            alpha(1)\n            beta(2)\n        g()\n", match.Indentation, ""},
		{"every line changed, new indented as the place", "f()\n\talpha(one)\n\tbeta(two)\n\tg()\n", match.Edit{Old: "alpha(one)\nbeta(two)\n", New: "\talpha(two)\n\tbeta(three)\n"},
			"f()\n\talpha(two)\n\tbeta(three)\n\tg()\n", match.Indentation, ""},
		{"placeholder allowed", "f()\n", match.Edit{Old: "f()", New: "// ... existing code ...", AllowPlaceholders: true}, "// ... existing code ...\n", match.Exact, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := match.Find(tt.text, tt.edit)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Apply(tt.text))
			assert.Equal(t, tt.level, p.Level, p.Level.String())
			assert.Equal(t, tt.repaired, p.Repaired)
			assert.Equal(t, tt.text, match.Apply(p.Apply(tt.text), match.Invert(tt.text, p.Spans)), "the inverse restores")
		})
	}
}

func TestRefusals(t *testing.T) {
	block := lines("a := one(1)", "b := two(2)", "c := three(3)", "d := four(4)", "e := five(5)", "f := six(6)", "g := seven(7)")
	tests := []struct {
		name   string
		text   string
		edit   match.Edit
		reason error
		says   []string
	}{
		{"empty old", "a\n", match.Edit{New: "b"}, match.ErrBlank, []string{"empty"}},
		{"blank old", "a\n", match.Edit{Old: " \n\t", New: "b"}, match.ErrBlank, []string{"only blanks"}},
		{"old is new", "a\nb\n", match.Edit{Old: "b", New: "b"}, match.ErrUnchanged, []string{"line 2"}},
		{"old is new and missing", "a\n", match.Edit{Old: "b", New: "b"}, match.ErrUnchanged, []string{"does not contain"}},
		{"not there", "alpha beta\n", match.Edit{Old: "something else entirely", New: "x"}, match.ErrNotFound, []string{"no part"}},
		{"twice", "a\nx\nb\nx\n", match.Edit{Old: "x", New: "y"}, match.ErrAmbiguous, []string{"lines 2, 4", "line 1: a", "line 3: b", "replaceAll"}},
		{"overlapping", "x\nx\nx\n", match.Edit{Old: "x\nx\n", New: "y\n"}, match.ErrAmbiguous, []string{"lines 1, 2"}},
		{"twice with other indentation", "\tx()\n\ty()\n  x()\n  y()\n", match.Edit{Old: "x()\ny()\n", New: "z()\n"}, match.ErrAmbiguous, []string{"lines 1, 3", "indentation ignored"}},
		{"count", "a a a\n", match.Edit{Old: "a", New: "b", Expect: 2}, match.ErrCount, []string{"3 places", "2 were expected"}},
		{"applied", "func other() {}\nx := compute(2)\n", match.Edit{Old: "x := compute(1)", New: "x := compute(2)"}, match.ErrApplied, []string{"lines 2-2", "applied"}},
		{"placeholder", goFile, match.Edit{Old: goFile, New: "package demo\n\n// ... rest of the code ...\n"}, match.ErrPlaceholder, []string{"rest of the code", "lost"}},
		{"another number", block, match.Edit{Old: strings.Replace(block, "three(3)", "three(4)", 1), New: strings.Replace(block, "two(2)", "two(9)", 1)}, match.ErrNotFound, []string{"line 3"}},
		{"other middle between equal ends", lines("begin()", "alpha(1)", "beta(2)", "gamma(3)", "delta(4)", "end()"), match.Edit{Old: lines("begin()", "one", "two", "three", "four", "end()"), New: "x\n"}, match.ErrNotFound, []string{"2 of 6 lines"}},
		{"indentation shown", "\tif a {\n\t\tb()\n\t}\n", match.Edit{Old: "if a {\n\tc()\n}", New: "x"}, match.ErrNotFound, []string{"→→b()"}},
		{"ellipsis not in new", goFile, match.Edit{Old: "func sum(items []int) int {\n\t...\n\treturn total", New: "x"}, match.ErrNotFound, []string{"ellipsis"}},
		{"ellipsis with an ambiguous stretch", goFile, match.Edit{Old: "package demo\n...\n}", New: "package other\n...\n}"}, match.ErrNotFound, []string{"2 places"}},
		{"nothing left to change", "f( a )\nb\n", match.Edit{Old: "f(a)\nb", New: "f( a )\nb"}, match.ErrUnchanged, []string{"changes nothing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := match.Find(tt.text, tt.edit)
			require.Error(t, err, "%+v", p)
			assert.Nil(t, p)
			assert.ErrorIs(t, err, tt.reason)
			var e *match.Error
			require.ErrorAs(t, err, &e)
			for _, s := range tt.says {
				assert.Contains(t, err.Error(), s)
			}
			assert.LessOrEqual(t, strings.Count(err.Error(), "\n"), 40)
		})
	}
}

// TestSlips holds what a slip may be against what it may not.
func TestSlips(t *testing.T) {
	file := lines("func load(path string) error {", "\tdata, err := os.ReadFile(path)", "\tif err != nil {", "\t\treturn fmt.Errorf(\"load: %w\", err)", "\t}",
		"\tconfig.Timeout = 30", "\tconfig.parse(data)", "\treturn nil", "}")
	apply := func(old, new string) (string, error) {
		p, err := match.Find(file, match.Edit{Old: old, New: new})
		if err != nil {
			return "", err
		}
		assert.Equal(t, match.Slips, p.Level)
		assert.NotEmpty(t, p.Slips)
		return p.Apply(file), nil
	}
	replace := func(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }

	got, err := apply(replace(file, "config.parse", "config.prase"), replace(file, "config.parse", "config.prase", "= 30", "= 60"))
	require.NoError(t, err)
	assert.Equal(t, replace(file, "= 30", "= 60"), got, "a slip in a line that stays is not written")

	got, err = apply(replace(file, "config.parse", "config.prase"), replace(file, "config.parse(data)", "config.decode(data)"))
	require.NoError(t, err)
	assert.Equal(t, replace(file, "config.parse(data)", "config.decode(data)"), got, "a slip in the line that changes does not matter")

	_, err = apply(replace(file, "= 30", "= 20"), replace(file, "= 30", "= 20", "data)", "data, nil)"))
	assert.ErrorIs(t, err, match.ErrNotFound, "another number in a line that stays")

	_, err = apply(replace(file, "= 30", "= 20"), replace(file, "= 30", "= 60"))
	assert.ErrorIs(t, err, match.ErrNotFound, "another number in the line that changes")

	_, err = apply(replace(file, "config.parse(data)", "logger.Print(path, \"done\")"), replace(file, "config.parse(data)", "nothing()"))
	assert.ErrorIs(t, err, match.ErrNotFound, "another line")

	_, err = apply(replace(file, "return nil\n}", "return nul\n}"), replace(file, "return nil\n}", "return nul\n}", "30", "60"))
	require.NoError(t, err)

	short := lines("\tconfig.Timeout = 30", "\tconfig.prase(data)", "\treturn nil", "}")
	_, err = apply(short, "x\n")
	assert.ErrorIs(t, err, match.ErrNotFound, "four lines are too few to be sure")
}

func TestPlanTellsWhere(t *testing.T) {
	p, err := match.Find(goFile, match.Edit{Old: "    total := 0\n    for _, n := range items {", New: "    var total int\n    var seen bool\n    for _, n := range items {"})
	require.NoError(t, err)
	assert.Equal(t, []match.Place{{First: 4, Last: 5, NewFirst: 4, NewLast: 6}}, p.Places)
	assert.Equal(t, "matched lines 4-5 with indentation ignored", p.Note())
	p, err = match.Find("a\nb\na\n", match.Edit{Old: "a\n", New: "x\ny\n", All: true})
	require.NoError(t, err)
	assert.Equal(t, []match.Place{{First: 1, Last: 1, NewFirst: 1, NewLast: 2}, {First: 3, Last: 3, NewFirst: 4, NewLast: 5}}, p.Places)
	assert.Empty(t, p.Note())
}

// TestNotFoundMessage is the message a model reads.
func TestNotFoundMessage(t *testing.T) {
	_, err := match.Find(goFile, match.Edit{Old: "\tfor _, n := range items {\n\t\ttotal -= n\n\t}\n\treturn total", New: "x"})
	require.Error(t, err)
	assert.Equal(t, `oldString was not found in the file. Nearest is lines 5-8 (3 of 4 lines are there); line 2 of the wanted text is not there; first difference in line 6, character 9:
  5| →for _, n := range items {
> 6| →→total += n
             ^
     →→total -= n  (wanted)
  7| →}
  8| →return total
→ is a tab, · a blank at the end. Copy the lines from the file as they are now.`, err.Error())
}

// TestNearestWindow checks that a refusal shows the window that holds half of
// the lines, in 95 of 100 cases.
func TestNearestWindow(t *testing.T) {
	casesNeeded(t)
	shown, asked := 0, 0
	for _, c := range editcases.Make("exact", 99, 150) {
		old := strings.Split(strings.TrimSuffix(c.Old, "\n"), "\n")
		file := strings.Split(c.File, "\n")
		if len(old) < 4 || !strings.Contains(c.File, strings.Join(old, "\n")) {
			continue
		}
		at := strings.Count(c.File[:strings.Index(c.File, strings.Join(old, "\n"))], "\n")
		for i := 1; i < len(old); i += 2 {
			old[i] = fmt.Sprintf("\tsomething.else%d(of, it)", i)
		}
		equal := func(window string) int {
			n := 0
			for _, l := range old {
				if strings.TrimSpace(l) != "" && strings.Contains(window, strings.TrimSpace(l)) {
					n++
				}
			}
			return n
		}
		_, err := match.Find(c.File, match.Edit{Old: strings.Join(old, "\n") + "\n", New: "x\n"})
		var e *match.Error
		if !errors.As(err, &e) || !errors.Is(err, match.ErrNotFound) {
			continue
		}
		asked++
		message := strings.ReplaceAll(err.Error(), "→", "\t")
		if equal(message) >= equal(strings.Join(file[at:at+len(old)], "\n")) {
			shown++
		}
	}
	require.Greater(t, asked, 80)
	assert.GreaterOrEqual(t, 100*float64(shown)/float64(asked), 95.0)
}

func TestFindLines(t *testing.T) {
	text := "one\ntwo\n\nfour\r\nfive"
	tests := []struct {
		name string
		edit match.LineEdit
		want string
	}{
		{"replace", match.LineEdit{First: 1, Last: 2, FirstText: "one", LastText: " two ", Text: "1\n2\n3\n"}, "1\n2\n3\n\nfour\r\nfive"},
		{"delete", match.LineEdit{First: 2, Last: 2, FirstText: "two", LastText: "two"}, "one\n\nfour\r\nfive"},
		{"in front", match.LineEdit{First: 1, Last: 0, LastText: "one", Text: "zero\n"}, "zero\none\ntwo\n\nfour\r\nfive"},
		{"between", match.LineEdit{First: 5, Last: 4, FirstText: "four", LastText: "five", Text: "4½"}, "one\ntwo\n\nfour\r\n4½\r\nfive"},
		{"at the end", match.LineEdit{First: 6, Last: 5, FirstText: "five", Text: "six\n"}, "one\ntwo\n\nfour\r\nfive\r\nsix"},
		{"the last line keeps its end", match.LineEdit{First: 5, Last: 5, FirstText: "five", LastText: "five", Text: "5\n"}, "one\ntwo\n\nfour\r\n5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := match.FindLines(text, tt.edit)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Apply(text))
		})
	}
	refused := []struct {
		name string
		edit match.LineEdit
		says string
	}{
		{"stale number", match.LineEdit{First: 1, Last: 1, FirstText: "two", LastText: "two", Text: "x"}, "That is line 2 now: correct all line numbers by +1"},
		{"stale end", match.LineEdit{First: 1, Last: 3, FirstText: "one", LastText: "two", Text: "x"}, "it is blank"},
		{"no guard", match.LineEdit{First: 1, Last: 1, Text: "x"}, "without the text"},
		{"beyond the end", match.LineEdit{First: 4, Last: 9, FirstText: "four", Text: "x"}, "which has 5 lines"},
		{"gone", match.LineEdit{First: 1, Last: 1, FirstText: "uno", LastText: "uno", Text: "x"}, "No line"},
		{"insertion without guard", match.LineEdit{First: 2, Last: 1, Text: "x"}, "without the text"},
	}
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			_, err := match.FindLines(text, tt.edit)
			require.ErrorIs(t, err, match.ErrGuard)
			assert.Contains(t, err.Error(), tt.says)
		})
	}
	p, err := match.FindLines("", match.LineEdit{First: 1, Last: 0, Text: "a\nb\n"})
	require.NoError(t, err)
	assert.Equal(t, "a\nb\n", p.Apply(""))
}

func TestFindAll(t *testing.T) {
	text := lines("one()", "two()", "three()")
	seq, err := match.FindAll(text, []match.Edit{
		{Old: "one()", New: "uno()\neins()"},
		{Old: "eins()", New: "ein()"},
		{Old: "three()", New: "drei()"},
		{Old: "one()", New: "uno()\neins()"},
	})
	require.NoError(t, err)
	want := lines("uno()", "ein()", "two()", "drei()")
	assert.Equal(t, want, seq.Text)
	assert.Equal(t, want, match.Apply(text, seq.Spans), "composite spans")
	assert.Equal(t, match.Redundant, seq.Outcomes[3].Status)
	assert.Equal(t, 1, seq.Outcomes[3].After)

	seq, err = match.FindAll(text, []match.Edit{
		{Old: "one()\ntwo()", New: "both()"},
		{Old: "two()", New: "zwei()"},
		{Old: "seventeen()", New: "ghost()"},
		{Old: "ghost()", New: "spirit()"},
		{Old: "three()", New: "drei()"},
	})
	require.ErrorIs(t, err, match.ErrSequence)
	require.ErrorIs(t, err, match.ErrNotFound)
	assert.Equal(t, text, seq.Text)
	assert.Nil(t, seq.Spans)
	status := []match.Status{}
	for _, o := range seq.Outcomes {
		status = append(status, o.Status)
	}
	assert.Equal(t, []match.Status{match.Planned, match.Failed, match.Failed, match.Untried, match.Planned}, status)
	for _, s := range []string{"3 of 5 edits", "nothing was changed", "Edit 1: ok (lines 1-2)", "Edit 2: edit 1 already changed this region (lines 1-2)", "Edit 4: not tried, because it builds on edit 3", "Edit 5: ok"} {
		assert.Contains(t, err.Error(), s)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(goFile, "\ttotal := 0\n", "\ttotal := 1\n", false)
	f.Add("a\r\nb\nc", "a\nb", "x\n", false)
	f.Add("a\r\n\r\n b \r\n", "\n b", "c\n\n", true)
	f.Add("\tx\n\n\ty\n", "  x\n  y\n", "  y\n\n  x", false)
	f.Add("“a” – b\n", "\"a\" - b", "\"a\" - c", true)
	f.Add("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n...\n6\n", "1\n9\n...\n6\n", false)
	f.Add("one\ntwo\nthree\nfour\nfive\nsix\n", "one\ntwo\nthrree\nfour\nfive\nsix\n", "one\nthrree\nfour\n\nsix\n", false)
	f.Add("a\xff\nb\n", "a\xff\n b", "\xfe\n", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		p, err := match.Find(text, match.Edit{Old: old, New: new, All: all})
		if err != nil {
			var e *match.Error
			require.ErrorAs(t, err, &e)
			require.LessOrEqual(t, strings.Count(err.Error(), "\n"), 40)
			require.NotNil(t, e.Reason)
			return
		}
		require.NotEmpty(t, p.Spans)
		pos := 0
		for _, s := range p.Spans {
			require.True(t, pos <= s.Start && s.Start <= s.End && s.End <= len(text), "spans in order")
			pos = s.End
		}
		got := p.Apply(text)
		require.NotEqual(t, text, got)
		require.Equal(t, text, match.Apply(got, match.Invert(text, p.Spans)), "the inverse restores")
		for _, pl := range p.Places {
			require.True(t, 1 <= pl.First && pl.First <= pl.Last+1 && pl.NewFirst <= pl.NewLast+1)
		}
	})
}

func FuzzFindAll(f *testing.F) {
	f.Add("a\nb\nc\n", "a", "x\ny", "y", "z")
	f.Add("one\r\ntwo\r\n", "one", "1\n\n", "1", "")
	f.Add("abc", "b", "", "ac", "b")
	f.Fuzz(func(t *testing.T, text, o1, n1, o2, n2 string) {
		seq, err := match.FindAll(text, []match.Edit{{Old: o1, New: n1}, {Old: o2, New: n2}, {Old: n2, New: o1}})
		if err != nil {
			require.Equal(t, text, seq.Text)
			return
		}
		require.Equal(t, seq.Text, match.Apply(text, seq.Spans))
		want := text
		for _, o := range seq.Outcomes {
			if o.Status == match.Planned {
				want = o.Plan.Apply(want)
			}
		}
		require.Equal(t, want, seq.Text)
	})
}

func ExampleFind() {
	text := "func f() {\n\treturn 1\n}\n"
	plan, err := match.Find(text, match.Edit{Old: "    return 1", New: "    log()\n    return 2"})
	fmt.Println(err)
	fmt.Println(plan.Note())
	fmt.Print(plan.Apply(text))
	// Output:
	// <nil>
	// matched line 2 with indentation ignored
	// func f() {
	// 	log()
	// 	return 2
	// }
}

func ExampleFind_refused() {
	_, err := match.Find("x = 1\ny = 2\nx = 1\n", match.Edit{Old: "x = 1", New: "x = 3"})
	fmt.Println(errors.Is(err, match.ErrAmbiguous))
	fmt.Println(err)
	// Output:
	// true
	// oldString matches 2 places: lines 1, 3.
	// Add lines around it until it fits one place only, for example:
	//   line 1: after it line 2: y = 2
	//   line 3: before it line 2: y = 2
	// Or set replaceAll to change every place.
}

func ExampleFindAll() {
	seq, err := match.FindAll("a\nb\n", []match.Edit{{Old: "a", New: "x\ny"}, {Old: "y", New: "z"}})
	fmt.Println(err, len(seq.Spans))
	fmt.Print(seq.Text)
	// Output:
	// <nil> 1
	// x
	// z
	// b
}

func ExampleFindLines() {
	text := "a\nb\nc\n"
	plan, err := match.FindLines(text, match.LineEdit{First: 2, Last: 2, FirstText: "b", LastText: "b", Text: "B\nB\n"})
	fmt.Println(err)
	fmt.Print(plan.Apply(text))
	_, err = match.FindLines(text, match.LineEdit{First: 1, Last: 1, FirstText: "b", LastText: "b", Text: "B\n"})
	fmt.Println(err)
	// Output:
	// <nil>
	// a
	// B
	// B
	// c
	// line 1 does not say “b”; it says “a”. That is line 2 now: correct all line numbers by +1, or read the lines again.
}

func ExampleCompose() {
	text := "one two three"
	first := []match.Span{{Start: 0, End: 3, Text: "1"}}
	second := []match.Span{{Start: 2, End: 5, Text: "2"}}
	both := match.Compose(text, first, second)
	fmt.Println(match.Apply(text, both))
	// Output: 1 2 three
}
