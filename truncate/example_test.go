package truncate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/agenttool/tool/truncate"
)

func listing(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "file%02d.go\n", i+1)
	}
	return b.String()
}

func ExamplePolicy_Apply() {
	p := truncate.Policy{MaxLines: 3}
	cut := p.Apply(context.Background(), listing(9))
	fmt.Println(cut.Text)
	fmt.Println(cut.Truncated, cut.NextLine)
	// Output:
	// file01.go
	// file02.go
	// file03.go
	// [6 lines, 60 bytes omitted; the full text was not kept.]
	// true 4
}

// Both ends of a log, and the errors between them.
func ExamplePolicy_errors() {
	log := listing(50) + "main.go:7: error: undefined: x\n" + listing(50)
	p := truncate.Policy{Keep: truncate.HeadTail, MaxLines: 4, Errors: 20}
	fmt.Print(p.Apply(context.Background(), log).Text)
	// Output:
	// file01.go
	// file02.go
	// [97 lines, 991 bytes omitted; the full text was not kept. Lines in it that look like errors:
	// 51: main.go:7: error: undefined: x
	// ]
	// file49.go
	// file50.go
}

// The hint names the next call; only the caller knows which tools there are.
func ExamplePolicy_hint() {
	dir, err := os.MkdirTemp("", "full")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := truncate.OpenStore(dir, nil)
	if err != nil {
		panic(err)
	}
	defer store.Close()

	p := truncate.Policy{MaxLines: 1, Spill: store, Hint: func(c truncate.Cut) string {
		return fmt.Sprintf("Use read with filePath=%q offset=%d.", c.Path, c.NextLine)
	}}
	cut := p.Apply(context.Background(), listing(3))
	full, err := os.ReadFile(cut.Path)
	fmt.Println(strings.ReplaceAll(cut.Text, cut.Path, "PATH"))
	fmt.Println(len(full), err)
	// Output:
	// file01.go
	// [2 lines, 20 bytes omitted; full text stored. Use read with filePath="PATH" offset=2.]
	// 30 <nil>
}

func ExampleStore() {
	dir, err := os.MkdirTemp("", "full")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := truncate.OpenStore(dir, &truncate.StoreOptions{MaxFile: 10})
	if err != nil {
		panic(err)
	}
	f, err := store.Create(context.Background())
	if err != nil {
		panic(err)
	}
	io.WriteString(f, "more than ten bytes")
	fmt.Println(f.Close())

	store.Close()
	_, err = store.Create(context.Background())
	fmt.Println(errors.Is(err, truncate.ErrClosed))
	// Output:
	// only the first 10 of 19 bytes were stored
	// true
}

func ExampleCollector() {
	c := truncate.NewCollector(&truncate.CollectorOptions{Fold: 4})
	fmt.Fprint(c, "start\n", strings.Repeat("waiting\n", 500))
	fmt.Printf("%q\n", c.Snapshot(10).Text)

	seen := c.Since(0, 6)
	fmt.Printf("%q %d of %d\n", seen.Text, seen.Next, seen.End)

	fmt.Fprint(c, "done\n")
	c.End()
	fmt.Print(c.Cut(context.Background(), truncate.Policy{}).Text)
	c.Close()
	// Output:
	// "waiting\n"
	// "start\n" 6 of 4006
	// start
	// waiting
	// … ×500
	// done
}

func ExampleEstimateTokens() {
	fmt.Println(truncate.EstimateTokens("func main() {}"), truncate.EstimateTokens("日本語"))
	// Output: 4 3
}
