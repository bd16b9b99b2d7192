package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/shellscan"
)

// analysis is what [Plan] tells of a command.
type analysis struct {
	Commands     [][]*string
	ExternalDirs []string
	Writes       []string
	Reasons      []string
}

// scanOptions say where a command runs, as far as that is known before.
func (ts *Toolset) scanOptions(dir string) shellscan.Options {
	o := shellscan.Options{
		Dir: filepath.ToSlash(dir), Roots: []string{filepath.ToSlash(ts.fsys.dir)}, Lookup: shellscan.OS{},
		Dialect: dialect(ts.shell.Path), FoldCase: runtime.GOOS == "windows" || runtime.GOOS == "darwin",
		Secret:    ts.secretName,
		Protected: ts.fsys.names.protected,
		Self:      []string{strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())},
		Env:       map[string]string{},

		AllowFilters: true,
	}
	if exe, err := os.Executable(); err == nil {
		o.Self = append(o.Self, filepath.Base(exe))
	}
	if ts.fsys.spill != "" {
		o.Roots = append(o.Roots, filepath.ToSlash(ts.fsys.spill))
	}
	for _, kv := range ts.env {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "HOME":
			o.Home = filepath.ToSlash(value)
		case "TMPDIR", "USER", "LOGNAME", "GOPATH", "GOROOT", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME":
			o.Env[name] = value
		}
	}
	return o
}

// dialect is the language that the shell of this name reads.
func dialect(shell string) shellscan.Dialect {
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(shell)), ".exe") {
	case "bash":
		return shellscan.Bash
	case "sh", "dash", "ash", "busybox":
		return shellscan.POSIX
	}
	return shellscan.Other
}

func (ts *Toolset) secretName(base string) bool { return ts.fsys.names.secret(base) }

// markFiles marks what only the whole path tells to be a secret or protected:
// names of the host's, and links to such files.
func (ts *Toolset) markFiles(s *shellscan.Script) {
	if len(ts.cfg.Secrets)+len(ts.cfg.Protected) == 0 && ts.fsys.spill == "" {
		return
	}
	for i := range s.Files {
		f := &s.Files[i]
		for _, p := range f.Paths {
			l, err := ts.fsys.resolve(filepath.FromSlash(p))
			if err != nil {
				continue // then the shell cannot use it either
			}
			f.Secret = f.Secret || l.secret
			f.Protected = f.Protected || l.protected && f.Mode&shellscan.Write != 0
		}
	}
}

// shellPlan is a command and what it would do.
type shellPlan struct {
	*shellscan.Script
	in      bashInput
	dir     string // to run in
	outside string // the same if it is outside of the root
}

func (s *shellPlan) analysis() *analysis {
	a := &analysis{ExternalDirs: s.externalDirs(), Writes: s.writes(), Reasons: s.reasons(false)}
	for _, c := range s.Commands {
		argv := []*string{}
		for _, w := range c.Argv {
			if w.Dynamic || w.Multi || w.Glob {
				argv = append(argv, nil)
				continue
			}
			argv = append(argv, &w.Text)
		}
		if len(argv) > 0 {
			a.Commands = append(a.Commands, argv)
		}
	}
	return a
}

func (s *shellPlan) externalDirs() []string {
	var dirs []string
	add := func(d string) {
		if d != "" && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	add(s.outside)
	for i := range s.Files {
		for _, d := range s.Files[i].Outside() {
			add(filepath.FromSlash(d))
		}
	}
	return dirs
}

// writes returns the files that would be written or removed, absolute.
func (s *shellPlan) writes() []string {
	var out []string
	for _, f := range s.Files {
		if f.Mode&shellscan.Write == 0 {
			continue
		}
		for _, p := range f.Paths {
			if p = filepath.FromSlash(p); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// reasons says what of the text cannot be judged and, with all, what is risky about it.
func (s *shellPlan) reasons(all bool) []string {
	var out []string
	add := func(why string) {
		if !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	if s.Unparsed != nil {
		add(s.Unparsed.Error())
	}
	for _, r := range s.Opaque {
		add(r.Text)
	}
	for i := range s.Commands {
		for _, r := range s.Commands[i].Risks {
			if all {
				add(r.Text)
			}
		}
	}
	return out
}

// asks returns the questions of a command: directories, then files, then the
// commands themselves. Files inside the root that are named as arguments are part
// of the last question: one prompt is enough for them.
func (s *shellPlan) asks() []ask {
	var out []ask
	var plain []*shellscan.Question
	var dirs, bash *shellscan.Question
	for _, q := range s.Asks() {
		switch {
		case q.Permission == "external_directory":
			dirs = q
		case q.Permission == "bash":
			bash = q
		case q.Plain:
			plain = append(plain, q)
		default:
			out = append(out, ask{req: s.fileRequest(q), effect: s.effect()})
		}
	}
	if dirs != nil || s.outside != "" {
		out = slices.Insert(out, 0, ask{req: s.dirRequest(dirs), effect: s.effect()})
	}
	if bash != nil {
		out = append(out, ask{req: s.commandRequest(bash, plain), effect: s.effect()})
	}
	return out
}

// effect stands for what would happen: the text, where it runs, and the files
// that its words lead to. An answer holds for exactly that.
func (s *shellPlan) effect() string {
	files := make([][]string, len(s.Files))
	for i, f := range s.Files {
		files[i] = f.Paths
	}
	b, err := json.Marshal([]any{s.in.Command, s.dir, files})
	if err != nil {
		panic(err) // strings
	}
	return string(b)
}

func (s *shellPlan) dirRequest(q *shellscan.Question) *tool.Request {
	var patterns []string
	if s.outside != "" {
		patterns = append(patterns, dirPattern(s.outside))
	}
	always := slices.Clone(patterns)
	if q != nil {
		for _, p := range q.Patterns {
			if !slices.Contains(patterns, p) {
				patterns = append(patterns, p)
			}
		}
		for _, p := range q.Always {
			if !slices.Contains(always, p) {
				always = append(always, p)
			}
		}
	}
	meta := map[string]any{"directories": s.externalDirs(), "command": s.in.Command}
	title := "Use files that are not known before the command runs"
	if dirs := s.externalDirs(); len(dirs) > 0 {
		title = "Use files outside of the project"
		meta["filepath"], meta["parentDir"] = dirs[0], dirs[0]
	}
	return &tool.Request{Permission: "external_directory", Title: title, Patterns: patterns, Always: always, Metadata: meta}
}

func (s *shellPlan) fileRequest(q *shellscan.Question) *tool.Request {
	title := map[string]string{"read": "Read ", "edit": "Write "}[q.Permission] + clip(visible(strings.Join(q.Patterns, ", ")), 200)
	always := q.Always
	if q.Protected {
		always = q.Patterns // for these very files
	}
	return &tool.Request{
		Permission: q.Permission, Title: title, Patterns: q.Patterns, Always: append([]string{}, always...),
		Protected: q.Protected,
		Metadata:  map[string]any{"command": s.in.Command, "filepath": q.Patterns[0]},
	}
}

// commandRequest is the question about the commands, which judges itself: what a
// rule means for a line of shell is more than whether its pattern matches.
func (s *shellPlan) commandRequest(q *shellscan.Question, plain []*shellscan.Question) *tool.Request {
	meta := map[string]any{
		"command": s.in.Command, "workdir": s.dir, "description": s.in.Description,
		"background": s.in.Background, "parts": slices.Clone(q.Patterns), "writes": append([]string{}, s.writes()...),
		"directories": append([]string{}, s.externalDirs()...), "reasons": append([]string{}, s.reasons(true)...),
	}
	if ok, _ := s.ReadOnly(); ok {
		meta["readOnly"] = true
	}
	return &tool.Request{
		Permission: "bash", Title: commandTitle(s.in.Command),
		Patterns: q.Patterns, Always: append([]string{}, q.Always...), Metadata: meta,
		Opaque: q.Opaque || s.risky(),
		Judge: func(rules []tool.Rule, approved []string) tool.Judgement {
			return judge(rulesOf(rules, "bash", approved), append([]*shellscan.Question{q}, plain...))
		},
	}
}

// risky reports whether the patterns alone would pass for less than they are, as
// with an option that runs a program, or for another command, as with /bin/rm,
// which a rule for rm means as well. Where the Judge of a request is lost, on its
// way to another process, only a rule for everything may allow it then.
func (s *shellPlan) risky() bool {
	return slices.ContainsFunc(s.Commands, func(c shellscan.Command) bool {
		if len(c.Env) > 0 || len(c.Argv) > 0 && (c.Argv[0].Dynamic || strings.Contains(c.Argv[0].Text, "/")) {
			return true
		}
		return len(c.Risks) > 0
	})
}

func judge(r shellRules, questions []*shellscan.Question) tool.Judgement {
	j := tool.Judgement{Action: "allow"}
	rank := []string{"allow", "ask", "deny"}
	for _, q := range questions {
		d := q.Judge(r)
		if a := d.Action.String(); slices.Index(rank, a) > slices.Index(rank, j.Action) {
			j.Action = a
		}
		for _, why := range d.Reasons {
			if !slices.Contains(j.Reasons, why) {
				j.Reasons = append(j.Reasons, why)
			}
		}
	}
	return j
}

// shellRules are the rules of a host as package shellscan wants them.
type shellRules struct {
	list       shellscan.List
	permission string // that approved is for
	approved   []string
}

func rulesOf(rules []tool.Rule, permission string, approved []string) shellRules {
	r := shellRules{permission: permission, approved: approved, list: make(shellscan.List, len(rules))}
	for i, rule := range rules {
		action := shellscan.Deny // also for a word that is no action
		switch rule.Action {
		case "allow":
			action = shellscan.Allow
		case "ask":
			action = shellscan.Ask
		}
		r.list[i] = shellscan.Rule{Permission: rule.Permission, Pattern: rule.Pattern, Action: action}
	}
	return r
}

func (r shellRules) Configured(permission string) []shellscan.Rule {
	return r.list.Configured(permission)
}

func (r shellRules) Approved(permission string) []string {
	if permission != r.permission {
		return nil
	}
	return r.approved
}
