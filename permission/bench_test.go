package permission

import (
	"fmt"
	"testing"

	"github.com/agenttool/tool"
)

// BenchmarkApprove is what a request costs that rules allow, which is nearly every one.
func BenchmarkApprove(b *testing.B) {
	for _, n := range []int{1, 50} {
		rules := Ruleset{{"*", "*", Allow}}
		for i := range n - 1 {
			rules = append(rules, Rule{"bash", fmt.Sprintf("cmd%d *", i), Ask})
		}
		g := &Gate{Rules: rules}
		req := &tool.Request{ID: "perm_1", Permission: "bash", Patterns: []string{"git status"}, Always: []string{"git status *"}}
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Approve(b.Context(), nil, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
