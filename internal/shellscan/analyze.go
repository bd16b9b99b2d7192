package shellscan

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agenttool/tool/internal/fsroot"
)

// A Dialect is the shell that will run the text. Text that is read as one dialect and run by another is not analysed.
type Dialect int

const (
	Bash  Dialect = iota // bash 4 or later, started with --noprofile --norc -p
	POSIX                // dash and other plain sh
	Other                // anything else: every text is opaque
)

// Lookup is how the analysis sees the file system. Implementations must be safe for concurrent use if the Options are.
type Lookup interface {
	// Lstat returns the type of name, links not followed. An error that is [fs.ErrNotExist] means that there is nothing.
	Lstat(name string) (fs.FileMode, error)
	Readlink(name string) (string, error)
}

// A DirLookup is a Lookup that can list a directory, which makes globs exact.
type DirLookup interface {
	Lookup
	// Names returns at most max names; an error if there are more.
	Names(dir string, max int) ([]string, error)
}

// Options is what the analysis knows about where the text will run. The zero value knows nothing: relative names and ~ lead
// anywhere. All paths are absolute with forward slashes.
type Options struct {
	Dir     string   // working directory; "" unknown
	Home    string   // the child's HOME; "" unknown
	Roots   []string // directories that are granted; the first is the project, to which rules' paths are relative
	Lookup  Lookup   // nil: no name is a link
	Dialect Dialect

	// Env holds variables of the child whose value is certain, by name. Others are unknown.
	Env map[string]string
	// Secret reports whether a file of that base name holds secrets; nil: the same names as for the file tools.
	Secret func(base string) bool
	// Protected reports whether writing the file, relative to the project or absolute without the leading slash, can make
	// other programs run something; nil: the same files as for the file tools.
	Protected func(name string) bool
	// Benign lists further variables that may be set without a question. A trailing * matches the rest of the name.
	Benign []string
	// Programs adds to the table of programs, in the format of programs.txt; an entry replaces one of the same name.
	Programs string
	// ReadOnly adds to the table of commands that change nothing, in the format of readonly.txt.
	ReadOnly string
	// FoldCase: program names that differ only in case are the same to deny rules.
	FoldCase bool
	// Self lists the ids and names of processes that kill, pkill and killall must not end. The first is the id of the one
	// that starts the shell, which the text may call $PPID.
	Self []string
	// TrustUnknown: a file operand whose value is not known is no question of its own; the rule for its command decides.
	TrustUnknown bool
	// AllowReadOnly: a command that is proven to change nothing needs no rule, as long as no rule but one for everything asks
	// about it. Secrets and directories outside are questions all the same.
	AllowReadOnly bool
	// AllowFilters is AllowReadOnly for commands that only pass on what they are fed, such as the tail in "go test | tail":
	// a few well-known filters without files to read.
	AllowFilters bool
}

const (
	maxText     = 64 << 10  // bytes of a text
	maxNested   = 256 << 10 // bytes of all texts inside it, such as bash -c's
	maxBrackets = 200       // nesting of ( { [
	maxDepth    = 8         // texts inside texts
	maxCommands = 256       // simple commands
	maxBraces   = 256       // words out of one by brace expansion
	maxSteps    = 40_000    // statements visited, loops and calls counted each time
	maxLevels   = 3_000     // nesting of statements
	maxLookups  = 4_000
	maxRisks    = 32      // of one command
	maxWrappers = 16      // around one command
	maxVars     = 256     // variables that are followed
	maxValue    = 4 << 10 // characters of a value
)

// Analyze finds out what text would do. It has no side effects but calls of o.Lookup, never fails and never panics.
func Analyze(text string, o Options) (s *Script) {
	s = &Script{Text: text, opts: o}
	defer func() {
		if r := recover(); r != nil {
			s.opaque(KindSyntax, "the analysis gave up on this text")
		}
	}()
	s.analyze()
	return s
}

func (s *Script) analyze() {
	text, o := s.Text, &s.opts
	if why := gate(text); why != "" {
		s.opaque(KindSyntax, why)
		return
	}
	if o.Dialect == Other {
		s.opaque(KindSyntax, "the shell is neither bash nor a plain sh")
		return
	}
	v := &visitor{s: s, tables: tablesFor(o.Programs, o.ReadOnly), span: [2]int{0, len(text)}, seen: map[string]int{}}
	v.fs = newResolver(&s.opts)
	v.dialect = o.Dialect
	v.root(text)
}

func (s *Script) opaque(k Kind, why string) {
	for _, r := range s.Opaque {
		if r.Text == why {
			return
		}
	}
	if len(s.Opaque) < 64 {
		s.Opaque = append(s.Opaque, Reason{Kind: k, Text: why, word: -1})
	}
}

func (o *Options) secret(base string) bool {
	if o.Secret != nil {
		return o.Secret(base)
	}
	return fsroot.IsSecretName(base)
}

func (o *Options) protected(name string) bool {
	if o.Protected != nil {
		return o.Protected(name)
	}
	return fsroot.IsProtectedPath(name)
}

func (d Dialect) lang() syntax.LangVariant {
	if d == POSIX {
		return syntax.LangPOSIX
	}
	return syntax.LangBash
}

// parse reads a text. With an error it still returns the statements before it, because bash runs those.
func parse(text string, d Dialect) ([]*syntax.Stmt, error) {
	p := syntax.NewParser(syntax.Variant(d.lang()), syntax.KeepComments(false))
	f, err := p.Parse(strings.NewReader(text), "")
	if err == nil {
		return f.Stmts, nil
	}
	var before []*syntax.Stmt
	for st, err := range p.StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			break
		}
		before = append(before, st)
	}
	return before, errors.New("syntax error: " + strings.TrimSpace(err.Error()))
}

func cleanAbs(p string) string {
	if p == "" || p[0] != '/' {
		return ""
	}
	return path.Clean(p)
}
