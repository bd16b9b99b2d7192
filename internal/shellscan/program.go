package shellscan

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

//go:embed readonly.txt
var readonlyText string

// tables is what is known about programs. It is not changed after it was made.
type tables struct {
	programs map[string]*program
	readonly map[string]*program
}

var builtinTables = sync.OnceValue(func() *tables {
	t := &tables{map[string]*program{}, map[string]*program{}}
	parsePrograms(t.programs, programsText)
	parsePrograms(t.readonly, readonlyText)
	return t
})

func tablesFor(programs, readonly string) *tables {
	base := builtinTables()
	if programs == "" && readonly == "" {
		return base
	}
	t := &tables{map[string]*program{}, map[string]*program{}}
	for k, p := range base.programs {
		t.programs[k] = p
	}
	for k, p := range base.readonly {
		t.readonly[k] = p
	}
	parsePrograms(t.programs, programs)
	parsePrograms(t.readonly, readonly)
	return t
}

// A program is one line of a table: "git log" is the program of that name with its subcommand.
type program struct {
	name     string
	options  map[string]option
	names    []string // of long options, for abbreviations
	operands []string
	flags    map[string]string
	subs     bool // has subcommands of its own in the table
	risky    bool // some option needs to be spelled out
	single   bool // long options have one dash: go build -o, find -name
}

// riskLetters are the kinds that a rule must spell out.
const riskLetters = "xcoDpkfam"

type option struct {
	name  string
	value byte   // 0 none, ':' the next word or glued, '?' only glued
	kinds string // what it does; see programs.txt
}

func parsePrograms(into map[string]*program, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		head, rest, _ := strings.Cut(line, " = ")
		fields := strings.SplitN(rest, "|", 3)
		for len(fields) < 3 {
			fields = append(fields, "")
		}
		p := program{options: map[string]option{}, flags: map[string]string{}}
		for _, d := range strings.Fields(fields[0]) {
			o := parseOption(d)
			p.options[o.name] = o
			if strings.HasPrefix(o.name, "--") {
				p.names = append(p.names, o.name)
			}
			if strings.ContainsAny(o.kinds, riskLetters) {
				p.risky = true
			}
			p.single = p.single || len(o.name) > 2 && o.name[0] == '-' && o.name[1] != '-'
		}
		p.operands = strings.Fields(fields[1])
		for _, f := range strings.Fields(fields[2]) {
			k, val, _ := strings.Cut(f, "=")
			p.flags[k] = val
		}
		names := []string{""}
		for _, list := range strings.Fields(head) { // "docker,podman image rm,prune": any word may be a list
			var longer []string
			for _, name := range names {
				for _, s := range strings.Split(list, ",") {
					longer = append(longer, strings.TrimSpace(name+" "+s))
				}
			}
			names = longer
		}
		for _, name := range names {
			q := p
			q.name = name
			if old := into[name]; old != nil {
				q.subs = old.subs
			}
			into[name] = &q
			for i := strings.LastIndexByte(name, ' '); i > 0; i = strings.LastIndexByte(name, ' ') {
				name = name[:i]
				if into[name] == nil {
					into[name] = &program{name: name, options: map[string]option{}, flags: map[string]string{}}
				}
				into[name].subs = true
			}
		}
	}
}

func parseOption(d string) option {
	o := option{name: d}
	if i := strings.LastIndexAny(d, ":?!"); i > 0 {
		o = option{name: d[:i], kinds: d[i+1:]}
		if d[i] != '!' {
			o.value = d[i]
		}
	}
	return o
}

func (p *program) flag(name string) bool {
	if p == nil {
		return false
	}
	_, ok := p.flags[name]
	return ok
}

func (p *program) number(flag string) int {
	n, err := strconv.Atoi(p.flags[flag])
	if err != nil {
		return 0
	}
	return n
}

// A found option is one that was used.
type found struct {
	option
	word  int    // index of the word that has the option
	size  int    // bytes of that word up to the end of its name
	value Word   // if it has one
	at    int    // index of the word that has the value; -1 none
	text  string // as written

	writes bool // the program creates the archive
}

// A parsed command line: the options and which words are operands.
type parsed struct {
	opts     []found
	operands []int
	unknown  []int // words that look like options and are not in the table
	dynamic  []int // words that are not known and may be options
	ended    int   // index of "--", or of the word where options ended; len(words) if they never did
}

func (p *parsed) has(names ...string) bool {
	for _, o := range p.opts {
		for _, n := range names {
			if o.name == n {
				return true
			}
		}
	}
	return false
}

// parse reads the words from start on. With stop the options end at the first operand.
func (p *program) parse(words []Word, start int, stop bool) parsed {
	out := parsed{ended: len(words)}
	for i := start; i < len(words); i++ {
		w := &words[i]
		begin := w.start()
		switch {
		case begin == "" && (w.Dynamic || w.Glob) || w.Multi && begin == "":
			out.dynamic = append(out.dynamic, i)
			out.operands = append(out.operands, i)
		case w.Text == "--":
			out.ended = i
			for j := i + 1; j < len(words); j++ {
				if o, n := p.keyValue(&words[j]); n > 0 {
					out.opts = append(out.opts, found{option: o, word: j, size: n, value: words[j].from(n), at: j, text: words[j].Text[:n]})
					continue
				}
				out.operands = append(out.operands, j)
			}
			return out
		case len(begin) > 0 && begin[0] == '+' && p.options["+"].name != "" && w.Text != "+":
			out.opts = append(out.opts, found{option: p.options["+"], word: i, size: 1, at: -1, text: begin})
		case begin == "-" && w.Text != "-":
			out.dynamic = append(out.dynamic, i) // an option, but which?
		case w.Text == "-" || begin == "" || begin[0] != '-':
			if o, n := p.keyValue(w); n > 0 {
				out.opts = append(out.opts, found{option: o, word: i, size: n, value: w.from(n), at: i, text: w.Text[:n]})
				continue
			}
			out.operands = append(out.operands, i)
			if stop {
				out.ended = i
				for j := i + 1; j < len(words); j++ {
					out.operands = append(out.operands, j)
				}
				return out
			}
		case strings.HasPrefix(w.Text, "--") || p.single && p.singleDash(w):
			i = p.long(&out, words, i)
		default:
			i = p.short(&out, words, i)
		}
	}
	return out
}

// keyValue finds operands like if=FILE: descriptors that end in =, or *= for every name.
func (p *program) keyValue(w *Word) (option, int) {
	key, _, ok := strings.Cut(w.Text, "=")
	if !ok {
		return option{}, 0
	}
	if o, ok := p.options[key+"="]; ok {
		return o, len(key) + 1
	}
	if o, ok := p.options["*="]; ok && key != "" && !strings.ContainsAny(key, "/-. ") {
		return o, len(key) + 1
	}
	return option{}, 0
}

func (p *program) singleDash(w *Word) bool {
	name, _, _ := strings.Cut(w.start(), "=")
	if o, ok := p.options[name]; ok && len(o.name) > 2 {
		return true
	}
	if o, n := p.headed(name); n > 0 && len(o.name) > 2 {
		return true
	}
	_, cluster := p.options[name[:min(2, len(name))]]
	return !cluster
}

// headed finds the option of words such as -Wl,x and -javaagent:x, and where its value begins.
func (p *program) headed(name string) (option, int) {
	for _, sep := range []string{",", ":"} {
		head, _, cut := strings.Cut(name, sep)
		if !cut {
			continue
		}
		if o, ok := p.options[head+sep]; ok {
			return o, len(head) + 1
		} else if o, ok := p.options[head]; ok && len(head) > 2 {
			return o, len(head) + 1
		}
	}
	return option{}, 0
}

func (p *program) long(out *parsed, words []Word, i int) int {
	w := &words[i]
	name, _, glued := strings.Cut(w.start(), "=")
	o, ok := p.options[name]
	if !ok && p.single {
		if strings.HasPrefix(name, "--") {
			o, ok = p.options[name[1:]]
		} else {
			o, ok = p.options["-"+name]
		}
	}
	if !ok && strings.HasPrefix(name, "--") && len(name) > 2 {
		o, ok = p.abbreviation(name)
	}
	if !ok && p.single {
		if o, n := p.headed(name); n > 0 {
			out.opts = append(out.opts, found{option: o, word: i, size: n, value: w.from(n), at: i, text: name[:n]})
			return i
		}
	}
	if !ok {
		out.unknown = append(out.unknown, i)
		if w.Dynamic && !glued {
			out.dynamic = append(out.dynamic, i)
		}
		return i
	}
	f := found{option: o, word: i, size: len(name), at: -1, text: name}
	switch {
	case glued:
		f.value, f.at = w.from(len(name)+1), i
	case o.value == ':' && i+1 < len(words):
		i++
		f.value, f.at = words[i], i
	}
	out.opts = append(out.opts, f)
	return i
}

// abbreviation finds the option that name is the beginning of; of several, the one that is most worth asking about.
func (p *program) abbreviation(name string) (option, bool) {
	var best option
	ok := false
	for _, n := range p.names {
		if !strings.HasPrefix(n, name) {
			continue
		}
		o := p.options[n]
		if !ok || strings.ContainsAny(o.kinds, riskLetters) && !strings.ContainsAny(best.kinds, riskLetters) {
			best, ok = o, true
		}
	}
	return best, ok
}

func (p *program) short(out *parsed, words []Word, i int) int {
	w := &words[i]
	letters := w.start()
	anyUnknown := false
	for k := 1; k < len(letters); k++ {
		o, ok := p.options["-"+letters[k:k+1]]
		if !ok {
			anyUnknown = true
			continue
		}
		f := found{option: o, word: i, size: k + 1, at: -1, text: "-" + letters[k:k+1]}
		if o.value != 0 && k+1 < len(w.Text) {
			f.value, f.at = w.from(k+1), i
			if strings.HasPrefix(f.value.Text, "=") && !strings.ContainsAny(o.kinds, "xc") {
				f.value = w.from(k + 2)
			}
			out.opts = append(out.opts, f)
			if anyUnknown {
				out.unknown = append(out.unknown, i)
			}
			return i
		}
		if o.value == ':' && i+1 < len(words) {
			f.value, f.at = words[i+1], i+1
			out.opts = append(out.opts, f)
			if anyUnknown {
				out.unknown = append(out.unknown, i)
			}
			return i + 1
		}
		out.opts = append(out.opts, f)
	}
	if anyUnknown {
		out.unknown = append(out.unknown, i)
	}
	if w.Dynamic || w.Glob {
		out.dynamic = append(out.dynamic, i)
	}
	return i
}

// before returns the word up to a character.
func (w *Word) before(c byte) Word {
	i := strings.IndexByte(w.Text, c)
	if i < 0 {
		return *w
	}
	s := Word{Text: w.Text[:i]}
	s.Dynamic = strings.ContainsAny(s.Text, string([]rune{Unknown, UnknownWords}))
	return s
}

// from returns the word without its first n bytes.
func (w *Word) from(n int) Word {
	s := Word{Text: w.Text[n:], Multi: w.Multi}
	s.Dynamic = w.Dynamic && strings.ContainsAny(s.Text, string([]rune{Unknown, UnknownWords}))
	if w.Glob && strings.HasPrefix(w.pat, w.Text[:n]) {
		s.Glob, s.pat = true, w.pat[n:]
	}
	return s
}
