package shellscan

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// Input that would exhaust the parser's stack is answered at once.
func TestOpenersWithoutEnd(t *testing.T) {
	for _, o := range []string{"(", "$(", "{", "{ ", "((", "$((", "${a:-", "[[ ! ", "[", "$[", "a[", "((a[", "`", "((-", "<(", "case x in ", "if ", "f() ", "! ", "a && ", "a |", "x=(", "\"$(", "{a,", "while "} {
		for _, n := range []int{1_000_000 / len(o), maxText / len(o), 250, 150} {
			text := strings.Repeat(o, n)
			start := time.Now()
			s := Analyze(text, testOptions())
			took := time.Since(start)
			require.Less(t, took, time.Minute, "%d × %q", n, o)
			if len(text) > maxText {
				require.Less(t, took, 10*time.Second, "%d × %q", n, o) // BenchmarkBrackets has the figure
			}
			d := s.Judge(List{{"bash", "a *", Allow}})
			if o != "a && " && o != "a |" || len(text) > maxText {
				require.Equal(t, Ask, d.Action, "%d × %q", n, o)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	cases := map[string]string{
		"commands":     strings.Repeat("git status;", maxCommands+1),
		"nested shell": nestedShells(maxDepth + 2),
		"braces":       "echo {1..300}",
		"brace bomb":   "echo " + strings.Repeat("{a,b}", 40),
		"sequence":     "echo {1..100000000}",
		"many braces":  "echo {{a,b},{c,d}}" + strings.Repeat("{a,b,c}", 10),
	}
	for name, text := range cases {
		s := Analyze(text, testOptions())
		require.NotEmpty(t, s.Opaque, name)
		d := s.Judge(List{{"bash", "git *", Allow}, {"bash", "echo *", Allow}, {"bash", "eval *", Allow}})
		require.Equal(t, Ask, d.Action, name)
	}
	many := strings.Repeat("git status;", maxCommands+50) + "rm x"
	require.Equal(t, Deny, Analyze(many, testOptions()).Judge(List{{"bash", "*", Allow}, {"bash", "rm *", Deny}}).Action, "what comes late is seen")
}

func nestedShells(n int) string {
	text := "rm x"
	for range n {
		text = "eval " + quoteText(text, false)
	}
	return text
}

// Which node kinds of the parser are inside of what is judged part by part. A kind that a new release brings is not in this
// table, and the test says so; the visitor makes such a text opaque meanwhile.
var nodeKinds = map[string][]string{ // exported fields that the visitor deals with
	"File":         {"Name", "Stmts", "Last"},
	"Comment":      {"Hash", "Text"},
	"Stmt":         {"Comments", "Cmd", "Position", "Semicolon", "Negated", "Background", "Coprocess", "Disown", "Redirs"},
	"Assign":       {"Append", "Naked", "Name", "Index", "Value", "Array"},
	"Redirect":     {"OpPos", "Op", "N", "Word", "Hdoc"},
	"CallExpr":     {"Assigns", "Args"},
	"Subshell":     {"Lparen", "Rparen", "Stmts", "Last"},
	"Block":        {"Lbrace", "Rbrace", "Stmts", "Last"},
	"IfClause":     {"Position", "ThenPos", "FiPos", "Cond", "CondLast", "Then", "ThenLast", "Else", "Last"},
	"WhileClause":  {"WhilePos", "DoPos", "DonePos", "Until", "Cond", "CondLast", "Do", "DoLast"},
	"ForClause":    {"ForPos", "DoPos", "DonePos", "Select", "Braces", "Loop", "Do", "DoLast"},
	"WordIter":     {"Name", "InPos", "Items"},
	"CStyleLoop":   {"Lparen", "Rparen", "Init", "Cond", "Post"},
	"BinaryCmd":    {"OpPos", "Op", "X", "Y"},
	"FuncDecl":     {"Position", "RsrvWord", "Parens", "Name", "Names", "Body"},
	"Word":         {"Parts"},
	"Lit":          {"ValuePos", "ValueEnd", "Value"},
	"SglQuoted":    {"Left", "Right", "Dollar", "Value"},
	"DblQuoted":    {"Left", "Right", "Dollar", "Parts"},
	"CmdSubst":     {"Left", "Right", "Stmts", "Last", "Backquotes", "TempFile", "ReplyVar"},
	"ParamExp":     {"Dollar", "Rbrace", "Short", "Flags", "Excl", "Length", "Width", "IsSet", "Split", "GlobSubst", "RcExpand", "Param", "NestedParam", "Index", "Modifiers", "Slice", "Repl", "Names", "Exp"},
	"ArithmExp":    {"Left", "Right", "Bracket", "Unsigned", "X"},
	"ArithmCmd":    {"Left", "Right", "Unsigned", "X"},
	"BinaryArithm": {"OpPos", "Op", "X", "Y"},
	"UnaryArithm":  {"OpPos", "Op", "Post", "X"},
	"ParenArithm":  {"Lparen", "Rparen", "X"},
	"FlagsArithm":  {"Flags", "X"},
	"CaseClause":   {"Case", "In", "Esac", "Braces", "Word", "Items", "Last"},
	"CaseItem":     {"Op", "OpPos", "Comments", "Patterns", "Stmts", "Last"},
	"TestClause":   {"Left", "Right", "X"},
	"BinaryTest":   {"OpPos", "Op", "X", "Y"},
	"UnaryTest":    {"OpPos", "Op", "X"},
	"ParenTest":    {"Lparen", "Rparen", "X"},
	"DeclClause":   {"Variant", "Args"},
	"ArrayExpr":    {"Lparen", "Rparen", "Elems", "Last"},
	"ArrayElem":    {"Index", "Value", "Comments"},
	"ExtGlob":      {"OpPos", "Op", "Pattern"},
	"ProcSubst":    {"OpPos", "Rparen", "Op", "Stmts", "Last"},
	"TimeClause":   {"Time", "PosixFormat", "Stmt"},
	"CoprocClause": {"Coproc", "Name", "Stmt"},
	"LetClause":    {"Let", "Exprs"},
	"BraceExp":     {"Sequence", "Elems"},
	"TestDecl":     {"Position", "Description", "Body"},
}

func TestEveryNodeKindIsListed(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "mvdan.cc/sh/v3/syntax").Output()
	if err != nil {
		t.Skip("the go tool cannot be run here")
	}
	pkgs, err := parser.ParseFile(token.NewFileSet(), strings.TrimSpace(string(out))+"/nodes.go", nil, 0)
	require.NoError(t, err)
	found := map[string]bool{}
	for _, d := range pkgs.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "End" {
			continue
		}
		name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
		found[name] = true
		require.Contains(t, nodeKinds, name, "a node kind that nobody has looked at")
	}
	for name := range nodeKinds {
		require.True(t, found[name], "%s is no node kind any more", name)
	}
}

// A new field of a node is a new meaning that the visitor does not know.
func TestNodeFields(t *testing.T) {
	for _, n := range []any{
		syntax.File{}, syntax.Comment{}, syntax.Stmt{}, syntax.Assign{}, syntax.Redirect{}, syntax.CallExpr{}, syntax.Subshell{}, syntax.Block{}, syntax.IfClause{},
		syntax.WhileClause{}, syntax.ForClause{}, syntax.WordIter{}, syntax.CStyleLoop{}, syntax.BinaryCmd{}, syntax.FuncDecl{}, syntax.Word{}, syntax.Lit{}, syntax.SglQuoted{},
		syntax.DblQuoted{}, syntax.CmdSubst{}, syntax.ParamExp{}, syntax.ArithmExp{}, syntax.ArithmCmd{}, syntax.BinaryArithm{}, syntax.UnaryArithm{}, syntax.ParenArithm{},
		syntax.FlagsArithm{}, syntax.CaseClause{}, syntax.CaseItem{}, syntax.TestClause{}, syntax.BinaryTest{}, syntax.UnaryTest{}, syntax.ParenTest{}, syntax.DeclClause{},
		syntax.ArrayExpr{}, syntax.ArrayElem{}, syntax.ExtGlob{}, syntax.ProcSubst{}, syntax.TimeClause{}, syntax.CoprocClause{}, syntax.LetClause{}, syntax.BraceExp{}, syntax.TestDecl{},
	} {
		typ := reflect.TypeOf(n)
		var fields []string
		for i := range typ.NumField() {
			fields = append(fields, typ.Field(i).Name)
		}
		require.Equal(t, nodeKinds[typ.Name()], fields, typ.Name())
	}
}

// A node that the visitor has never heard of makes the text opaque.
func TestUnknownNodes(t *testing.T) {
	v := &visitor{s: &Script{}, tables: tablesFor("", ""), seen: map[string]int{}}
	v.fs = newResolver(&v.s.opts)
	v.test(nil, &state{})
	v.parts(nil, []syntax.WordPart{&syntax.BraceExp{}}, &state{}, argWord, false)
	v.command(&syntax.Stmt{}, &state{})
	require.Len(t, v.s.Opaque, 3)
}

// argvTable is text, then the commands with their words, as JSON; null is a word that cannot be known.
func TestArgv(t *testing.T) {
	b, err := os.ReadFile("testdata/argv.jsonl")
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var c []any
		require.NoError(t, json.Unmarshal([]byte(line), &c), line)
		n++
		s := &Script{Text: c[0].(string), opts: testOptions()}
		s.analyze()
		got := []any{}
		for _, cmd := range s.Commands {
			argv := []any{}
			for _, w := range cmd.Argv {
				if w.Dynamic {
					argv = append(argv, nil)
				} else {
					argv = append(argv, w.Text)
				}
			}
			got = append(got, argv)
		}
		require.Equal(t, c[1], any(got), "%q", c[0])
	}
	require.GreaterOrEqual(t, n, 120)
}

// Plan mode lets through what is proven to change nothing.
func TestReadOnly(t *testing.T) {
	for _, name := range []string{"readonly", "mutating"} {
		b, err := os.ReadFile("testdata/plan/" + name)
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				continue
			}
			n++
			ok, why := Analyze(line, testOptions()).ReadOnly()
			if ok != (name == "readonly") {
				t.Errorf("%s: %q is taken for read-only: %v %q", name, line, ok, why)
			}
		}
		require.GreaterOrEqual(t, n, 60)
	}
}

func TestAlways(t *testing.T) {
	for text, want := range map[string]string{
		"git status --short":            "git status *",
		"git":                           "git",
		"git checkout main":             "git checkout *",
		"git stash list":                "git stash list *",
		"git remote -v":                 "git remote -v",
		"git -C sub checkout x":         "git -C sub checkout x",
		"git push origin main":          "git push *",
		"git push --force origin main":  "git push --force origin main",
		"git reset --hard HEAD~1":       "git reset --hard HEAD~1",
		"git clean -fd":                 "git clean -fd",
		"npm run build -- --x":          "npm run build *",
		"npm test":                      "npm test *",
		"pnpm --filter web build":       "pnpm --filter web build",
		"docker compose up -d":          "docker compose up *",
		"docker -H x ps":                "",
		"go test ./...":                 "go test *",
		"go mod tidy":                   "go mod tidy *",
		"go run ./cmd/x a":              "go run ./cmd/x *",
		"python3 gen.py a":              "python3 gen.py *",
		"python3 -m pytest -q":          "python3 -m pytest *",
		"python3 -c 'x'":                "",
		"node x.js":                     "node x.js *",
		"make build":                    "make build *",
		"make":                          "make",
		"cargo build --release":         "cargo build *",
		"ls -la":                        "ls *",
		"rm -rf build":                  "rm -rf build",
		"rm *.o":                        "",
		"mv a b":                        "mv a b",
		"chmod +x a":                    "chmod +x a",
		"kill 123":                      "kill 123",
		"curl https://e.com":            "curl https://e.com",
		"sudo ls":                       "ls *",
		"bash -c ls":                    "ls *",
		"eval ls":                       "ls *",
		"xargs rm":                      "",
		"find . -exec ls {} +":          "ls *",
		"find . -name x":                "find *",
		"env FOO=1 ls":                  "",
		"ssh host ls":                   "",
		"timeout 5 go test ./...":       "go test *",
		"nohup npm run dev":             "npm run dev *",
		"FOO=1 npm test":                "",
		"git $x":                        "",
		"$x y":                          "",
		"kubectl get pods":              "kubectl get *",
		"aws s3 ls":                     "aws s3 ls *",
		"gh pr list":                    "gh pr list *",
		"terraform plan":                "terraform plan *",
		"systemctl status x":            "systemctl status *",
		"'my tool' x":                   "'my tool' x",
		"npx prettier --check .":        "npx prettier *",
		"echo $((x))":                   "",
		"sort -o b.txt a.txt":           "sort -o b.txt a.txt",
		"trap 'ls' EXIT":                "",
		"export FOO=1":                  "",
		"./build.sh x":                  "./build.sh *",
		"bash build.sh x":               "bash build.sh *",
		"/usr/bin/git log":              "/usr/bin/git *",
		"git commit -m 'a; b'":          "git commit *",
		"mkdir -p x":                    "mkdir *",
		"dd if=a of=b":                  "dd if=a of=b",
		"git config user.name x":        "",
		"git submodule foreach 'git x'": "",
	} {
		s := Analyze(text, testOptions())
		var got []string
		for _, q := range s.Asks() {
			if q.Permission == "bash" {
				got = append(got, q.Always...)
			}
		}
		require.Equal(t, want, strings.Join(got, " | "), "%q", text)
	}
}

// What is remembered for one command covers nothing else of the line.
func TestApprovalsAreNarrow(t *testing.T) {
	approved := approvedList{"bash": {"git checkout *", "go test *", "rm -rf build", "ls *"}}
	for text, want := range map[string]Action{
		"git checkout x":                  Allow,
		"git checkout x > out":            Ask,
		"PAGER=x git checkout y":          Ask,
		"git checkout x; rm y":            Ask,
		"git checkout -- a.txt":           Ask,
		"git -c core.pager=x checkout y":  Ask,
		"git checkout":                    Allow,
		"git checkoutx":                   Ask,
		"rm -rf build":                    Allow,
		"rm -rf build x":                  Ask,
		"rm  -rf   build":                 Allow,
		"rm -rf 'build'":                  Allow,
		"ls /etc":                         Ask,
		"cd /etc && ls":                   Ask,
		"go test ./... && git checkout x": Allow,
		"go test -exec ./x ./...":         Ask,
	} {
		require.Equal(t, want, Analyze(text, testOptions()).Judge(approved).Action, "%q", text)
	}
	deny := approvedList{"bash": {"rm *"}}
	deny["deny"] = []string{"rm *"}
	require.Equal(t, Deny, Analyze("rm x", testOptions()).Judge(deny).Action, "an approval does not lift a deny")
}

// approvedList is approvals beside no rules, or one rule that denies.
type approvedList map[string][]string

func (a approvedList) Configured(permission string) []Rule {
	if len(a["deny"]) > 0 && permission == "bash" {
		return []Rule{{"bash", a["deny"][0], Deny}}
	}
	return nil
}

func (a approvedList) Approved(permission string) []string { return a[permission] }

func TestAsks(t *testing.T) {
	s := Analyze("cd /etc && cat .env sub/x.txt > /tmp/out; echo x > .git/config; git log; cat a.txt >> b.txt", testOptions())
	var got []string
	for _, q := range s.Asks() {
		got = append(got, fmt.Sprintf("%s %v protected=%v plain=%v always=%v", q.Permission, q.Patterns, q.Protected, q.Plain, q.Always))
	}
	require.Equal(t, []string{
		"external_directory [/etc/* /tmp/* /etc/sub/* /etc/.git/*] protected=false plain=false always=[/etc/* /tmp/* /etc/sub/* /etc/.git/*]",
		"edit [/etc/.git/config .git/config] protected=true plain=false always=[]",
		"read [/etc/.env] protected=true plain=false always=[]",
		"edit [/tmp/out /etc/b.txt b.txt] protected=false plain=false always=[/tmp/out /etc/b.txt b.txt]",
		"read [/etc/sub/x.txt /etc/a.txt a.txt] protected=false plain=true always=[/etc/sub/x.txt /etc/a.txt a.txt]",
		"bash [cat .env sub/x.txt echo x git log cat a.txt] protected=false plain=false always=[cat * echo * git log *]",
	}, got)
}

func TestReadRules(t *testing.T) {
	allow := List{{"bash", "*", Allow}, {"edit", "*", Allow}}
	judge := func(text string, more ...Rule) Action {
		return Analyze(text, testOptions()).Judge(append(slices.Clone(allow), more...)).Action
	}
	require.Equal(t, Allow, judge("cat a.txt"))
	require.Equal(t, Deny, judge("cat a.txt", Rule{"read", "*", Allow}, Rule{"read", "a.txt", Deny}))
	require.Equal(t, Deny, judge("cat *.txt", Rule{"read", "*", Allow}, Rule{"read", "a.txt", Deny}))
	require.Equal(t, Deny, judge("cat < a.txt", Rule{"read", "*", Allow}, Rule{"read", "a.txt", Deny}))
	require.Equal(t, Deny, judge("cd sub && cat x.txt", Rule{"read", "*", Allow}, Rule{"read", "sub/*", Deny}))
	require.Equal(t, Deny, judge("cat inner/x.txt", Rule{"read", "*", Allow}, Rule{"read", "sub/*", Deny}))
	require.Equal(t, Ask, judge("cat a.txt", Rule{"read", "*", Ask}))
	require.Equal(t, Allow, judge("cat .env", Rule{"read", ".env", Allow}))
	require.Equal(t, Allow, judge("cat .env", Rule{"read", "*.env", Allow}))
	require.Equal(t, Ask, judge("cat .env", Rule{"read", "*", Allow}))
	require.Equal(t, Deny, judge("touch x", Rule{"edit", "*", Deny}))
	require.Equal(t, Deny, judge("echo > x", Rule{"edit", "*", Deny}))
	require.Equal(t, Allow, judge("echo x > .git/config", Rule{"edit", ".git/config", Allow}))
	require.Equal(t, Deny, judge("cat /etc/passwd", Rule{"external_directory", "*", Deny}))
	require.Equal(t, Allow, judge("cat /etc/passwd", Rule{"external_directory", "/etc/*", Allow}))
	require.Equal(t, Ask, judge("cat /etc/passwd /tmp/x", Rule{"external_directory", "/etc/*", Allow}))
}

func TestDialects(t *testing.T) {
	o := testOptions()
	o.Dialect = POSIX
	rules := List{{"bash", "*", Allow}, {"bash", "rm *", Deny}}
	require.NotEqual(t, Allow, Analyze("echo x &>rm; rm x", o).Judge(rules).Action)
	require.NotEqual(t, Allow, Analyze("diff <(rm x) y", o).Judge(rules).Action)
	require.Equal(t, Allow, Analyze("echo x", o).Judge(rules).Action)
	o.Dialect = Other
	require.Equal(t, Ask, Analyze("ls", o).Judge(rules).Action)
}

func TestHostTables(t *testing.T) {
	o := testOptions()
	rules := List{{"bash", "mytool *", Allow}, {"bash", "FOO=* npm *", Allow}, {"bash", "npm *", Allow}}
	require.Equal(t, Allow, Analyze("mytool --hook x", o).Judge(rules).Action)
	o.Programs = "mytool = --hook:x --out:w | r* |\n"
	require.Equal(t, Ask, Analyze("mytool --hook x", o).Judge(rules).Action)
	require.Equal(t, Ask, Analyze("mytool --out /tmp/x", o).Judge(rules).Action)
	ok, _ := Analyze("mytool a.txt", o).ReadOnly()
	require.False(t, ok)
	o.ReadOnly = "mytool = --show | |\n"
	ok, _ = Analyze("mytool --show a.txt", o).ReadOnly()
	require.True(t, ok)
	ok, _ = Analyze("mytool --change a.txt", o).ReadOnly()
	require.False(t, ok)
	require.Equal(t, Allow, Analyze("FOO=1 npm test", o).Judge(rules).Action)
	require.Equal(t, Ask, Analyze("BAR=1 npm test", o).Judge(rules).Action)
	o.Benign = []string{"BAR"}
	require.Equal(t, Allow, Analyze("BAR=1 npm test", o).Judge(rules).Action)
	o.FoldCase = true
	deny := List{{"bash", "*", Allow}, {"bash", "rm *", Deny}}
	require.Equal(t, Deny, Analyze("RM x", o).Judge(deny).Action)
	o.FoldCase = false
	require.Equal(t, Allow, Analyze("RM x", o).Judge(deny).Action)
}

func TestDetails(t *testing.T) {
	s := Analyze("cd sub && sudo env A=1 timeout 5 cat x.txt; curl https://e.com/a", testOptions())
	var via [][]string
	for _, c := range s.Commands {
		via = append(via, c.Via)
	}
	require.Equal(t, [][]string{nil, nil, {"sudo"}, {"sudo", "env"}, {"sudo", "env", "timeout"}, nil}, via)
	last := s.Commands[4]
	require.Equal(t, []string{"/proj/sub"}, last.Dirs)
	require.Equal(t, "sudo env A=1 timeout 5 cat x.txt", s.Text[last.Span[0]:last.Span[1]])
	require.Equal(t, []string{"https://e.com/a"}, s.Network)
	require.Equal(t, "A", s.Env[0].Name)
	require.Equal(t, []string{"/proj/sub/x.txt"}, s.Files[1].Paths)
	require.Equal(t, 4, s.Files[1].Command)
	require.Empty(t, s.Opaque)

	s = Analyze("cp a.txt /tmp/x; echo > $y; rm -r sub > out.txt", testOptions())
	require.Equal(t, []string{"/tmp"}, s.ExternalDirs())
	require.Equal(t, []string{"/tmp/x", "…", "/proj/out.txt", "/proj/sub"}, s.Writes())

	linked := testOptions()
	linked.Dir, linked.Roots = "/lnk", []string{"/lnk"}
	linked.Lookup = withLinks{testFiles, map[string]string{"/lnk": "/proj"}}
	require.Equal(t, Allow, Analyze("cat a.txt /lnk/b.txt /proj/b.txt; cd sub; cat x.txt", linked).Judge(List{{"bash", "*", Allow}}).Action)
	require.Equal(t, Ask, Analyze("cat ../x", linked).Judge(List{{"bash", "*", Allow}}).Action)

	s = Analyze("cd nosuch; cat x", testOptions())
	require.ElementsMatch(t, []string{"/proj/nosuch", "/proj"}, s.Commands[1].Dirs)
	s = Analyze("cd inner && cd .. && cat x", testOptions())
	require.Equal(t, []string{"/proj"}, s.Commands[2].Dirs)
	s = Analyze("set -e; cd sub; cat x", testOptions())
	require.Equal(t, []string{"/proj/sub"}, s.Commands[2].Dirs)
	s = Analyze("cd sub || exit 1; cat x", testOptions())
	require.Equal(t, []string{"/proj/sub"}, s.Commands[2].Dirs)
	s = Analyze("if cd sub; then cat x; else cat y; fi; cat z", testOptions())
	require.Equal(t, []string{"/proj/sub"}, s.Commands[1].Dirs)
	require.Equal(t, []string{"/proj"}, s.Commands[2].Dirs)
	require.ElementsMatch(t, []string{"/proj/sub", "/proj"}, s.Commands[3].Dirs)
	s = Analyze("cd sub && cd - && cat x", testOptions())
	require.Equal(t, []string{"/proj"}, s.Commands[2].Dirs)
	s = Analyze("f() { cd sub; }; f; cat x", testOptions())
	require.ElementsMatch(t, []string{"/proj/sub", "/proj"}, s.Commands[2].Dirs)
	s = Analyze("(cd sub); cat x", testOptions())
	require.Equal(t, []string{"/proj"}, s.Commands[1].Dirs)
	s = Analyze("while true; do cd sub; done; cat x", testOptions())
	require.Nil(t, s.Commands[len(s.Commands)-1].Dirs)
	s = Analyze("cd $x; cat y", testOptions())
	require.True(t, s.Files[0].Unknown)
}

func TestOptions(t *testing.T) {
	o := testOptions()
	judge := func(text string, rules ...Rule) Action { return Analyze(text, o).Judge(List(rules)).Action }
	everything := Rule{"*", "*", Allow}
	require.Equal(t, Ask, judge("kill $PPID", everything), "the host")
	require.Equal(t, Allow, judge("kill $x", everything))
	o.Self = []string{"4242", "agent-host"}
	require.Equal(t, Ask, judge("pkill -f agent", everything))
	require.Equal(t, Ask, judge("killall agent-host", everything))
	require.Equal(t, Allow, judge("pkill node", everything))

	ask := Rule{"external_directory", "*", Ask}
	require.Equal(t, Ask, judge("cat \"$x\"", everything, ask))
	o.TrustUnknown = true
	require.Equal(t, Allow, judge("cat \"$x\"", everything, ask))
	require.Equal(t, Ask, judge("cat /etc/passwd", everything, ask))
	o.TrustUnknown = false

	test := Rule{"bash", "go test *", Allow}
	require.Equal(t, Ask, judge("cd sub && go test ./... 2>&1 | tail -20", test))
	o.AllowFilters = true
	for text, want := range map[string]Action{
		"cd sub && go test ./... 2>&1 | tail -20":     Allow,
		"go test ./... | grep -v ok | sort | uniq -c": Allow,
		"go test ./... | tail -20 a.txt":              Ask,
		"go test ./... | sort -o x":                   Ask,
		"go test ./... | grep -f pats":                Ask,
		"go test ./... | cat ../x":                    Ask,
		"go test ./... | tail $n":                     Ask,
		"go test ./... | ./tail":                      Ask,
		"go test ./... | tail -20 > out":              Ask,
		"tail() { rm x; }; go test | tail":            Ask,
		"go test ./... | sh":                          Ask,
		"go test ./... | tee x":                       Ask,
		"ls | head":                                   Ask,
	} {
		require.Equal(t, want, judge(text, test), text)
	}
	require.Equal(t, Ask, judge("go test | tail", test, Rule{"bash", "tail *", Ask}))
	require.Equal(t, Deny, judge("go test | tail", test, Rule{"bash", "tail *", Deny}))
	o.AllowFilters = false
	o.AllowReadOnly = true
	require.Equal(t, Allow, judge("cd sub && go test ./... 2>&1 | tail -20", test))
	require.Equal(t, Allow, judge("git status && ls", Rule{"bash", "*", Ask}))
	require.Equal(t, Ask, judge("git status && ls", Rule{"bash", "*", Ask}, Rule{"bash", "git *", Ask}))
	require.Equal(t, Deny, judge("git status && ls", Rule{"bash", "*", Deny}))
	require.Equal(t, Ask, judge("git status && rm x"))
	require.Equal(t, Ask, judge("cat .env"))
	require.Equal(t, Ask, judge("cat /etc/passwd"))
	require.Equal(t, Ask, judge("git diff --output=x"))
	require.Equal(t, Ask, judge("ls > x"))
}

func TestEachPattern(t *testing.T) {
	rules := List{{"bash", "git *", Allow}, {"bash", "rm *", Deny}, {"external_directory", "/tmp/*", Allow}}
	var got []string
	for _, q := range Analyze("git log && make && rm x && ls /tmp /etc", testOptions()).Asks() {
		d := q.Judge(rules)
		require.Len(t, d.Each, len(q.Patterns))
		for i, p := range q.Patterns {
			got = append(got, p+": "+d.Each[i].String())
		}
	}
	require.Equal(t, []string{"/tmp/*: allow", "/etc/*: ask", "x: allow", "git log: allow", "make: ask", "rm x: deny", "ls /tmp /etc: ask"}, got)
}

// withLinks is a memFS with more links.
type withLinks struct {
	memFS
	more map[string]string
}

func (w withLinks) Lstat(name string) (fs.FileMode, error) {
	if w.more[name] != "" {
		return fs.ModeSymlink, nil
	}
	return w.memFS.Lstat(name)
}

func (w withLinks) Readlink(name string) (string, error) {
	if to := w.more[name]; to != "" {
		return to, nil
	}
	return w.memFS.Readlink(name)
}

// Texts that are made to be slow to analyse are given up on in time.
func TestSlowTexts(t *testing.T) {
	calls := ""
	for i := range 40 {
		calls += fmt.Sprintf("f%d() { f%d; f%d; }; ", i, i+1, i+1)
	}
	vars := ""
	for i := range 2000 {
		vars += fmt.Sprintf("v%d=%d; ", i, i)
	}
	texts := map[string]string{
		"calls":      calls + "f40() { ls; }; f0",
		"loops":      strings.Repeat("while true; do ", 60) + "cd x; y=$z" + strings.Repeat("; done", 60),
		"for":        strings.Repeat("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do ", 12) + "ls $i" + strings.Repeat("; done", 12),
		"vars":       vars + strings.Repeat("if true; then x=1; fi; ", 1000),
		"var loops":  vars + strings.Repeat("while true; do x=$y; ", 12) + strings.Repeat("done; ", 12),
		"cds":        strings.Repeat("cd a; ", 8000),
		"dirs":       strings.Repeat("if x; then cd a; else cd b; fi; ", 1500),
		"files":      "cat " + strings.Repeat("a/b/c/d/e/f/g ", 4000),
		"stars":      "ls " + strings.Repeat("*a", 20000),
		"braces":     "echo " + strings.Repeat("{", 150) + strings.Repeat("a,b}", 150),
		"pipes":      strings.Repeat("find . | ", 5000) + "cat",
		"functions":  strings.Repeat("f() { ls; }; ", 4000),
		"same call":  "f() { " + strings.Repeat("ls a; ", 3000) + "}; " + strings.Repeat("f; ", 4000),
		"evals":      strings.Repeat("eval 'eval \"ls; ls\"'; ", 2000),
		"words":      "x=" + strings.Repeat("a", 60000) + "; ls " + strings.Repeat("$x", 100),
		"big words":  "x=" + strings.Repeat("a", 30000) + "; " + strings.Repeat("ls $x$x$x$x$x$x;", 1000),
		"case":       "case x in " + strings.Repeat("a) cd b;; ", 5000) + "esac",
		"env":        strings.Repeat("A=1 ", 10000) + "ls",
		"xargs":      "xargs " + strings.Repeat("xargs ", 8000) + "ls",
		"timeouts":   strings.Repeat("timeout 1 ", 6000) + "ls",
		"finds":      "find . " + strings.Repeat("-exec ls {} + ", 4000),
		"sed":        "sed '" + strings.Repeat("s/a/b/;", 8000) + "'",
		"awk":        "awk '" + strings.Repeat("/[a]/{print}", 5000) + "'",
		"doubling":   strings.Repeat("x=$x$x; ", 2000) + "ls $x",
		"doubling 2": "x=aaaaaaaa; " + strings.Repeat("x=$x$x; ", 40) + "ls $x",
	}
	rules := List{{"*", "*", Allow}, {"bash", "rm *", Deny}, {"bash", "*a*b*c*", Ask}}
	for name, text := range texts {
		t.Logf("%s", name)
		start := time.Now()
		s := &Script{Text: text, opts: testOptions()}
		s.analyze()
		s.Judge(rules)
		s.ReadOnly()
		took := time.Since(start)
		t.Logf("%-10s %v", name, took)
		require.Less(t, took, 2*time.Minute, name)
	}
}

// The analysis may be used by many goroutines at once.
func TestConcurrentUse(t *testing.T) {
	done := make(chan bool)
	for range 8 {
		go func() {
			for _, c := range readTables(t, "testdata/everyday.txt")[:60] {
				Analyze(c.text, testOptions()).Judge(c.rules)
			}
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
}

func TestAllocations(t *testing.T) {
	o := testOptions()
	n := testing.AllocsPerRun(50, func() { Analyze("cd sub && go test ./... 2>&1 | tail -20", o) })
	require.Less(t, n, 600.0)
}

func BenchmarkOneLiner(b *testing.B) {
	o := testOptions()
	rules := List{{"bash", "go test *", Allow}, {"bash", "tail *", Allow}}
	b.ReportAllocs()
	for b.Loop() {
		if Analyze("cd sub && go test ./... 2>&1 | tail -20", o).Judge(rules).Action != Allow {
			b.Fatal("asks")
		}
	}
}

func BenchmarkLongText(b *testing.B) {
	text := strings.Repeat("git add x.txt\n", 4000)
	o := testOptions()
	b.ReportAllocs()
	for b.Loop() {
		Analyze(text, o)
	}
}

func BenchmarkBrackets(b *testing.B) {
	text := strings.Repeat("(", 1_000_000)
	for b.Loop() {
		Analyze(text, Options{})
	}
}
