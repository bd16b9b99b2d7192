package shellscan_test

import (
	"fmt"

	"github.com/agenttool/tool/internal/shellscan"
)

func ExampleAnalyze() {
	s := shellscan.Analyze("cd sub && sudo env A=1 rm -rf $X > log.txt", shellscan.Options{Dir: "/p", Roots: []string{"/p"}})
	for _, c := range s.Commands {
		fmt.Println(c.Via, c.String(), c.Dirs)
	}
	for _, f := range s.Files {
		fmt.Println(f.Path, f.Paths, f.Unknown)
	}
	// Output:
	// [] cd sub [/p]
	// [] sudo env A=1 rm -rf … [/p/sub]
	// [sudo] env A=1 rm -rf … [/p/sub]
	// [sudo env] A=1 rm -rf … [/p/sub]
	// sub [/p/sub] false
	// log.txt [/p/sub/log.txt] false
	// … [] true
}

func ExampleScript_Judge() {
	rules := shellscan.List{
		{Permission: "bash", Pattern: "git *", Action: shellscan.Allow},
		{Permission: "bash", Pattern: "git push *", Action: shellscan.Deny},
	}
	o := shellscan.Options{Dir: "/p", Roots: []string{"/p"}}
	for _, text := range []string{"git status", "git -c core.pager=x log", "env git 'push'", "git log | sh"} {
		d := shellscan.Analyze(text, o).Judge(rules)
		fmt.Println(text, "→", d.Action, d.Reasons)
	}
	// Output:
	// git status → allow []
	// git -c core.pager=x log → ask [git -c changes a setting that can run programs]
	// env git 'push' → deny [denied by a rule: git push]
	// git log | sh → ask [a shell that reads commands from its input]
}

func ExampleScript_Asks() {
	s := shellscan.Analyze("go test ./... > out.txt; cat .env; ls /etc", shellscan.Options{Dir: "/p", Roots: []string{"/p"}})
	for _, q := range s.Asks() {
		fmt.Println(q.Permission, q.Patterns, q.Always, q.Protected)
	}
	// Output:
	// external_directory [/etc/*] [/etc/*] false
	// read [.env] [] true
	// edit [out.txt] [out.txt] false
	// bash [go test ./... cat .env ls /etc] [go test * cat * ls *] false
}

func ExampleScript_ReadOnly() {
	for _, text := range []string{"git log | head", "git diff --output=x", "sed -n 5p a.txt"} {
		ok, why := shellscan.Analyze(text, shellscan.Options{}).ReadOnly()
		fmt.Println(text, "→", ok, why)
	}
	// Output:
	// git log | head → true []
	// git diff --output=x → false [git --output writes files option --output=x of git diff writes x]
	// sed -n 5p a.txt → true []
}

func ExampleMatch() {
	fmt.Println(shellscan.Match("git *", "git"), shellscan.Match("git *", "git log -p"), shellscan.Match("git *", "gitk"))
	// Output: true true false
}
