//go:build unix

package shellscan

import "strings"

// The part of the grammar that needs programs beside marker: wrappers, shells and programs that touch files. It is used only
// where nothing that a text does can reach further than its directory and the one beside it.

// widePrograms are those that wide texts may start.
var widePrograms = []string{"env", "nice", "timeout", "xargs", "find", "nohup", "setsid", "stdbuf", "sh", "bash", "dash", "cat", "tee", "cp", "mv", "ln", "touch", "mkdir", "sed", "awk", "sort", "head",
	"tail", "rm", "ls", "dd", "install", "printf", "split", "uniq", "grep", "tar", "shuf", "truncate", "rmdir", "chmod", "mktemp", "ionice", "chrt", "taskset", "flock", "script", "time", "gawk", "perl",
	"rsync", "cpio", "unlink", "link", "csplit", "diff", "cmp", "xxd", "base64", "gzip", "jq"}

// quoteFor puts a text into quotes for a shell inside.
func (g *scriptMaker) quoteFor(text string) string {
	if g.r.IntN(3) == 0 {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text) + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// started is a command in words that wrappers take.
func (g *scriptMaker) started() string {
	switch g.r.IntN(8) {
	case 0, 1, 2, 3:
		return g.pick("marker", "marker x", "'marker'", "mark\\er", "$x", "\"$x\"", "true", "echo marker", "{marker,x}", "$y marker", "-x marker", "-- marker", "\"\" marker", "*", "m*")
	case 4:
		return g.pick("sh", "bash", "dash") + " " + g.pick("-c", "-ec", "-c --", "-x -c", "+e -c", "-o pipefail -c", "-cx", "-s --", "--norc -c", "-O extglob -c", "-p -c") + " " + g.quoteFor(g.command()) + g.pick("", " x marker", " _ "+g.word()+" marker")
	}
	return g.wrapped()
}

// wrapped is a program that runs its arguments.
func (g *scriptMaker) wrapped() string {
	if g.depth++; g.depth > 6 {
		return "marker"
	}
	defer func() { g.depth-- }()
	opt := func(list ...string) string { return g.pick(append(list, "", "", "", "--")...) + " " }
	switch g.r.IntN(22) {
	case 0:
		return "env " + opt("-i", "-u x", "-ux", "--unset=x", "--unset x", "x=1", "-C .", "--chdir=.", "-", "-0", "-v", "-S marker", "-S'marker x'", "-S 'env marker'", "--split-string=marker", "-iu x", "-vS marker", "PATH=$PATH", "x=marker y=1", "--ignore-env", "--block-signal", "a+=b") + g.started()
	case 1:
		return "nice " + opt("-n 1", "-n1", "-1", "--adjustment=1", "--adjustment 1", "-n", "-5 -n 1", "--adj 1") + g.started()
	case 2:
		return "timeout " + opt("-k 1", "-k1", "-s KILL", "-sKILL", "--signal=KILL", "--foreground", "--preserve-status", "-v", "--kill-after 1", "--sig KILL", "-fk 1") + g.pick("1", "1s", "0.5", "x", "", "1m", "-k 1 1") + " " + g.started()
	case 3:
		return g.pick("", "echo marker | ", "echo a | ", "printf 'marker\\0' | ", "ls | ", "printf 'a\\nb\\n' | ") + "xargs " + opt("-0", "-n1", "-n 1", "-I{}", "-I {}", "-I % ", "-i", "-i%", "-r", "-t", "-d a", "-da", "-L1", "-L 1", "-l", "-P2", "-s 999", "-E a", "-e", "-ea", "-x", "-a f", "--arg-file=f", "--max-args=1", "--replace", "--replace={}", "-0n1", "-rI{}", "--repl={}", "--null", "-o", "--verb") +
			g.pick(g.started(), g.started(), "", "env", "sh -c "+g.quoteFor(g.pick("marker", "{}", "\"$@\"", "$0", "echo {}", "marker {}", "x{}", "$1"))+g.pick("", " _", " marker"))
	case 4:
		return "find " + g.pick("", ".", ". d", "-H .", "-L .", "f", "./f", "-O1 .", "-D exec .", "-- .") + " " + g.pick("", "-maxdepth 0", "-name f", "-type f", "! -name x", "\\( -name f \\)", "-prune -o", "-name m*", "-newer f", "-perm 0", "-false -o", "-regex x -o") + " " +
			g.pick("-exec", "-execdir", "-ok", "-okdir", "-exec", "-print -exec", "-delete -exec", "-printf", "-fprint", "-name -exec") + " " + g.pick(g.started()+" "+g.pick("\\;", "';'", "+", "{} +", "{} \\;", "{} + -exec marker \\;", "\\; -exec marker {} \\;", "", "{} ;"), "g")
	case 5:
		return g.pick("nohup ", "setsid ", "setsid -w ", "setsid -fw ", "setsid --wait ", "nohup -- ") + g.started()
	case 6:
		return "stdbuf " + opt("-oL", "-o L", "--output=L", "-i0 -oL", "-e 0", "--out L") + g.started()
	case 7:
		return g.pick("command", "command -p", "command --", "command -v", "builtin", "builtin --", "exec", "exec -a x", "exec -c", "exec -l", "exec -cl", "exec -la x", "exec --", "exec -ax", "command -pv", "builtin command", "command builtin command", "command command -p", "command exec", "builtin exec", "command -x") + " " + g.started()
	case 8:
		return g.pick("time", "time -p", "time --", "! time", "time !", "time time", "time -x", "\\time", "\\time -p", "\\time -o g", "\\time -f x") + " " + g.started()
	case 9:
		return g.pick("eval", "eval --", "builtin eval", "command eval", "eval eval") + " " + g.pick(g.quoteFor(g.command()), g.word(), "$x", "\"$x\"", "'$x'", "\\$x", "x=1 marker", "'x=1' marker", "\"$(echo marker)\"")
	case 10:
		return g.pick("sh", "bash", "dash", "bash -s", "sh -s x", "bash -", "sh -e", "bash /dev/stdin", "env bash", "exec bash", "bash -c bash", "xargs bash -c") + g.pick(" <<< ", " <<< ") + g.pick(g.quoteFor(g.command()), "marker", "$x", "\"$x\"")
	case 11:
		return g.pick("sh", "bash", "bash -s", "cat", "env sh", "exec sh") + " <<" + g.pick("E", "'E'", "-E", "\\E") + "\n" + g.command() + "\nE"
	case 12:
		return g.pick("echo ", "printf ", "printf '%s\\n' ", "echo -e ", "cat f; echo ") + g.pick("marker", g.quoteFor(g.command()), g.word()) + " | " + g.pick("sh", "bash", "bash -s", "cat | sh", "env sh", "tee g | sh", "xargs", "xargs -I{} {}", "while read l; do $l; done", "{ read x; $x; }", "(read x; eval \"$x\")", "source /dev/stdin", ". /dev/stdin", "mapfile x", "xargs -I{} sh -c {}")
	case 13:
		return g.pick("echo marker > s; ", "printf marker > s; ", "cat > s <<< marker; ", "echo marker | tee s; ", "cp f s; echo marker >> s; ") + g.pick(". ./s", "source s", "bash s", "sh ./s", "chmod +x s; ./s", "bash < s", "$(cat s)", "eval \"$(cat s)\"", "BASH_ENV=s bash -c :", "env BASH_ENV=./s bash -c true", "bash --rcfile s -i -c :", "mapfile -C \"$(< s)\" -c 1 z < f", "export BASH_ENV=s; bash -c :", "ENV=s dash -i -c :", "cat s | sh", "xargs < s", "xargs -a s env", "read x < s; $x", "x=$(< s); $x")
	case 14:
		return g.pick("ionice -c 3 ", "ionice ", "ionice -c3 -t ", "chrt -i 0 ", "chrt -b 0 ", "chrt 0 ", "taskset 1 ", "taskset -c 0 ", "flock g ", "flock -n g ", "flock -w 1 g ", "flock g -c ", "flock -c ", "script -qc ", "script -c ", "script g -c ", "script -q g -c ") + g.pick(g.started(), g.quoteFor(g.command()))
	case 15:
		return g.pick("sed ", "sed -n ", "sed -e ", "sed -n -e ", "sed -E ", "sed -s ") + g.pick("'1e marker'", "'s/.*/marker/e'", "e", "'$e marker'", "'s/a/b/w ../outside/x'", "'w g'", "p", "-e '1e marker'", "-f s", "'1!G;h;$!d'", "'s/x/marker/ge'", "--expression='1e marker'", "-i p", "'r ../outside/o'", "--in-place=.b p") + g.pick(" f", " < f", "")
	case 16:
		return g.pick("awk ", "gawk ", "awk -F: ", "awk -v x=1 ", "awk -- ") + g.pick("'BEGIN{system(\"marker\")}'", "'{print | \"marker\"}'", "'BEGIN{\"marker\" | getline}'", "'{print > \"../outside/x\"}'", "-f s", "'{print $1}'", "'BEGIN{x=\"marker\"; system(x)}'", "'BEGIN{print \"x\" > \"/dev/stderr\"}'", "-e 'BEGIN{system(\"marker\")}'", "'1' x=1", "--source 'BEGIN{system(\"marker\")}'", "-E s", "'BEGIN { while (\"marker\" | getline) ; }'") + g.pick(" f", " < f", "")
	case 17:
		return g.pick("perl ", "perl -w ") + g.pick("-e 'system(\"marker\")'", "-ne 'print' f", "-pi -e 's/a/b/' f", "-MPOSIX -e 1", "s", "-le 'exec \"marker\"'")
	case 18:
		return g.pick("tar cf g f --checkpoint=1 --checkpoint-action=exec=marker", "tar cf - f --to-command=marker", "tar -I marker -cf g f", "tar cf g --use-compress-program marker f", "tar --checkpoint=1 --checkpoint-act exec=marker -cf g f", "split --filter=marker f", "split --filter marker f", "sort --compress-program=marker f", "sort -S 1b --compress-prog marker f", "tar cf g f -F marker -L 1", "tar -cIf marker g", "tar xf g --to-comm=marker", "rsync -e marker f x:y", "rsync -emarker f x:y", "tar cf x:g f --rsh-command=marker", "tar --rmt-command=marker -cf x:g f")
	}
	return g.files()
}

// path is a name inside, or one beside.
func (g *scriptMaker) path() string {
	return g.pick("f", "d", "d/x", "g", "./g", "l", "l/x", "lf", "../outside/x", "../outside", "../outside/o", "$PWD/g", "\"$PWD\"/../outside/x", "~/x", "~", "$HOME/x", "..", "../work/g", "d/../g", "l/../outside/x", "*", "*/x", "?", "[fg]", "{g,../outside/x}", "$x", "\"$x\"", "$OLDPWD/x", "$(pwd)/g",
		"`pwd`/../outside/x", "'../outside/x'", "..\"/outside\"/x", "$'../outside/x'", "../out*/x", "../o*/o", "d/", "l/", "-- g", "--target-directory=l", "-t l", "-tl", "-t ../outside", "d/y", "~+/g", "~-/x", "g\"\"", ".", "./", "ld/x", "ld", "d/l2/x", "-o l/x", "-ol/x", "--output=l/x", "--output l/x", "if=f", "of=l/x", "of=g", "a=../outside/x", "@l/x")
}

// files is something that touches files.
func (g *scriptMaker) files() string {
	switch g.r.IntN(20) {
	case 0, 1:
		return g.pick("touch", "mkdir", "mkdir -p", "tee", "tee -a", "rm", "rm -r", "rm -f", "rmdir", "truncate -s 0", "chmod 777", "chmod -R 777", "unlink", "mktemp -p", "mktemp", "mktemp -d") + " " + g.path() + g.pick("", " "+g.path()) + " < /dev/null"
	case 2, 3, 4:
		return g.pick("cp", "cp -r", "cp -a", "mv", "ln -s", "ln", "ln -sf", "install", "install -d", "install -D", "cp -t", "mv -t", "cp -T", "cp --parents", "ln -sn", "cp -s", "cp -l", "link", "rsync -a", "cp -rT", "ln -st", "install -t", "cp -P", "cp -L", "cp --target=l", "mv -T", "cp -rs", "ln -r -s", "rsync", "cp -b -S .x", "mv -b") + " " + g.path() + g.pick(" "+g.path(), " "+g.path(), " "+g.path()+" "+g.path(), "")
	case 5:
		return g.pick("cd", "cd --", "cd -P", "cd -L", "pushd", "builtin cd", "command cd", "cd -e -P", "cd -@", "CDPATH=.. cd", "cd ''") + " " + g.path() + g.pick("; ", " && ", " || ", "\n", " & ", " | ") + g.files()
	case 6, 7, 8:
		return g.pick("echo a", "cat f", ":", "", "printf a", "{ echo a; }", "(echo a)", "exec", "eval", "command", "read y", "if :; then echo a; fi", "f() { echo a; }; f", "[[ a ]]", "for i in 1; do echo $i; done", "true", "export y=1", "x=1", "cat") + " " + g.pick(">", ">>", ">|", "&>", "&>>", ">&", "<>", "2>", "3>", "1>", "<", "0<>") + g.pick("", " ") + g.path()
	case 9:
		return "dd if=f of=" + g.path() + " 2>/dev/null"
	case 10:
		return g.pick("sort -o", "sort -uo", "sort --output", "shuf -o", "split f", "csplit f 1 -f", "uniq f", "xxd f", "sort -T", "sed -i p", "sed -n 'w'", "tar cf", "tar czf", "tar -cf", "gzip -k", "gzip -c f >", "base64 f >", "diff f", "head f >", "jq . f >", "cpio -p", "cpio -o -F", "tar xf", "tar -x -C", "tar -C l -cf", "sort f -o", "split -l1 f", "flock", "script -c : ", "time -o", "\\time -o", "nohup echo >") + " " + g.path() + g.pick("", " f", " "+g.path()) + " < /dev/null"
	case 11:
		return "x=" + g.path() + "; " + g.files()
	case 12:
		return "for x in " + g.path() + " " + g.path() + "; do " + g.files() + "; done"
	case 13:
		return g.pick("ls", "echo "+g.path(), "find . ", "find . -name 'f*'", "printf '%s\\n' "+g.path(), "cat f") + " | " + g.pick("xargs ", "xargs -n1 ", "xargs -I{} ", "while read x; do ", "xargs touch ", "xargs cp f ", "xargs cp -t ") + g.pick("touch", "cp f", "touch {}", "cp f {}", "touch $x", "touch \"$x\"", "tee") + g.pick("", "; done", " "+g.path())
	case 14:
		return "find " + g.path() + " " + g.pick("-delete", "-exec touch {} +", "-exec cp f {} \\;", "-fprint "+g.path(), "-name f -delete", "-exec sh -c 'touch \"$1\"' _ {} \\;", "-execdir touch x \\;", "-exec touch {}x \\;", "-fls "+g.path(), "-exec cp f l/x \\;")
	case 15:
		return g.pick("set -- ", "set ") + g.path() + " " + g.path() + "; " + g.pick("touch \"$1\"", "cp f \"$2\"", "touch \"$@\"", "shift; touch $1", "for i; do touch $i; done", "touch $*", "cp $@", "bash -c 'touch \"$1\"' _ \"$1\"", "f() { touch $2; }; f \"$@\"", "touch ${1}")
	case 16:
		return "f() { " + g.files() + "; }; f " + g.path() + "; " + g.pick("touch g", "cp f x", "cd d", ":") + "; " + g.files()
	case 17:
		return g.pick("ln -s ../outside n; ", "mv l n; ", "cp -a l n; ", "ln -s .. n; ", "mkdir n; ", "cp -r d n; ", "ln -sfn ../outside d; ", "rm -rf d; ln -s ../outside d; ", "mv d n; mv l d; ", "cd d; ", "tar cf q l; mkdir n; tar xf q -C n; ") + g.pick("touch n/x", "cp f n", "cp f n/x", "touch n/l/x", "echo a > n/x", "touch n/outside/x", "cd n && touch x", "touch d/x", "cp f d", "tee n/x < f", "mv f n", "touch ../x")
	}
	return g.pick("(", "{ ", "bash -c '", "sh -c '", "env ", "timeout 1 ", "eval ", "! ", "time ", "if true; then ", "command ", "set -e; ", "pwd; ") + "touch " + g.path() + g.pick("", ")", "; }", "'", "; fi")
}

// stateful is what makes values known, and uses them.
func (g *scriptMaker) stateful() string {
	set := g.pick("x=marker", "x=mark; x+=er", "x=(true marker)", "declare x=marker", "declare -n x=y; x=marker", "local x=marker", "export x=marker", "readonly x=marker", "printf -v x %s marker", "read x <<< marker", "read -r y x <<< 'a marker'", "read -a x <<< marker", "mapfile -t x <<< marker", "IFS=a x=marker", "x=y; y=marker",
		"unset x; : ${x:=marker}", "declare -A x=([a]=marker)", "declare -u x=MARKER; declare -l x=MARKER", "typeset x=marker", "let x=1", "x=$(echo marker)", "x=`echo marker`", "set -- marker", "set -- a marker", "set marker", "for x in true marker; do :; done", "f() { x=marker; }; f", "f() { local x=marker; g; }; g() { $x; }; f", "x=true; { x=marker; }",
		"x=true; (x=marker)", "x=true; x=marker true", "x=true; eval x=marker", "x=true; true && x=marker", "x=true; false || x=marker", "x=true; if :; then x=marker; fi", "x=true; while :; do x=marker; break; done", "x=true; case a in a) x=marker;; esac", "x=true; : | x=marker", "x=marker; unset x", "x=marker; x=", "getopts x x", "x='marker a'", "x='mark*'", "set -a; x=marker", "declare -i x=marker", "x=true; read x < s",
		"x=true; trap 'x=marker' DEBUG; :", "BASH_ENV=s", "PATH=.:$PATH", "IFS=k", "x=markker; IFS=k", "y=x; declare \"$y=marker\"", "y=x; export $y=marker", "y=x; printf -v $y marker", "y=x; read $y <<< marker", "declare -g x=marker", "f() { declare -g x=marker; }; f", "f() { local x; x=marker; $x; }; f", "f() { export x=marker; }; f", "set -- true; shift 0; set -- marker", "set -- a b marker; shift 2", "set -- a b marker; shift; shift",
		"x=true; coproc x { :; }", "wait -p x", "x=true; select x in marker; do break; done <<< 1", "shopt -s lastpipe; echo marker | read x", "x=true; f() { unset x; x=marker; }; f", "x=marker; f() { local x=true; unset x; $x; }; f", "alias marker2=marker", "exec {x}>g", "x=true; mapfile x < s", "hash -p $PWD/s true", "readonly x=true; x=marker", "declare -r x=marker; x=true", "HOME=marker", "f() { return; x=true; }; x=marker; f")
	use := g.pick("$x", "\"$x\"", "${x}", "${x[0]}", "${x[1]}", "\"${x[@]}\"", "${!x}", "eval $x", "eval \"$x\"", "$1", "\"$@\"", "$@", "$2", "\"$*\"", "${1}", "bash -c \"$x\"", "bash -c '$x'", "sh -c \"$x\"", "env $x", "env \"$x\"", "$x$y", "${x[a]}", "f() { $x; }; f", "f() { \"$@\"; }; f $x", "f() { $1; }; f \"$x\"", "(${x})", "true | $x", "for i in $x; do $i; done",
		"for i in \"$@\"; do $i; done", "for i; do \"$i\"; done", "case $x in marker) $x;; esac", "bash -c '\"$@\"' _ $x", "bash -c '$0' $x", "bash -c '$1' _ \"$x\"", "xargs <<< $x", "xargs -I{} {} <<< $x", "echo $x | sh", "$x; $x", "[ $x ] && $x", "trap \"$x\" EXIT", "trap '$x' EXIT", "x=true; $x", "unset x; $x", "${x:-true}", "command $x", "exec $x", "~", "$x ''", "''$x", "$x\\\n", "f() { shift; \"$@\"; }; f a $x", "f() { set -- $x; \"$@\"; }; f")
	return set + g.pick("; ", "\n", " && ", "; :; ") + use
}
