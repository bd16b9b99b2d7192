package builtin

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const book = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"x": 1.50},
   "source": "# Titel \u00e4\nText"
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["\u001b[31mred\u001b[0m\n"]},
    {"output_type": "execute_result", "data": {"text/html": ["<table><tr><td>1</td><td>a&amp;b</td></tr></table>"]}, "execution_count": 3, "metadata": {}}
   ],
   "source": [
    "x = 1\n",
    "print(x)"
   ]
  }
 ],
 "metadata": {"kernelspec": {"language": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestReadNotebook(t *testing.T) {
	b := newBench(t, "", Config{})
	b.put("n.ipynb", book)
	assert.Equal(t, `(notebook, 2 cells, python; change a cell with edit and cell, by its id or number)

[intro|1] markdown
# Titel ä
Text

[calc|2] code (run 3)
x = 1
print(x)
--- output: stdout
red
--- output: execute_result
1	a&b`, b.ok("read", in{"filePath": "n.ipynb"}))
	assert.Contains(t, b.ok("read", in{"filePath": "n.ipynb", "raw": true}), "1\t{\n2\t \"cells\": [\n")
	assert.Contains(t, b.ok("read", in{"filePath": "n.ipynb", "limit": 1}), `[PARTIAL cells 1-1 of 2. Next: read {"filePath":"n.ipynb","limit":1,"offset":2}]`)
	b.put("broken.ipynb", "{")
	assert.Contains(t, b.ok("read", in{"filePath": "broken.ipynb"}), "1\t{")
	b.put("long.ipynb", `{"cells":[{"cell_type":"code","source":[],"outputs":[{"output_type":"stream","text":"`+strings.Repeat("y", 5000)+`"},{"output_type":"display_data","data":{"image/png":"`+base64.StdEncoding.EncodeToString([]byte("x"))+`"}}]}],"nbformat":4}`)
	text := b.ok("read", in{"filePath": "long.ipynb"})
	assert.Contains(t, text, "yyy… [+2952 bytes; see them with raw]")
	assert.Contains(t, text, "(image/png, 1 bytes, not shown)")
}

// TestEditNotebook (NB-2, NB-3): only the cell changes, down to the last byte.
func TestEditNotebook(t *testing.T) {
	b := newBench(t, "", Config{})
	for _, c := range []struct {
		name     string
		input    in
		old, new string // what of the file becomes what; old "" means a refusal with new
	}{
		{"list", in{"cell": "calc", "oldString": "x = 1", "newString": "x = 2\ny = 3"}, `    "x = 1\n",`, "    \"x = 2\\n\",\n    \"y = 3\\n\","},
		{"string keeps its escapes", in{"cell": 1, "oldString": "Text", "newString": "Téxt"}, `\nText"`, `\nT\u00e9xt"`},
		{"by number as a string", in{"cell": "2", "oldString": "print(x)", "newString": "print(y)"}, `"print(x)"`, `"print(y)"`},
		{"replace", in{"cell": 2, "cellAction": "replace", "newString": "pass\n"}, "[\n    \"x = 1\\n\",\n    \"print(x)\"\n   ]", "[\n    \"pass\"\n   ]"},
		{"clear", in{"cell": 2, "cellAction": "clear-outputs"}, "\"execution_count\": 3,\n   \"id\"", "\"execution_count\": null,\n   \"id\""},
		{"not found", in{"cell": 2, "oldString": "nope", "newString": "x"}, "", "cell 2: oldString was not found"},
		{"no such cell", in{"cell": 9, "oldString": "x", "newString": "y"}, "", "The notebook has 2 cells, counted from 1; their ids are intro calc"},
		{"no cell", in{"cellAction": "delete"}, "", "/cell"},
		{"empty old", in{"cell": 1, "oldString": "", "newString": "y"}, "", "set cellAction to replace"},
		{"lines", in{"cell": 1, "insertLine": 1, "oldString": "", "newString": "y"}, "", "do not go together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.put("n.ipynb", book)
			b.ok("read", in{"filePath": "n.ipynb"})
			c.input["filePath"] = "n.ipynb"
			if c.old == "" {
				assert.Contains(t, b.fails("edit", c.input), c.new)
				assert.Equal(t, book, b.file("n.ipynb"))
				return
			}
			text := b.ok("edit", c.input)
			require.Equal(t, 1, strings.Count(book, c.old))
			want := strings.Replace(book, c.old, c.new, 1)
			if c.name == "clear" {
				i, j := strings.Index(want, `"outputs": [`), strings.Index(want, "\n   ],\n   \"source\": [\n    \"x")
				want = want[:i] + `"outputs": []` + want[j+len("\n   ]"):]
			} else if c.input["cell"] != 1 {
				assert.Contains(t, text, "keeps the outputs of its old text")
			}
			assert.Equal(t, want, b.file("n.ipynb"))
			b.ok("edit", in{"filePath": "n.ipynb", "undo": true})
			assert.Equal(t, book, b.file("n.ipynb"))
		})
	}
	t.Run("insert and delete", func(t *testing.T) {
		b.put("n.ipynb", book)
		assert.Contains(t, b.ok("edit", in{"filePath": "n.ipynb", "cell": 0, "cellAction": "insert-code", "newString": "a = 1\nb = 2"}), "cell 1 now:\na = 1\nb = 2")
		b.ok("edit", in{"filePath": "n.ipynb", "cell": "calc", "cellAction": "insert-markdown", "newString": "end"})
		assert.Contains(t, b.ok("read", in{"filePath": "n.ipynb"}), "|4] markdown\nend")
		b.ok("edit", in{"filePath": "n.ipynb", "cell": 1, "cellAction": "delete"})
		b.ok("edit", in{"filePath": "n.ipynb", "cell": 3, "cellAction": "delete"})
		assert.Equal(t, book, b.file("n.ipynb"), "nothing else was touched")
	})
	t.Run("several cells at once", func(t *testing.T) {
		b.put("n.ipynb", book)
		b.ok("multiedit", in{"filePath": "n.ipynb", "edits": []in{
			{"cell": "calc", "oldString": "x = 1", "newString": "x = 7"}, {"cell": 1, "oldString": "Text", "newString": "Wort"}, {"cell": "calc", "oldString": "print(x)", "newString": "show(x)"},
		}})
		want := strings.NewReplacer(`"x = 1\n"`, `"x = 7\n"`, `\nText"`, `\nWort"`, `"print(x)"`, `"show(x)"`).Replace(book)
		assert.Equal(t, want, b.file("n.ipynb"))
		assert.Contains(t, b.fails("multiedit", in{"filePath": "n.ipynb", "edits": []in{{"cell": 1, "oldString": "Wort", "newString": "x"}, {"oldString": "nbformat", "newString": "x"}}}), "some edits name a cell")
	})
	b.put("t.txt", "no notebook")
	assert.Contains(t, b.fails("edit", in{"filePath": "t.txt", "cell": 1, "oldString": "no", "newString": "x"}), "leave out cell")
}
