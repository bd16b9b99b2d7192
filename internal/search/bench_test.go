package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agenttool/tool/internal/search/ignore"
)

// corpora are the directories in SEARCH_CORPORA (a path list), by default the
// sources of the Go distribution.
func corpora(tb testing.TB) map[string]string {
	list := filepath.SplitList(os.Getenv("SEARCH_CORPORA"))
	if len(list) == 0 {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			tb.Skip("no GOROOT: ", err)
		}
		list = []string{filepath.Join(strings.TrimSpace(string(out)), "src")}
	}
	m := map[string]string{}
	for _, dir := range list {
		m[filepath.Base(dir)] = dir
	}
	return m
}

// benchCase is a pattern with the class that the ratio goals know.
type benchCase struct {
	name, class, expr string
	fold              bool
}

var benchCases = []benchCase{
	{"lit-none", "literal", `zqxjkvbnmwzq`, false},
	{"lit-rare", "literal", `NewTextHandler`, false},
	{"lit-mid", "literal", `context\.Context`, false},
	{"lit-common", "common", `return`, false},
	{"icase-rare", "fold", `deadlock`, true},
	{"icase-common", "fold", `error`, true},
	{"word", "word", `\bcontext\b`, false},
	{"alternation", "alternation", `TODO|FIXME|XXX|HACK`, false},
	{"five", "alternation", `json\.Marshal|xml\.Marshal|gob\.NewEncoder|asn1\.Marshal|yaml\.Marshal`, false},
	{"icase-alternation", "foldalternation", `(password|secret|token)\s*[:=]`, true},
	{"func-ctx", "regex", `func\s+\w+\(ctx`, false},
	{"suffix", "regex", `\w+Handler\(`, false},
	{"dotstar", "regex", `func.*error.*\{$`, false},
	{"anchored", "anchored", `^func `, false},
	{"method", "anchored", `^func \(\w+ \*?\w+\) \w+\(`, false},
	{"class", "noliteral", `[a-z]{3}\d{4}`, false},
	{"ipv4", "noliteral", `\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`, false},
	{"camel", "noliteral", `[A-Z][a-z]+[A-Z][a-z]+[0-9]`, false},
	{"quoted", "noliteral", `"[^"]{60,}"`, false},
	{"longword", "noliteral", `\w{40,}`, false},
	{"trailing", "noliteral", `[ \t]+$`, false},
	{"greek", "noliteral", `\p{Greek}`, false},
	{"han", "noliteral", `\p{Han}{2,}`, false},
}

func (c benchCase) query() Query {
	q := Query{Pattern: c.expr, Limit: -1, MaxPerFile: -1, LineWidth: -1}
	if c.fold {
		q.Case = 1
	}
	return q
}

func openRoot(tb testing.TB, dir string) *os.Root {
	root, err := os.OpenRoot(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { root.Close() })
	return root
}

func BenchmarkList(b *testing.B) {
	for name, dir := range corpora(b) {
		b.Run(name, func(b *testing.B) {
			e, root := New(Options{}), openRoot(b, dir)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				l, err := e.Files(b.Context(), root, Scope{})
				require.NoError(b, err)
				n = len(l.Paths)
			}
			perFile(b, n)
		})
	}
}

func BenchmarkListTop100(b *testing.B) {
	for name, dir := range corpora(b) {
		b.Run(name, func(b *testing.B) {
			e, root := New(Options{}), openRoot(b, dir)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r, err := e.Glob(b.Context(), root, GlobQuery{Pattern: "**"})
				require.NoError(b, err)
				n = r.Total
			}
			perFile(b, n)
		})
	}
}

// perFile reports what a benchmark did for each file.
func perFile(b *testing.B, files int) {
	b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(files), "files")
}

func benchGrep(b *testing.B, change func(*Query)) {
	for name, dir := range corpora(b) {
		for _, c := range benchCases {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				e, root := New(Options{}), openRoot(b, dir)
				q := c.query()
				change(&q)
				b.ReportAllocs()
				var r *Result
				for b.Loop() {
					var err error
					r, err = e.Grep(b.Context(), root, q)
					require.NoError(b, err)
				}
				b.SetBytes(r.Stats.Bytes)
				perFile(b, r.Stats.Files)
				b.ReportMetric(float64(r.Matches), "lines")
			})
		}
	}
}

func top100(q *Query) { q.Limit, q.MaxPerFile, q.LineWidth, q.TotalsWithin = 100, 0, 0, -1 }

func BenchmarkGrep(b *testing.B)       { benchGrep(b, func(*Query) {}) }
func BenchmarkGrepTop100(b *testing.B) { benchGrep(b, top100) }
func BenchmarkGrepInclude(b *testing.B) {
	benchGrep(b, func(q *Query) { q.Include = []string{"*.go"} })
}

// BenchmarkPortable is the walk on os.Root alone, as on systems without one of
// their own.
func BenchmarkPortable(b *testing.B) {
	for name, dir := range corpora(b) {
		for _, portable := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/portable=%v", name, portable), func(b *testing.B) {
				e, root := New(Options{portable: portable}), openRoot(b, dir)
				cpu := cpuTime()
				for b.Loop() {
					_, err := e.Grep(b.Context(), root, benchCases[1].query())
					require.NoError(b, err)
				}
				b.ReportMetric(float64((cpuTime()-cpu).Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkCancel reports how long a search goes on after it was cancelled.
func BenchmarkCancel(b *testing.B) {
	for name, dir := range corpora(b) {
		for _, expr := range []string{`return`, `(?:[a-z]{0,200}){1,5}!`, `(?s)func.*nothing like it`} {
			b.Run(name+"/"+expr, func(b *testing.B) {
				e, root := New(Options{}), openRoot(b, dir)
				var worst, sum time.Duration
				for b.Loop() {
					ctx, cancel := context.WithCancel(b.Context())
					at := make(chan time.Time, 1)
					time.AfterFunc(15*time.Millisecond, func() { at <- time.Now(); cancel() })
					_, err := e.Grep(ctx, root, Query{Pattern: expr, Multiline: strings.HasPrefix(expr, "(?s)")})
					late := time.Since(<-at)
					require.True(b, err != nil || late < time.Second)
					worst, sum = max(worst, late), sum+late
				}
				b.ReportMetric(float64(worst.Microseconds())/1e3, "worst-ms")
				b.ReportMetric(float64(sum.Microseconds())/1e3/float64(b.N), "mean-ms")
			})
		}
	}
}

func ripgrep(tb testing.TB) string {
	rg, err := exec.LookPath("rg")
	if err != nil {
		tb.Skip("rg is not in PATH")
	}
	return rg
}

func (c benchCase) args(dir string) []string {
	args := []string{"-n", "--no-heading", "--hidden", "-g", "!.git", "--no-messages"}
	if c.fold {
		args = append(args, "-i")
	}
	return append(args, "-e", c.expr, dir)
}

// runRipgrep reads the output to its end, as whoever spawns it must.
func runRipgrep(rg string, args []string) (int, time.Duration, error) {
	cmd := exec.Command(rg, args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return 0, 0, err
	}
	return bytes.Count(out.Bytes(), newline), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func BenchmarkRipgrep(b *testing.B) {
	rg := ripgrep(b)
	for name, dir := range corpora(b) {
		for _, c := range benchCases {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				n := 0
				for b.Loop() {
					var err error
					n, _, err = runRipgrep(rg, c.args(dir))
					require.NoError(b, err)
				}
				b.ReportMetric(float64(n), "lines")
			})
		}
	}
}

func BenchmarkIgnore(b *testing.B) {
	r := ignore.Parse([]byte("node_modules/\ndist/\n*.log\n/coverage\n.env\n*.pyc\n__pycache__/\ntarget/\n*.class\nvendor/\n*.swp\n*~\n**/generated/*.go\npackages/*/lib\nnpm-debug.log*\n!keep.log\n"))
	l := &ignore.Level{Repository: true, GitIgnore: r}
	p := []byte("src/internal/search/ignore.go")
	for b.Loop() {
		l.Match(p, false)
	}
}

// goals are medians of wall time against ripgrep for trees of less than 1 MB, about 10 MB,
// about 100 MB and more, and what must never be exceeded.
var goals = map[string]struct {
	bySize [4]float64
	never  float64
}{
	"list":            {[4]float64{.15, .2, .3, .3}, .5},
	"literal":         {[4]float64{.2, .4, .65, .75}, .9},
	"common":          {[4]float64{.2, .4, .5, .55}, .8},
	"fold":            {[4]float64{.2, .45, .7, .8}, 1},
	"word":            {[4]float64{.2, .4, .6, .65}, .9},
	"alternation":     {[4]float64{.2, .45, .75, .85}, 1},
	"foldalternation": {[4]float64{.25, .55, .8, .9}, 1},
	"regex":           {[4]float64{.2, .45, .7, .75}, .9},
	"anchored":        {[4]float64{.2, .4, .65, .7}, .9},
	"noliteral":       {[4]float64{.2, .5, .6, .6}, .8},
	"top-common":      {[4]float64{.2, .2, .2, .2}, .4},
	"top":             {[4]float64{.2, .5, .7, .8}, .95},
	"include":         {[4]float64{.2, .3, .4, .55}, .8},
}

// sizeClass is which of the goals holds for a tree.
func sizeClass(bytes int64) int {
	switch mb := bytes >> 20; {
	case mb < 2:
		return 0
	case mb < 30:
		return 1
	case mb < 250:
		return 2
	}
	return 3
}

// TestSearchRatio compares with ripgrep in interleaved pairs. It is for release
// figures: set SEARCH_RATIO to run it.
func TestSearchRatio(t *testing.T) {
	if os.Getenv("SEARCH_RATIO") == "" {
		t.Skip("set SEARCH_RATIO=1 to compare with ripgrep")
	}
	rg := ripgrep(t)
	for name, dir := range corpora(t) {
		e, root := New(Options{}), openRoot(t, dir)
		ctx := context.Background()
		all, err := e.Grep(ctx, root, benchCases[0].query())
		require.NoError(t, err)
		t.Logf("%s: %d files, %.1f MB; %s", name, all.Stats.Searched, float64(all.Stats.Bytes)/1e6, version(rg))
		size := sizeClass(all.Stats.Bytes)
		pair := func(label, class string, args []string, ours func() int) {
			t.Run(name+"/"+label, func(t *testing.T) { comparePair(t, rg, name, label, class, size, args, ours) })
		}
		base := []string{"--hidden", "-g", "!.git", "--no-messages"}
		pair("list, newest 100", "list", append([]string{"--files"}, append(base, dir)...), func() int {
			r, err := e.Glob(ctx, root, GlobQuery{Pattern: "**"})
			require.NoError(t, err)
			return r.Total
		})
		pair("list", "list", append([]string{"--files"}, append(base, dir)...), func() int {
			l, err := e.Files(ctx, root, Scope{})
			require.NoError(t, err)
			return len(l.Paths)
		})
		for _, c := range benchCases {
			pair(c.name, c.class, c.args(dir), func() int {
				r, err := e.Grep(ctx, root, c.query())
				require.NoError(t, err)
				return r.Matches
			})
		}
		for _, c := range benchCases {
			class := "top"
			if c.class == "common" || c.name == "icase-common" {
				class = "top-common"
			}
			pair(c.name+", newest 100", class, c.args(dir), func() int {
				q := c.query()
				top100(&q)
				r, err := e.Grep(ctx, root, q)
				require.NoError(t, err)
				return len(r.Files)
			})
		}
		c := benchCases[1]
		for _, glob := range []string{"*.go", "*.{md,txt}"} {
			pair(c.name+", "+glob, "include", append([]string{"-g", glob}, c.args(dir)...), func() int {
				q := c.query()
				q.Include = []string{glob}
				r, err := e.Grep(ctx, root, q)
				require.NoError(t, err)
				return r.Matches
			})
		}
		runtime.GC()
	}
}

func version(rg string) string {
	out, err := exec.Command(rg, "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil {
		return err.Error()
	}
	return line
}

// comparePair runs both in turn, the order swapped each time: nine times, or as
// often as SEARCH_RATIO says.
func comparePair(t *testing.T, rg, corpus, label, class string, size int, args []string, ours func() int) {
	rounds := 9
	if n, err := strconv.Atoi(os.Getenv("SEARCH_RATIO")); err == nil && n > 1 {
		rounds = n
	}
	var wall, cpu, rgWall, ourWall []float64
	for i := range rounds {
		one := func() (float64, float64) {
			begin, c := time.Now(), cpuTime()
			ours()
			return time.Since(begin).Seconds(), (cpuTime() - c).Seconds()
		}
		other := func() (float64, float64) {
			begin := time.Now()
			_, c, err := runRipgrep(rg, args)
			require.NoError(t, err)
			return time.Since(begin).Seconds(), c.Seconds()
		}
		var a, ac, b, bc float64
		if i%2 == 0 {
			a, ac = one()
			b, bc = other()
		} else {
			b, bc = other()
			a, ac = one()
		}
		wall, cpu = append(wall, a/b), append(cpu, ac/bc)
		rgWall, ourWall = append(rgWall, b*1e3), append(ourWall, a*1e3)
	}
	for _, s := range [][]float64{wall, cpu, rgWall, ourWall} {
		slices.Sort(s)
	}
	w, mid, goal := wall[rounds/2], rounds/2, goals[class]
	verdict := ""
	if w > goal.bySize[size] {
		verdict = fmt.Sprintf("  above the goal of %.2f", goal.bySize[size])
	}
	t.Logf("| %s | %s | %.2f | %.2f | %.1f | %.1f |%s", corpus, label, w, cpu[mid], rgWall[mid], ourWall[mid], verdict)
	if w > goal.never {
		t.Errorf("%s %s: ratio %.2f exceeds %.2f", corpus, label, w, goal.never)
	}
}

// TestSameLinesAsRipgrep compares counts on the corpora; SEARCH_RATIO runs it.
func TestSameLinesAsRipgrep(t *testing.T) {
	if os.Getenv("SEARCH_RATIO") == "" {
		t.Skip("set SEARCH_RATIO=1 to compare with ripgrep")
	}
	rg := ripgrep(t)
	for _, dir := range corpora(t) {
		e, root := New(Options{}), openRoot(t, dir)
		for _, c := range benchCases {
			args := append([]string{"--no-unicode", "--crlf"}, c.args(dir)...)
			if strings.Contains(c.expr, `\p`) {
				args = args[1:]
			}
			want, _, err := runRipgrep(rg, args)
			require.NoError(t, err)
			r, err := e.Grep(t.Context(), root, c.query())
			require.NoError(t, err)
			t.Logf("%s: %d lines, rg %d", c.name, r.Matches, want)
			if r.Matches != want {
				t.Errorf("%s: %d lines, rg has %d", c.name, r.Matches, want)
			}
		}
	}
}
