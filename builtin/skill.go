package builtin

import (
	"context"
	_ "embed" // descriptions
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenttool/tool"
)

//go:embed skill.md
var skillDescription string

const (
	skillListBytes  = 8 << 10  // of the list in the description
	skillBodyBytes  = 50 << 10 // of a body that is shown
	skillPermission = "skill"
)

type skillInput struct {
	Name string `json:"name" jsonschema:"of the skill" alias:"skill,skill_name,skillName,command"`
}

func defineSkill(ts *Toolset) (operation, error) {
	if len(ts.cfg.Skills.Dirs) == 0 && ts.cfg.Skills.Source == nil {
		return operation{}, nil
	}
	return define(ts, tool.Def{
		Name: "skill", Title: "Skill", Describe: ts.describeSkill,
		Hints: tool.Hints{ReadOnly: true, Idempotent: true}, Parallel: true, MaxOutput: -1,
		Aliases: []string{"Skill", "load_skill", "use_skill", "activate_skill"},
	}, ts.planSkill)
}

func (ts *Toolset) describeSkill(ctx context.Context, agent *tool.Agent) (string, error) {
	list, _ := ts.Skills(ctx)
	list = ts.offeredSkills(agent, list)
	if len(list) == 0 {
		return "", tool.ErrHidden
	}
	return strings.TrimSpace(skillDescription) + "\n" + skillList(list), nil
}

// offeredSkills returns those whose names the agent may know.
func (ts *Toolset) offeredSkills(agent *tool.Agent, list []Skill) []Skill {
	return slices.DeleteFunc(list, func(s Skill) bool { return ts.denied(agent, skillPermission, s.Name) })
}

// skillList lists skills within its bytes: short descriptions are whole, and what
// they leave goes to the longer ones.
func skillList(list []Skill) string {
	room := skillListBytes
	texts := make([]string, 0, len(list))
	for _, s := range list {
		if room -= len(s.Name) + len("- : \n"); room < 0 {
			break
		}
		texts = append(texts, s.Description)
	}
	shares := fairShares(texts, max(room, 0), 0)
	var b strings.Builder
	for i, text := range texts {
		b.WriteString("- " + list[i].Name)
		if n := shares[i]; len(text) > n {
			text = clip(text, max(n-len("…"), 0))
		}
		b.WriteString(": " + oneLine(text) + "\n")
	}
	if n := len(list) - len(texts); n > 0 {
		fmt.Fprintf(&b, "and %d more, which are found by name\n", n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (ts *Toolset) planSkill(ctx context.Context, call *tool.Call, in skillInput) (*plan, error) {
	all, _ := ts.findSkills(ctx)
	list := ts.offeredSkills(call.Agent, all)
	at := slices.IndexFunc(list, func(s Skill) bool { return s.Name == in.Name })
	if at < 0 {
		at = slices.IndexFunc(list, func(s Skill) bool { return foldWord(s.Name) == foldWord(in.Name) })
	}
	if at < 0 {
		return nil, noSkill(in.Name, list)
	}
	s := list[at]
	p := &plan{apply: func(ctx context.Context, call *tool.Call) (*outcome, error) {
		res := ts.showSkill(ctx, s)
		ts.loadSkill(call.SessionID, s)
		return &outcome{result: res}, nil
	}}
	if !slices.Contains(invoked(call).Skills, s.Name) {
		p.asks = []ask{{req: &tool.Request{
			Permission: skillPermission, Title: "Load the skill " + s.Name, Patterns: []string{s.Name}, Always: []string{s.Name},
			Metadata: map[string]any{"name": s.Name, "description": s.Description, "dir": s.Dir},
		}, effect: s.Dir + "\n" + s.Body}}
	}
	return p, nil
}

func noSkill(name string, list []Skill) error {
	if len(list) == 0 {
		return errors.New("there are no skills")
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	text := fmt.Sprintf("there is no skill %q.", clip(name, 80))
	if near := alike(name, names); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s There are: %s", text, clip(strings.Join(names, ", "), 2000))
}

// showSkill is a skill as the model reads it.
func (ts *Toolset) showSkill(ctx context.Context, s Skill) *tool.Result {
	body, cut := s.Body, false
	if cut = len(body) > skillBodyBytes; cut {
		body = strings.TrimSuffix(clip(body, skillBodyBytes), "…")
		if at := strings.LastIndexByte(body, '\n'); at > skillBodyBytes/2 {
			body = body[:at]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Skill: %s\n", s.Name)
	var files []string
	more := 0
	if s.Dir != "" {
		fmt.Fprintf(&b, "Base directory: %s\nRelative names in it start there.\n", oneLine(filepath.ToSlash(s.Dir)))
		files, more = ts.skillFiles(ctx, s.Dir)
	}
	b.WriteString("\n" + visible(body) + "\n")
	switch {
	case cut && s.Dir != "":
		next := inputText(map[string]any{"filePath": filepath.Join(s.Dir, skillFile), "offset": ts.lineAfter(ctx, s, body)})
		fmt.Fprintf(&b, "[PARTIAL: %d of %d bytes. Next: read %s]\n", len(body), len(s.Body), next)
	case cut:
		fmt.Fprintf(&b, "[PARTIAL: %d of %d bytes; the rest is not to be had]\n", len(body), len(s.Body))
	}
	if len(files) > 0 {
		b.WriteString("\nFiles of the skill, which you can read:\n")
		for _, f := range files {
			b.WriteString("- " + oneLine(f) + "\n")
		}
		if more > 0 {
			fmt.Fprintf(&b, "and %d more; list them with ls\n", more)
		}
	}
	return &tool.Result{
		Title: s.Name, Text: strings.TrimSuffix(b.String(), "\n"),
		Metadata: map[string]any{"name": s.Name, "dir": s.Dir, "files": files, "truncated": cut},
	}
}

// lineAfter returns the line of SKILL.md behind what was shown of its body, 1 if
// the file is not as it was.
func (ts *Toolset) lineAfter(ctx context.Context, s Skill, shown string) int {
	l, err := ts.fsys.resolve(s.Dir)
	if err != nil {
		return 1
	}
	t, err := ts.fsys.tree(l)
	if err != nil {
		return 1
	}
	defer t.close()
	text := t.text(ctx, skillFile, maxSkillSize)
	at := strings.Index(text, shown)
	if at < 0 {
		return 1
	}
	return strings.Count(text[:at+len(shown)], "\n") + 2
}

// loadSkill notes that the session was given a skill, whose files it may read.
func (ts *Toolset) loadSkill(session string, s Skill) {
	dir := ""
	if s.Dir != "" {
		// A skill in a directory above the project does not make all of it its own.
		if l, err := ts.fsys.resolve(s.Dir); err == nil && l.isDir() && !within(l.abs, ts.fsys.dir) {
			dir = l.abs
		}
	}
	set := &ts.skills
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.loaded == nil {
		set.loaded = make(map[string]map[string]string)
	}
	if set.loaded[session] == nil {
		set.loaded[session] = make(map[string]string)
	}
	set.loaded[session][s.Name] = dir
}

// of returns the names of the skills that the session was given, in order.
func (set *skillSet) of(session string) []string {
	set.mu.Lock()
	defer set.mu.Unlock()
	return slices.Sorted(maps.Keys(set.loaded[session]))
}

func (set *skillSet) forget(session string) {
	set.mu.Lock()
	defer set.mu.Unlock()
	delete(set.loaded, session)
}

// ofSkill reports whether l belongs to a skill that the session, or one that
// started it, was given: it may be read without another question, unless it is secret.
func (ts *Toolset) ofSkill(session string, l location) bool {
	if l.secret || l.Kernel {
		return false
	}
	line := ts.tasks.lineage(session)
	ts.skills.mu.Lock()
	defer ts.skills.mu.Unlock()
	for _, id := range line {
		for _, dir := range ts.skills.loaded[id] {
			if dir != "" && within(dir, l.abs) {
				return true
			}
		}
	}
	return false
}
