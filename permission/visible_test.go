package permission

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool"
)

func TestVisible(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"git commit -m 'x  y'", "git commit -m 'x  y'"},
		{"größe 文字 שלום 😀 e\u0301", "größe 文字 שלום 😀 e\u0301"},
		{"a\u202eb", `a\u{202e}b`},
		{"a\u200bb\u200db\ufeff", `a\u{200b}b\u{200d}b\u{feff}`},
		{"\x1b[2Jx\x07\r\x7f\x00", `\u{1b}[2Jx\u{7}\u{d}\u{7f}\u{0}`},
		{"\u0085\u009b", `\u{85}\u{9b}`},
		{"a\u00a0b\u3000c\u2003d", `a\u{a0}b\u{3000}c\u{2003}d`},
		{"\u3164\u115f\uffa0\u2800\u034f\u00ad", `\u{3164}\u{115f}\u{ffa0}\u{2800}\u{34f}\u{ad}`},
		{"\U000E0041", `\u{e0041}`}, // a tag
		{"\u2764\ufe0f", "\u2764" + `\u{fe0f}`},
		{"\ue000\u0378\u2028\u2029", `\u{e000}\u{378}\u{2028}\u{2029}`},
		{"a\xffb\xc3", `a\xffb\xc3`},
		{"\ufffd", "\ufffd"},
		{"e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + `\u{301}\u{301}`},
		{"a" + strings.Repeat(" ", 20) + "b", "a" + strings.Repeat(" ", 20) + "b"},
		{"ls" + strings.Repeat(" ", 500) + "; rm x", "ls[500 blanks]; rm x"},
		{"ls\t\t\t; rm x", "ls[3 blanks]; rm x"},
		{"\t\t\treturn", "\t\t\treturn"},
		{"a\n\t\tb\n", "a\n\t\tb\n"},
		{"a\n\n\nb", "a\n\n\nb"},
		{"a\n\n\n\nb", "a\n[4 newlines]\nb"},
		{"a" + strings.Repeat("\n \t", 50) + "b", "a\n[50 newlines]\n \tb"},
		{"a\r\nb", "a" + `\u{d}` + "\nb"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, Visible(tt.in), "%q", tt.in)
	}
	assert.Equal(t, `a\nb\tc`, VisibleLine("a\nb\tc"))
	assert.Zero(t, testing.AllocsPerRun(100, func() { Visible("git push origin main") }))
}

func TestFlags(t *testing.T) {
	assert.Nil(t, Flags("git push\n\torigin"))
	assert.Nil(t, Flags("größe жизнь λόγος"))
	assert.Equal(t, []string{"paypаl", "gіthub"}, MixedScript("https://paypаl.com/gіthub/paypаl/ok"))
	assert.Equal(t, []string{`the word "paypаl" mixes letters of several scripts`}, Flags("curl paypаl.com"))
	assert.Equal(t, []string{"holds characters that cannot be seen: 2"}, Flags("a\u200bb\x1b"))
	assert.Len(t, Flags("rm \u05d0"), 1)
	assert.Empty(t, MixedScript("kg/м² a-б"))
}

func TestPrompt(t *testing.T) {
	req := &tool.Request{
		ID: "perm_1", SessionID: "s", Permission: "bash", Title: "Run\x1b[2J it", Patterns: []string{"ls\u202e", "x\ny"}, Always: []string{"ls *"},
		Metadata: map[string]any{
			"command": "ls\u202e\nx", "description": "Lists\nfiles \u202e" + strings.Repeat("ö", 300), "n": 1, "dіff": "+\x00",
		},
	}
	p := NewPrompt(req, []string{"because\x1b"})
	assert.Equal(t, Text{"Run\x1b[2J it", `Run\u{1b}[2J it`}, p.Title)
	assert.Equal(t, []Text{{"ls\u202e", `ls\u{202e}`}, {"x\ny", `x\ny`}}, p.Patterns)
	assert.Equal(t, []Text{{"ls *", "ls *"}}, p.Always)
	assert.Equal(t, []Detail{{"command", Text{"ls\u202e\nx", `ls\u{202e}` + "\nx"}}, {"dіff", Text{"+\x00", `+\u{0}`}}}, p.Details)
	assert.True(t, strings.HasPrefix(p.Description, `The model says: "Lists files \u{202e}ö`), p.Description)
	assert.Equal(t, 120, utf8.RuneCountInString(p.Description)-len(`The model says: ""`))
	assert.Equal(t, []string{`because\u{1b}`}, p.Reasons)
	assert.Contains(t, p.Flags, "command holds characters that cannot be seen: 1")
	assert.Equal(t, "bash ls", NewPrompt(&tool.Request{Permission: "bash", Patterns: []string{"ls", "x"}}, nil).Title.Raw)
	assert.Equal(t, "bash", NewPrompt(&tool.Request{Permission: "bash"}, nil).Title.Raw)
	assert.Empty(t, NewPrompt(&tool.Request{Metadata: map[string]any{"description": " \n"}}, nil).Description)
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "ls", "\u202e", "\x1b]52;c;x\x07", "a\xff", "\u2800\u3164\U000E0041", strings.Repeat(" ", 30), strings.Repeat("\n ", 9),
		"e" + strings.Repeat("\u0301", 9), "\t\ta\t\t\tb", "a\r\nb", "\ufeff\u00ad", "\U0001D173\U000E0100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := func(d string, line bool) {
			require.True(t, utf8.ValidString(d))
			marks, blanks, newlines := 0, 0, 0
			for _, r := range d {
				if r == '\n' || r == '\t' {
					require.False(t, line)
				} else {
					require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r) ||
						unicode.In(r, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point), "%U", r)
					require.True(t, r == ' ' || !unicode.IsSpace(r), "%U", r)
				}
				marks, blanks = marks+1, blanks+1
				if !unicode.Is(unicode.M, r) {
					marks = 0
				}
				if r != ' ' && r != '\t' {
					blanks = 0
				}
				if r == '\n' {
					newlines++
				} else if r != ' ' && r != '\t' {
					newlines = 0
				}
				require.LessOrEqual(t, marks, maxMarks)
				require.LessOrEqual(t, blanks, maxBlanks)
				require.LessOrEqual(t, newlines, maxNewlines+1)
			}
		}
		d := Visible(s)
		check(d, false)
		require.Equal(t, d, Visible(d), "what is visible stays as it is")
		check(VisibleLine(s), true)
		Flags(s)
		p := NewPrompt(&tool.Request{Permission: s, Title: s, Patterns: []string{s}, Always: []string{s}, Metadata: map[string]any{"command": s, "description": s, s: s}}, []string{s})
		for _, line := range append([]string{p.Title.Display, p.Patterns[0].Display, p.Always[0].Display, p.Description, p.Reasons[0]}, p.Flags...) {
			check(line, true)
		}
		for _, d := range p.Details {
			check(d.Key, true)
			check(d.Display, false)
		}
		e := Explain([]*tool.Request{{Permission: s, Patterns: []string{s}}}, Ruleset{{"*", s, Deny}})
		for _, r := range e.Reasons {
			check(r, true)
		}
	})
}
