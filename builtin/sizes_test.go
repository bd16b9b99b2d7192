package builtin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkSizes runs every path of the file tools on a file of 1 MB and on one of
// 10 MB, and reports how the time grows (growth, at most 15 on a quiet machine) and
// how long the larger one takes.
func BenchmarkSizes(b *testing.B) {
	source := func(size int) string {
		var s strings.Builder
		for i := 0; s.Len() < size; i++ {
			fmt.Fprintf(&s, "func process%d(in []byte) error {\n\tvalue%d := compute(%d)\n\tif err != nil {\n\t\treturn err\n\t}\n}\n\n", i, i*7919%100_003, i%1000)
		}
		return s.String()
	}
	block := func(text string, lines int) string {
		at := strings.Index(text[len(text)*92/100:], "\nfunc ") + len(text)*92/100 + 1
		return strings.Join(strings.SplitAfter(text[at:], "\n")[:lines], "")
	}
	other := func(lines int) string {
		var s strings.Builder
		for i := range lines {
			fmt.Fprintf(&s, "\tabsent%d := nothing(%d)\n", i, i*7)
		}
		return s.String()
	}
	edit := func(old, new string) (string, in) {
		return "edit", in{"filePath": "f", "oldString": old, "newString": new}
	}
	for _, c := range []struct {
		name  string
		fails bool
		call  func(text string) (string, in)
	}{
		{"exact", false, func(text string) (string, in) { return edit(block(text, 20), "x\n") }},
		{"indentation", false, func(text string) (string, in) {
			old := strings.ReplaceAll(block(text, 200), "\t", "    ")
			return edit(old, strings.Replace(old, "return err", "return nil", 1))
		}},
		{"trailing blanks", false, func(text string) (string, in) {
			return edit(strings.ReplaceAll(block(text, 20), "\n", " \n"), "x\n")
		}},
		{"slips", false, func(text string) (string, in) {
			old := strings.Replace(block(text, 60), "value", "vaule", 2)
			old = strings.Replace(old, "vaule", "value", 1)
			return edit(old, old+"x\n")
		}},
		{"absent 1", true, func(string) (string, in) { return edit(other(1), "x") }},
		{"absent 200", true, func(string) (string, in) { return edit(other(200), "x") }},
		{"half there 200", true, func(text string) (string, in) { return edit(block(text, 100)+other(100), "x") }},
		{"ambiguous", true, func(string) (string, in) { return edit("\t\treturn err\n", "x") }},
		{"replace all", false, func(string) (string, in) {
			return "edit", in{"filePath": "f", "oldString": "compute(", "newString": "calculate(", "replaceAll": true, "expectedCount": -1}
		}},
		{"multiedit", false, func(text string) (string, in) {
			return "multiedit", in{"filePath": "f", "edits": []in{{"oldString": block(text, 5), "newString": "x\n"}, {"oldString": "func process3(", "newString": "func p3("}}}
		}},
		{"apply_patch", false, func(text string) (string, in) {
			lines := strings.SplitAfter(block(text, 12), "\n")
			return "apply_patch", in{"patchText": "*** Begin Patch\n*** Update File: f\n@@\n " + strings.Join(lines[:6], " ") + "-" + lines[6] + "+x\n " + lines[7] + "*** End Patch"}
		}},
		{"write", false, func(text string) (string, in) { return "write", in{"filePath": "g", "content": text[:len(text)-1]} }},
		{"read the end", false, func(string) (string, in) { return "read", in{"filePath": "f", "offset": -50} }},
		{"read the middle", false, func(text string) (string, in) {
			return "read", in{"filePath": "f", "offset": strings.Count(text, "\n") / 2, "limit": 50}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for k, size := range []int{1 << 20, 10 << 20} {
					bn := newBench(b, "", Config{Limits: Limits{WriteBytes: 64 << 20, ReadBytes: 64 << 20}})
					bn.ts.writer.NoSync = true
					text := source(size)
					name, input := c.call(text)
					if input["expectedCount"] == -1 {
						input["expectedCount"] = strings.Count(text, "compute(")
					}
					for try := range 3 {
						bn.put("f", text)
						if name == "edit" {
							bn.ok("read", in{"filePath": "f", "ranges": []in{{"offset": strings.Count(text, "\n") * 90 / 100, "limit": 1 << 20}}})
						}
						start := time.Now()
						_, err := bn.run(name, input)
						d := time.Since(start)
						require.Equal(b, c.fails, err != nil, "%v", err)
						if try == 0 || d < took[k] {
							took[k] = d
						}
						if name == "write" {
							text = text[1:]
							input["content"] = text
							bn.ok("read", in{"filePath": "g", "limit": 1 << 20})
						}
					}
				}
			}
			b.ReportMetric(float64(took[1])/float64(took[0]), "growth")
			b.ReportMetric(float64(took[1].Microseconds())/1000, "ms_10MB")
		})
	}
}
