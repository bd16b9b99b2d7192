package shellscan

import "strings"

// The runes below stand for what is not known in [Word.Text]. They are noncharacters: a text that has one is not analysed.
const (
	// Unknown stands for a part of a word whose value is known only when it runs.
	Unknown = '\uFDD0'
	// UnknownWords stands for a part that may be several words, or none.
	UnknownWords = '\uFDD2'

	inBlank = '\uFDD1' // a blank inside a word, in the joined form of a command
)

// A Script is what Analyze found out about a text. It is not changed after it was returned.
type Script struct {
	Text     string
	Commands []Command   // every simple command that could run, in source order; what a wrapper runs follows the wrapper
	Files    []FileUse   // every file that is named
	Network  []string    // where the text connects to, as far as it says so; for the prompt
	Env      []EnvChange // variables set for a command or for the rest of the text
	Opaque   []Reason    // why the text cannot be judged completely; empty: it can
	Unparsed error       // the syntax error; bash may still run what comes before it

	opts Options
}

// A Command is one simple command.
type Command struct {
	Argv  []Word      // never empty, except for a command that only assigns or redirects
	Env   []EnvChange // assignments in front of it
	Via   []string    // the wrappers that lead to it, outermost first: "sudo", "env"
	Dirs  []string    // the directories it may run in; nil: not known
	Risks []Reason    // what a rule must spell out to cover
	Span  [2]int      // bytes of Text; for the inside of a nested text, those of the command that holds it
	// Free reports that no rule is needed: a harmless builtin, a call of a function of this text, or a wrapper that only
	// passes on to a command that is listed.
	Free bool

	parent int  // index of the wrapper; -1
	offset int  // Argv[i] is Argv[offset+i] of the wrapper; -1 if it is not a part of it
	past   int  // index of the first word behind the options in front: of "push" in git -C dir push
	rest   bool // any of the words may be a command that it runs
	name   string
	always string
	call   bool // of a function of the text
	read   bool // proven to change nothing
	why    string
}

// A Word is an argument after quote removal and expansion.
type Word struct {
	Text    string // unknown parts are [Unknown] or [UnknownWords]
	Dynamic bool   // some part is not known
	Multi   bool   // may be several words, or none
	Glob    bool   // has glob characters that the shell would expand

	pat    string // for Glob: the pattern, with a backslash before what is literal
	listed bool   // for Glob: names that a command printed, which cannot be listed here
}

// A Kind sorts reasons.
type Kind int

const (
	KindSyntax      Kind = iota // the text is outside of what can be judged, or changes what later text means
	KindName                    // the command's name is not known
	KindExec                    // an option or operand that runs a program or loads code
	KindCode                    // code in another language
	KindWrite                   // an option that writes a file
	KindDestructive             // may lose data
	KindEnv                     // a variable that changes what programs do
	KindVariable                // another variable in front of a command
	KindPrivilege               // runs with other rights, or elsewhere
	KindOption                  // a word that is not known may be an option
	KindHost                    // asked about even when every command is allowed: a signal to the host, a connection of the shell itself
)

// A Reason says why a command or a text needs more than a general rule.
type Reason struct {
	Kind Kind
	Text string // for the user

	word int    // index in Argv of the word that a rule must spell out; -1 none
	size int    // bytes of it that must be spelled out; 0 all
	name string // variable, for KindEnv
}

// A Mode says how a file is used.
type Mode uint8

const (
	Read Mode = 1 << iota
	Write
	Dir       // names a directory
	Recursive // and everything below it
)

// A FileUse is a file that a command or a redirection names.
type FileUse struct {
	Path      string   // as written, expanded
	Paths     []string // where it may lead, links followed; empty: not known
	Mode      Mode
	Command   int  // index in Commands; -1 for a redirection of a compound command
	Redirect  bool // by a redirection, or by an option that writes
	Secret    bool // holds secrets
	Protected bool // writing it can make other programs run something
	Unknown   bool // may lead anywhere

	outside []string // directories outside of the roots
	rel     []string // how rules call the file: relative to the root when inside
	into    bool     // files of unknown names are written into it
	mention bool     // an argument of which it is not known what it is for, and which is the name of a file
	also    []string // what a pattern stands for, where that could be listed; rules that deny and ask see it, too
	maybe   string   // the pattern with what is not known in it, where it could not
}

// Outside returns the directories outside of the roots that the file may be in.
func (f *FileUse) Outside() []string { return f.outside }

// An EnvChange is a variable that is set.
type EnvChange struct {
	Name   string
	Value  Word
	Export bool // for every later command, not just for one
}

// String returns the words of the command as a shell would read them back, unknown parts as "…".
func (c *Command) String() string {
	var b strings.Builder
	for _, e := range c.Env {
		b.WriteString(e.Name + "=" + quote(e.Value) + " ")
	}
	for i, w := range c.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(w))
	}
	return strings.TrimSuffix(b.String(), " ")
}

var ellipsis = strings.NewReplacer(string(Unknown), "…", string(UnknownWords), "…")

// visible shows what is not known as an ellipsis.
func visible(s string) string {
	if strings.Contains(s, "\ufdd0"[:2]) {
		return ellipsis.Replace(s)
	}
	return s
}

// quote renders a word so that it reads as one.
func quote(w Word) string {
	if w.Dynamic {
		return visible(quoteText(w.Text, false))
	}
	return quoteText(w.Text, w.Glob)
}

func quoteText(s string, glob bool) string {
	if s == "" {
		return "''"
	}
	special := " \t\n'\"\\$`&|;<>(){}#!"
	if !glob {
		special += "*?["
	}
	if !strings.ContainsAny(s, special) || s == "{}" || s == "[" || s == ";" || s == "!" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
