package match

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlaceholders(t *testing.T) {
	for _, line := range []string{
		"// ... rest of the code ...", "// ... existing code ...", "# ... rest of the file remains unchanged", "// The rest of the code stays the same",
		"# ... (rest of the file remains unchanged)", "/* existing styles ... */", "// ... other methods ...", "// ... other imports", "# Rest of the code...",
		"// remaining code unchanged", "{/* ... */}", "// keep the rest of the function as is", "... existing code ...", "// ...(no changes)...", "// [unchanged]",
		"<!-- existing content -->", "-- rest of the query ...", "% ... rest of the document ...", "// (same as before)", "// ...rest of code...", "// code omitted for brevity",
		"// implementation remains the same", "// Previous code remains the same", "// ... more code ...", "# (existing code)", "// ...", "# ...", "/* ... */", "// …", "\t// ... unchanged ...",
		"func f() { /* ... */ }", "x := 1 // ... rest of the function", ";; ... rest of function ...", "// ... (truncated)", "// ... same code as above ...", "# ... previous implementation ...",
		"// rest of the implementation", "// ... keep the existing error handling ...", "// ... [remaining lines omitted] ...", "// ... rest unchanged", "// ... rest remains the same ...",
		"// other code stays the same", "// no changes needed here", "// ... code ...", "// ... implementation ...", "# rest of your code here", "// ... and so on",
	} {
		assert.True(t, isPlaceholder(line), line)
	}
	for _, line := range []string{
		"fmt.Println(args...)", "func f(args ...int) {", "return append(a, b...)", "// Wait for the remaining workers.", "// existing is the current value", "x = [...items]", "{...props}",
		"// The rest of the arguments are ignored.", "# This keeps the original order", "print('loading...')", "// loading...", "const [first, ...rest] = list", "case \"...\":", "// TODO: ...and more tests",
		"// unchanged reports whether nothing changed.", "# method resolution order", "// See RFC 1234...", "...", "log(\"the rest of the code ...\")", "// other is compared with the same code as in f", "/* the same */ x()",
	} {
		assert.False(t, isPlaceholder(line), line)
	}
	old := "def f():\n    a()\n    b()\n    c()\n"
	assert.Equal(t, "...", placeholderOnlyIn("def f():\n    ...\n", old), "dots in the place of several lines")
	assert.Empty(t, placeholderOnlyIn("def f(): ...\n", "def f():\n    pass\n"), "dots as code")
	assert.Empty(t, placeholderOnlyIn("// ...\nx\n", "// ...\ny\n"), "dots that were there before")
	assert.NotEmpty(t, placeholderOnlyIn("// ...\nx\n// ...\n", "// ...\ny\n"))
}
