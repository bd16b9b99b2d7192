package builtin

import (
	"path"
	"slices"
	"strings"

	"github.com/agenttool/tool/internal/shellscan"
)

// interactive are programs that want a terminal, by what to do instead. Those
// without words always do; the others if they are called with nothing to work on.
var interactive = []struct {
	programs string
	alone    bool // only without operands
	instead  string
}{
	{"vim vi nvim nano emacs pico", false, "change files with edit or write"},
	{"less more most", false, "read files with read, or with head and tail"},
	{"top htop btop atop watch", false, "use ps, or top -b -n 1"},
	{"python python3 node irb ghci lua php psql mysql sqlite3 redis-cli mongosh bc gdb lldb pdb", true, "give it a script, or the code with its option for that"},
	{"tmux screen", false, inBackground},
	{"passwd su", false, "ask the user to run it"},
}

const inBackground = "run the command with background"

// interactiveHint says that a command wants somebody at a terminal, "" if none
// does. It is a hint: the command runs all the same.
func interactiveHint(s *shellscan.Script, jobs bool) string {
	for i := range s.Commands {
		c := &s.Commands[i]
		var words []string
		for _, w := range c.Argv {
			words = append(words, w.Text)
		}
		if len(words) == 0 {
			continue
		}
		name := path.Base(words[0])
		operands := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
		for _, p := range interactive {
			if !slices.Contains(strings.Fields(p.programs), name) || p.alone && len(words) > 1 || fed(s, i) || batch(words) {
				continue
			}
			if p.instead == inBackground && !jobs {
				return name + " wants a terminal, and there is none: run the command by itself"
			}
			return name + " wants a terminal, and there is none: " + p.instead
		}
		switch {
		case name == "git" && len(operands) > 0 && has(words, "-i", "--interactive", "-p", "--patch") && slices.Contains([]string{"rebase", "add", "checkout", "reset", "stash", "commit"}, operands[0]):
			return "git " + operands[0] + " would ask for each step, and there is nobody to answer: do without -i and -p"
		case (name == "npm" || name == "yarn" || name == "pnpm") && len(operands) == 1 && operands[0] == "init" && !has(words, "-y", "--yes"):
			return name + " init asks questions, and there is nobody to answer: add -y"
		case name == "ssh" && len(operands) == 1:
			return "ssh without a command wants a terminal, and there is none: give it the command to run"
		}
	}
	return ""
}

// batch reports whether the words of a command say that it works without a terminal.
func batch(words []string) bool {
	return has(words, "-b", "-n", "--version", "-V", "--help", "-es", "-Es", "-s", "-c", "--batch", "-batch", "new-session", "kill-session", "ls")
}

// fed reports whether the command gets its input from a pipe or a file. Which of
// the commands of a pipe does is not kept, so all but the first are taken to.
func fed(s *shellscan.Script, i int) bool {
	for _, f := range s.Files {
		if f.Redirect && f.Command == i && f.Mode&shellscan.Read != 0 {
			return true
		}
	}
	return strings.Contains(s.Text, "<<") || i > 0 && strings.Contains(strings.ReplaceAll(s.Text, "||", ""), "|")
}

func has(words []string, any ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
}
