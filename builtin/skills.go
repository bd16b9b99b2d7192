package builtin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/fsroot"
	"github.com/agenttool/tool/internal/search/ignore"
	"github.com/agenttool/tool/internal/textfile"
)

// SkillConfig says where skills come from. The zero value offers none.
type SkillConfig struct {
	// Dirs are searched, three directories deep, for directories with a file
	// SKILL.md. Relative names are taken from the root; one that does not exist has
	// no skills, until it does. Of skills with the same name the first counts.
	Dirs []string

	// Source has further skills, which come after those of Dirs. Nil has none.
	Source SkillSource

	// OnProblem, if not nil, is told, once, why something that looks like a skill is
	// not one. It is called with no lock held.
	OnProblem func(SkillProblem)
}

// SkillSource has skills that are kept elsewhere. It is asked for every turn.
type SkillSource interface {
	Skills(ctx context.Context) ([]Skill, error)
}

// Skill is instructions for a kind of work.
type Skill struct {
	Name        string // lower-case letters and digits, with hyphens between them; at most 64
	Description string // what it is for; the model reads it before it loads the skill
	Body        string // the instructions
	Dir         string // absolute; where its files are. "": it has none
}

// SkillProblem says what is wrong with a skill. It is not offered.
type SkillProblem struct {
	Path string // of the file, or of the directory; for a Source the name
	Why  string
}

const (
	skillFile        = "SKILL.md"
	skillDepth       = 3
	maxSkillDirs     = 2000    // directories that a search looks into
	maxSkills        = 1000    // that are known
	maxSkillSize     = 1 << 20 // bytes of a SKILL.md
	maxSkillName     = 64
	maxSkillText     = 1024 // runes of a description
	maxSkillFiles    = 50   // that loading lists
	maxSkillEntries  = 2000 // directory entries that are looked at for them
	maxSkillProblems = 1000 // that are remembered as told

	racySkill = 2 * time.Second // in which a file may change without another time
)

var skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// skillSet is what a toolset knows of skills. The zero value is ready.
type skillSet struct {
	mu     sync.Mutex
	cache  map[string]cachedSkill       // by the path of the file
	told   map[SkillProblem]bool        // problems
	loaded map[string]map[string]string // by session and name: the resolved directory, or ""
}

// cachedSkill is a SKILL.md as it was when it was read.
type cachedSkill struct {
	stat  textfile.Stat
	skill Skill
	why   string // it is none
}

// Skills returns the skills there are, in order of precedence, and what is wrong
// with those that are not offered.
func (ts *Toolset) Skills(ctx context.Context) ([]Skill, []SkillProblem) {
	if err := ts.begin(); err != nil {
		return nil, nil
	}
	defer ts.active.Done()
	return ts.findSkills(ctx)
}

func (ts *Toolset) findSkills(ctx context.Context) (found []Skill, problems []SkillProblem) {
	at := make(map[string]string) // by name: where it is
	add := func(where string, s Skill, why string) {
		if why == "" {
			why = checkSkill(&s)
		}
		if first, taken := at[s.Name]; why == "" && taken {
			why = fmt.Sprintf("there is a skill of the same name in %s, which comes first", first)
		}
		if why == "" && len(found) == maxSkills {
			why = fmt.Sprintf("there are more than %d skills", maxSkills)
		}
		if why != "" {
			problems = append(problems, SkillProblem{where, why})
			return
		}
		at[s.Name] = where
		found = append(found, s)
	}
	for _, dir := range ts.cfg.Skills.Dirs {
		ts.skillsIn(ctx, dir, add)
	}
	if src := ts.cfg.Skills.Source; src != nil {
		var list []Skill
		var err error
		if note := guarded(func() { list, err = src.Skills(ctx) }); note != "" {
			err = errors.New(note)
		}
		if err != nil {
			problems = append(problems, SkillProblem{"source", err.Error()})
		}
		for _, s := range list {
			add(s.Name, s, "")
		}
	}
	ts.tellProblems(problems)
	return found, problems
}

func checkSkill(s *Skill) string {
	s.Description = strings.Join(strings.Fields(s.Description), " ")
	switch {
	case s.Name == "":
		return "it has no name"
	case len(s.Name) > maxSkillName || !skillName.MatchString(s.Name):
		return fmt.Sprintf("its name %q is not one: lower-case letters and digits, with single hyphens between them, at most %d", clip(s.Name, 80), maxSkillName)
	case s.Description == "":
		return "it has no description"
	case utf8.RuneCountInString(s.Description) > maxSkillText:
		return fmt.Sprintf("its description is longer than %d characters", maxSkillText)
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return "its directory is not absolute"
	}
	return ""
}

// tellProblems tells each problem once.
func (ts *Toolset) tellProblems(list []SkillProblem) {
	if ts.cfg.Skills.OnProblem == nil {
		return
	}
	for _, p := range list {
		ts.skills.mu.Lock()
		fresh := !ts.skills.told[p] && len(ts.skills.told) < maxSkillProblems
		if fresh {
			if ts.skills.told == nil {
				ts.skills.told = make(map[SkillProblem]bool)
			}
			ts.skills.told[p] = true
		}
		ts.skills.mu.Unlock()
		if fresh {
			guarded(func() { ts.cfg.Skills.OnProblem(p) })
		}
	}
}

// skillsIn looks for skills in a directory and passes each to add, with where it
// is and why it is none.
func (ts *Toolset) skillsIn(ctx context.Context, dir string, add func(where string, s Skill, why string)) {
	l, err := ts.fsys.resolve(dir)
	if err != nil || !l.exists() {
		if err != nil {
			add(dir, Skill{}, err.Error())
		}
		return
	}
	t, err := ts.fsys.tree(l)
	if err != nil {
		add(l.abs, Skill{}, err.Error())
		return
	}
	defer t.close()
	type level struct {
		name  string
		depth int
	}
	queue := []level{{".", 0}}
	for n := 0; n < len(queue); n++ {
		if n == maxSkillDirs || ctx.Err() != nil {
			add(l.abs, Skill{}, fmt.Sprintf("only %d directories in it were looked into", n))
			return
		}
		at := queue[n]
		where := filepath.Join(l.abs, filepath.FromSlash(at.name))
		s, why, is := ts.readSkill(ctx, t, at.name, where)
		if is {
			add(filepath.Join(where, skillFile), s, why)
			continue // its directories are its own
		}
		if at.depth == skillDepth {
			continue
		}
		names, err := t.names(at.name, maxSkillDirs)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				add(where, Skill{}, plainError(err).Error())
			}
			continue
		}
		for _, e := range names {
			name := path.Join(at.name, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
				continue
			case e.Type()&fs.ModeSymlink != 0:
				info, err := t.root.Stat(filepath.FromSlash(name))
				if err != nil {
					if _, lerr := t.lstat(path.Join(name, skillFile)); lerr != nil && !errors.Is(err, fs.ErrNotExist) {
						add(filepath.Join(l.abs, filepath.FromSlash(name)), Skill{}, "it is a link that leads out of "+l.abs+"; name its target as a directory of skills instead")
					}
					continue
				}
				if !info.IsDir() {
					continue
				}
			case !e.IsDir():
				continue
			}
			queue = append(queue, level{name, at.depth + 1})
		}
	}
}

// names lists a directory, in order.
func (t *tree) names(name string, most int) ([]fs.DirEntry, error) {
	f, info, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	list, err := f.ReadDir(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, nil
}

// readSkill reads the SKILL.md of a directory, if it changed since it was read
// last. why says what is wrong with it; is is false if there is none.
func (ts *Toolset) readSkill(ctx context.Context, t *tree, dir, where string) (s Skill, why string, is bool) {
	name := path.Join(dir, skillFile)
	f, info, err := t.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, "", false
	}
	if err != nil {
		return s, plainError(err).Error(), true
	}
	defer f.Close()
	file := filepath.Join(where, skillFile)
	if !info.Mode().IsRegular() {
		return s, fsroot.CheckRegular(file, info.Mode()).Error(), true
	}
	stat := textfile.StatOf(info)
	ts.skills.mu.Lock()
	had, ok := ts.skills.cache[file]
	ts.skills.mu.Unlock()
	if ok && had.stat == stat && time.Since(info.ModTime()) > racySkill {
		return had.skill, had.why, true
	}
	raw, err := io.ReadAll(io.LimitReader(&ctxReader{ctx, f}, maxSkillSize+1))
	switch {
	case err != nil:
		return s, plainError(err).Error(), true
	case len(raw) > maxSkillSize:
		why = fmt.Sprintf("it is larger than %d bytes", maxSkillSize)
	default:
		s, why = parseSkill(raw, where)
	}
	ts.skills.mu.Lock()
	if ts.skills.cache == nil || len(ts.skills.cache) > 2*maxSkills {
		ts.skills.cache = make(map[string]cachedSkill)
	}
	ts.skills.cache[file] = cachedSkill{stat, s, why}
	ts.skills.mu.Unlock()
	return s, why, true
}

// parseSkill makes a skill of the content of a SKILL.md in the directory dir.
func parseSkill(raw []byte, dir string) (s Skill, why string) {
	file, err := textfile.Decode(raw, nil)
	if err != nil {
		return s, err.Error()
	}
	keys, body, err := frontMatter(file.Text)
	if err != nil {
		return s, err.Error()
	}
	s = Skill{Name: keys["name"], Description: keys["description"], Body: strings.TrimSpace(body), Dir: dir}
	if why = checkSkill(&s); why == "" && s.Name != filepath.Base(dir) {
		why = fmt.Sprintf("its name %s is not that of its directory, %s", s.Name, clip(filepath.Base(dir), 80))
	}
	return s, why
}

// skillFiles lists the files that belong to a skill: texts that are not ignored,
// hidden or secret, and are in its directory. more is how many further ones there are.
func (ts *Toolset) skillFiles(ctx context.Context, dir string) (files []string, more int) {
	l, err := ts.fsys.resolve(dir)
	if err != nil || !l.isDir() {
		return nil, 0
	}
	t, err := ts.fsys.tree(l)
	if err != nil {
		return nil, 0
	}
	defer t.close()
	rules := &lister{ts: ts, ctx: ctx, t: t, l: l}
	type level struct {
		name  string
		rules *ignore.Level
	}
	queue := []level{{".", rules.level(t, &ignore.Level{Repository: true}, ".", 0)}}
	seen := 0
	for n := 0; n < len(queue); n++ {
		entries, err := t.names(queue[n].name, maxSkillEntries)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if seen++; seen > maxSkillEntries || ctx.Err() != nil {
				return files, more
			}
			name := path.Join(queue[n].name, e.Name())
			if strings.HasPrefix(e.Name(), ".") || name == skillFile || queue[n].rules.Match([]byte(name), e.IsDir()) == ignore.Ignored {
				continue
			}
			switch {
			case e.IsDir() && e.Name() != "node_modules":
				queue = append(queue, level{name, rules.level(t, queue[n].rules, name, len(name)+1)})
			case e.IsDir() || ts.fsys.names.secret(name) || !t.isText(name):
			case len(files) == maxSkillFiles:
				more++
			default:
				files = append(files, name)
			}
		}
	}
	return files, more
}

// isText reports whether a name is that of a regular file in the tree, also
// through a link, that does not begin like a binary one.
func (t *tree) isText(name string) bool {
	f, info, err := t.open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	return info.Mode().IsRegular() && (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && !bytes.Contains(head[:n], []byte{0})
}

// text returns the content of a file of the tree, "" if it cannot be read.
func (t *tree) text(ctx context.Context, name string, most int64) string {
	f, _, err := t.open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(&ctxReader{ctx, f}, most))
	if err != nil {
		return ""
	}
	file, err := textfile.Decode(raw, nil)
	if err != nil {
		return ""
	}
	return file.Text
}
