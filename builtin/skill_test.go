package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/tooltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const skillFiles = `-- .skills/pdf/SKILL.md --
---
name: pdf
description: "Fill in: forms" # a comment
license: MIT
metadata:
  author: someone
allowed-tools:
  - bash
---
# PDF

Run scripts/fill.py.
-- .skills/pdf/scripts/fill.py --
print("hi")
-- .skills/pdf/reference/forms.md --
Forms.
-- .skills/pdf/.gitignore --
*.tmp
-- .skills/pdf/x.tmp --
temporary
-- .skills/pdf/.env --
SECRET=1
-- .skills/group/review/SKILL.md --
---
name: review
description: >-
  Look at changes
  before they go in.
---
Read the diff.
-- .skills/bad/SKILL.md --
No front matter.
-- .skills/Wrong/SKILL.md --
---
name: other
description: x
---
-- .skills/empty/readme.md --
nothing
-- more/pdf/SKILL.md --
---
name: pdf
description: another
---
-- a.txt --
alpha
`

func skillSpec(t *testing.T, b *bench, agent *tool.Agent) string {
	t.Helper()
	tl, ok := b.ts.Tool("skill")
	require.True(t, ok)
	spec, err := tl.Spec(t.Context(), agent)
	if errors.Is(err, tool.ErrHidden) {
		return ""
	}
	require.NoError(t, err)
	return spec.Description
}

// TestSkill: skills are found, listed, and loaded with what belongs to them.
func TestSkill(t *testing.T) {
	var problems []SkillProblem
	b := newBench(t, skillFiles, Config{Skills: SkillConfig{Dirs: []string{".skills", "more", "nowhere"}, OnProblem: func(p SkillProblem) { problems = append(problems, p) }}})
	require.NoError(t, os.WriteFile(b.path(".skills/pdf/logo.bin"), []byte("\x00\x01"), 0o666))
	d := skillSpec(t, b, nil)
	assert.Contains(t, d, "\n\nSkills:\n- pdf: Fill in: forms\n- review: Look at changes before they go in.")
	skillSpec(t, b, nil)
	require.Len(t, problems, 3, "each is told once: %v", problems)
	whys := fmt.Sprint(problems)
	for _, want := range []string{"name other is not that of its directory, Wrong", `does not begin with a line "---"`, "there is a skill of the same name in " + b.path(".skills/pdf/SKILL.md")} {
		assert.Contains(t, whys, want)
	}

	text := b.ok("skill", in{"name": "pdf"})
	assert.Equal(t, "# Skill: pdf\nBase directory: "+filepath.ToSlash(b.path(".skills/pdf"))+"\nRelative names in it start there.\n\n# PDF\n\nRun scripts/fill.py.\n\nFiles of the skill, which you can read:\n- reference/forms.md\n- scripts/fill.py", text)
	assert.Equal(t, []string{"skill pdf"}, b.asks())
	assert.Equal(t, []string{"pdf"}, b.asked[0].Always)

	b.ok("read", in{"filePath": ".skills/pdf/scripts/fill.py"})
	assert.Empty(t, b.asks(), "its files may be read")
	b.ok("ls", in{"path": ".skills/pdf"})
	assert.Empty(t, b.asks())
	b.ok("grep", in{"path": ".skills/pdf", "pattern": "hi"})
	assert.Empty(t, b.asks())
	b.ok("read", in{"filePath": ".skills/pdf/.env"})
	assert.NotEmpty(t, b.asks(), "but not its secrets")
	b.ok("read", in{"filePath": ".skills/group/review/SKILL.md"})
	assert.NotEmpty(t, b.asks(), "nor those of a skill that was not loaded")
	b.ok("read", in{"filePath": "a.txt"})
	assert.NotEmpty(t, b.asks())
	b.ok("write", in{"filePath": ".skills/pdf/new.md", "content": "x"})
	assert.NotEmpty(t, b.asks(), "and nothing may be changed")

	assert.Contains(t, b.fails("skill", in{"name": "reviews"}), `there is no skill "reviews". Did you mean review? There are: pdf, review`)
	b.ok("skill", in{"skill": "Review"})
	b.ts.Forget(b.call("read", in{}).SessionID)
	b.ok("read", in{"filePath": ".skills/pdf/scripts/fill.py"})
	assert.NotEmpty(t, b.asks())
}

// TestSkillOutside: skills of the user's, outside of the project, are read in
// place without a question about the directory.
func TestSkillOutside(t *testing.T) {
	home := tooltest.Workspace(t, "-- deploy/SKILL.md --\n---\nname: deploy\ndescription: Ship it\n---\nGo.\n-- deploy/steps.md --\nsteps\n-- other.md --\nprivate\n")
	outside := tooltest.Workspace(t, "-- evil/SKILL.md --\n---\nname: evil\ndescription: x\n---\n-- secret.txt --\nsecret\n")
	require.NoError(t, os.Symlink(filepath.Join(outside, "evil"), filepath.Join(home, "evil")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(home, "deploy", "notes.md")))
	require.NoError(t, os.Symlink("deploy", filepath.Join(home, "loop")))
	var problems []string
	b := newBench(t, "-- a --\n", Config{Skills: SkillConfig{Dirs: []string{home}, OnProblem: func(p SkillProblem) { problems = append(problems, p.Why) }}})
	assert.NotContains(t, skillSpec(t, b, nil), "evil")
	assert.Contains(t, strings.Join(problems, "\n"), "leads out of")
	b.ok("skill", in{"name": "deploy"})
	assert.NotContains(t, b.ok("skill", in{"name": "deploy"}), "notes.md", "a link that leads out is not a file of the skill")
	b.ok("read", in{"filePath": filepath.Join(home, "deploy/steps.md")})
	assert.Empty(t, b.asks())
	b.ok("read", in{"filePath": filepath.Join(home, "deploy/notes.md")})
	assert.Equal(t, "external_directory "+filepath.ToSlash(outside)+"/*", b.asks()[0])
	b.ok("read", in{"filePath": filepath.Join(home, "other.md")})
	assert.Len(t, b.asks(), 2)
}

// TestSkillReload: what changes is seen, also within one tick of the clock; what goes is gone.
func TestSkillReload(t *testing.T) {
	b := newBench(t, "-- a --\n", Config{Skills: SkillConfig{Dirs: []string{".skills"}}})
	assert.Empty(t, skillSpec(t, b, nil), "none: not offered")
	_, err := b.ts.Plan(t.Context(), newCall("c", "use_skill", in{"name": "x"}))
	require.ErrorContains(t, err, "there are no skills", "but it is known")
	assert.Contains(t, b.fails("skill", in{"name": "x"}), "there are no skills")
	require.NoError(t, os.MkdirAll(b.path(".skills/x"), 0o777))
	for _, word := range []string{"one", "two", "six"} {
		b.put(".skills/x/SKILL.md", "---\nname: x\ndescription: "+word+"\n---\n"+word+"\n")
		assert.Contains(t, skillSpec(t, b, nil), "- x: "+word)
		assert.Contains(t, b.ok("skill", in{"name": "x"}), word)
	}
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(b.path(".skills/x/SKILL.md"), old, old))
	assert.Contains(t, skillSpec(t, b, nil), "- x: six")
	b.put(".skills/x/SKILL.md", "---\nname: x\ndescription: new\n---\n")
	require.NoError(t, os.Chtimes(b.path(".skills/x/SKILL.md"), old, old))
	assert.Contains(t, skillSpec(t, b, nil), "- x: new", "the same size and time are not the same file")
	require.NoError(t, os.RemoveAll(b.path(".skills")))
	assert.Empty(t, skillSpec(t, b, nil))
}

// TestSkillBounds: however many and long they are, the list stays within its bytes,
// and what cannot be read is no skill.
func TestSkillBounds(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		text := "short"
		if i%2 == 0 {
			text = strings.Repeat("long ", 150)
		}
		fmt.Fprintf(&b, "-- s/skill-%d/SKILL.md --\n---\nname: skill-%d\ndescription: %s\n---\nbody\n", i, i, text)
	}
	fmt.Fprintf(&b, "-- s/huge/SKILL.md --\n---\nname: huge\ndescription: d\n---\n%s\n", strings.Repeat("x", 2<<20))
	fmt.Fprintf(&b, "-- s/big/SKILL.md --\n---\nname: big\ndescription: d\n---\n%s\n", strings.Repeat("a line of the body\n", 5000))
	fmt.Fprintf(&b, "-- s/wordy/SKILL.md --\n---\nname: wordy\ndescription: %s\n---\n", strings.Repeat("x", 2000))
	for i := range 60 {
		fmt.Fprintf(&b, "-- s/big/f%02d.md --\nx\n", i)
	}
	w := newBench(t, b.String(), Config{Skills: SkillConfig{Dirs: []string{"s"}}})
	d := skillSpec(t, w, nil)
	assert.Less(t, len(d), skillListBytes+600)
	assert.Contains(t, d, "- skill-1: short\n", "what is short is whole")
	assert.Contains(t, d, "long…\n")
	assert.NotContains(t, d, "huge")
	assert.NotContains(t, d, "wordy")
	list, problems := w.ts.Skills(t.Context())
	assert.Len(t, list, 301)
	assert.Len(t, problems, 2)
	text := w.ok("skill", in{"name": "big"})
	assert.Less(t, len(text), 60<<10)
	assert.Regexp(t, `\[PARTIAL: \d+ of 94999 bytes. Next: read \{"filePath":".*SKILL.md","offset":(\d+)\}\]`, text)
	assert.Contains(t, text, "and 10 more; list them with ls")
}

// TestSkillHostile: what is no readable file of its directory holds nothing up.
func TestSkillHostile(t *testing.T) {
	b := newBench(t, "-- s/a/SKILL.md --\n---\nname: a\ndescription: \"\\u202eevil\\nline\"\n---\n\x1b[31mred\n-- s/dir/SKILL.md/x --\nx\n", Config{Skills: SkillConfig{Dirs: []string{"s", "s/a/SKILL.md"}}})
	require.NoError(t, os.MkdirAll(b.path("s/up"), 0o777))
	require.NoError(t, os.Symlink("../../../../../../etc/passwd", b.path("s/up/SKILL.md")))
	require.NoError(t, os.Symlink(".", b.path("s/self")))
	list, problems := b.ts.Skills(t.Context())
	require.Len(t, list, 1)
	assert.NotEmpty(t, problems)
	d := skillSpec(t, b, nil)
	assert.NotContains(t, d, "\u202e")
	assert.NotContains(t, b.ok("skill", in{"name": "a"}), "\x1b")
}

// TestSkillDenied: what an agent may not load it does not hear of.
func TestSkillDenied(t *testing.T) {
	b := newBench(t, skillFiles, Config{Skills: SkillConfig{Dirs: []string{".skills"}}, Denied: func(a *tool.Agent, permission, name string) bool {
		return permission == "skill" && (name == "pdf" || a != nil && a.Name == "none")
	}})
	assert.NotContains(t, skillSpec(t, b, nil), "pdf")
	assert.NotContains(t, b.fails("skill", in{"name": "pdf"}), "There are: pdf")
	assert.Empty(t, skillSpec(t, b, &tool.Agent{Name: "none"}))
	b.approver = tooltest.DenyAll{}
	assert.Contains(t, b.fails("skill", in{"name": "review"}), "Permission denied: skill review")
	b.approver = nil
	b.ok("read", in{"filePath": ".skills/group/review/SKILL.md"})
	assert.NotEmpty(t, b.asks(), "a skill that was denied is not loaded")
	c := newCall("c", "skill", in{"name": "review"})
	c.Values = map[string]any{InvokedKey: Invoked{Skills: []string{"review"}}}
	plan, err := b.ts.Plan(t.Context(), c)
	require.NoError(t, err)
	assert.Empty(t, plan.Requests)
}

type skillList1 []Skill

func (s skillList1) Skills(context.Context) ([]Skill, error) {
	if s == nil {
		panic("no skills")
	}
	return s, nil
}

// TestSkillSource: skills may come from the host, after those of directories.
func TestSkillSource(t *testing.T) {
	b := newBench(t, skillFiles, Config{Skills: SkillConfig{Dirs: []string{".skills"}, Source: skillList1{
		{Name: "notes", Description: "Take\nnotes", Body: "Write them down."}, {Name: "pdf", Description: "x"}, {Name: "No"}, {Name: "rel", Description: "d", Dir: "rel"},
	}}})
	assert.Contains(t, skillSpec(t, b, nil), "- notes: Take notes")
	assert.Equal(t, "# Skill: notes\n\nWrite them down.", b.ok("skill", in{"name": "notes"}))
	_, problems := b.ts.Skills(t.Context())
	assert.Len(t, problems, 5)
	tl, _ := b.ts.Tool("skill")
	tooltest.Check(t, tl, `{"name":"notes"}`, `{"name":"pdf"}`)
	b = newBench(t, skillFiles, Config{Skills: SkillConfig{Source: skillList1(nil)}})
	assert.Empty(t, skillSpec(t, b, nil), "a source that panics has none")
	_, offered := newBench(t, "", Config{}).ts.Tool("skill")
	assert.False(t, offered)
}

func TestFrontMatter(t *testing.T) {
	for _, c := range []struct{ text, want, body, err string }{
		{"---\nname: a\ndescription: b c\n---\nbody\n", "a|b c", "body\n", ""},
		{"--- \nname: 'it''s'\ndescription: \"a \\\"b\\\" \\u00e4\" # no\n---", "it's|a \"b\" ä", "", ""},
		{"---\nname: a # no\ndescription: plain text\n  that goes on\n\n  and on\n---\n", "a|plain text that goes on and on", "", ""},
		{"---\nname: a\ndescription: |\n  one\n    two\n---\n", "a|one\n  two", "", ""},
		{"---\nname: a\ndescription: >\n  one\n  two\n\n  three\nx: 1\n...\n", "a|one two\nthree", "", ""},
		{"---\n# comment\nname: a\ntags: [x, y]\nlist:\n  - description: no\n- z\nmap:\n  description: no\ndescription: yes: really\n---\n", "a|yes: really", "", ""},
		{"---\nname:\ndescription: ~\n---\n", "|", "", ""},
		{"---\nname: a\nname: b\n---\n", "", "", "twice"},
		{"---\nname\n---\n", "", "", "line 2 is not of the form"},
		{"---\nname: \"a\n---\n", "", "", "not closed"},
		{"---\nname: \"a\" b\n---\n", "", "", "behind the closing quote"},
		{"---\nname: \"\\q\"\n---\n", "", "", "escape"},
		{"---\nname: a\n", "", "", "is missing"},
		{"name: a\n", "", "", "does not begin"},
		{"", "", "", "does not begin"},
	} {
		keys, body, err := frontMatter(c.text)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, keys["name"]+"|"+keys["description"], c.text)
		assert.Equal(t, c.body, body, c.text)
	}
}

// FuzzFrontMatter: any text has front matter or not, and what follows it is the end of the text.
func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{"---\nname: a\n---\nx", "---\na: >\n b\n---", "---\na: 'x''y'\n---\n", "---\n \n-\n---", "--- \na:\n - b\n...\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		keys, body, err := frontMatter(s)
		if !strings.HasSuffix(s, body) || err != nil && keys != nil {
			t.Errorf("%q: %q %v", s, body, err)
		}
	})
}
