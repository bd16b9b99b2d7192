package notebook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agenttool/tool/internal/notebook"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const spread = `{
  "cells": [
    {"cell_type": "raw", "metadata": {}, "source": "s"},
    {
      "cell_type": "code",
      "execution_count": null,
      "id": "two",
      "metadata": {},
      "outputs": [],
      "source": [
        "a\n",
        "b"
      ]
    }
  ],
  "nbformat": 4, "nbformat_minor": 5, "big": 1e400
}`

const compact = `{"cells":[{"cell_type":"code","source":["a\n","b"],"outputs":[{"output_type":"error","ename":"E","evalue":"v","traceback":[]}]},{"cell_type":"markdown","source":[]}],"nbformat":4,"nbformat_minor":2}`

func apply(src string, spans ...notebook.Span) string {
	for i := len(spans) - 1; i >= 0; i-- {
		src = src[:spans[i].Start] + spans[i].New + src[spans[i].End:]
	}
	return src
}

func parse(t testing.TB, src string) *notebook.Notebook {
	n, err := notebook.Parse(src)
	require.NoError(t, err, "%s", src)
	return n
}

func TestParse(t *testing.T) {
	n := parse(t, compact)
	assert.Equal(t, "a\nb", n.Cells[0].Source)
	assert.Equal(t, "E: v", n.Cells[0].Outputs[0].Data["text/plain"])
	for _, bad := range []string{"", "[]", "{}", `{"cells":{}}`, `{"cells":[1]}`, `{"cells":[{}]}`, `{"cells":[{"source":[1]}]}`, strings.Repeat("[", 300) + strings.Repeat("]", 300)} {
		_, err := notebook.Parse(bad)
		require.ErrorIs(t, err, notebook.ErrNotebook, bad)
	}
	_, err := n.Find("0")
	require.ErrorIs(t, err, notebook.ErrCell)
	i, err := parse(t, spread).Find("two")
	require.NoError(t, err)
	assert.Equal(t, 1, i)
}

func TestChanges(t *testing.T) {
	s, c := parse(t, spread), parse(t, compact)
	assert.Equal(t, strings.Replace(spread, `"b"`, `"<b>"`, 1), apply(spread, s.SetSource(1, "a\n<b>")))
	assert.Equal(t, strings.Replace(spread, "[\n        \"a\\n\",\n        \"b\"\n      ]", "[]", 1), apply(spread, s.SetSource(1, "")))
	assert.Equal(t, strings.Replace(compact, `"source":[]`, `"source":["x\n","y"]`, 1), apply(compact, c.SetSource(1, "x\ny")))
	assert.Equal(t, `{"cells":[{"cell_type":"markdown","source":[]}],"nbformat":4,"nbformat_minor":2}`, apply(compact, c.Delete(0)))
	assert.Contains(t, apply(compact, c.Insert(1, "code", "z")), `]},{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":["z"]},{"cell`, "no id where the format has none")
	id := parse(t, apply(spread, s.Insert(2, "markdown", "z"))).Cells[2].ID
	assert.Len(t, id, 8)
	assert.Equal(t, apply(spread, s.Insert(2, "markdown", "z")), apply(spread, s.Insert(2, "markdown", "z")), "the same twice, so that what is shown is what is written")
	assert.Empty(t, s.ClearOutputs(1))
	one := parse(t, `{"cells":[{"source":""}],"nbformat":4}`)
	empty := apply(`{"cells":[{"source":""}],"nbformat":4}`, one.Delete(0))
	assert.Equal(t, `{"cells":[],"nbformat":4}`, empty)
	assert.Equal(t, "x", parse(t, apply(empty, parse(t, empty).Insert(0, "raw", "x"))).Cells[0].Source)
}

func ExampleNotebook_SetSource() {
	src := `{"cells":[{"cell_type":"code","source":["a = 1\n","b = 2"]}],"nbformat":4}`
	n, err := notebook.Parse(src)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := n.SetSource(0, "a = 1\nb = 3")
	fmt.Println(src[:s.Start] + s.New + src[s.End:])
	// Output: {"cells":[{"cell_type":"code","source":["a = 1\n","b = 3"]}],"nbformat":4}
}

// FuzzNotebook: a change of one cell says what it should and leaves all others and
// everything outside of its span alone.
func FuzzNotebook(f *testing.F) {
	f.Add(spread, "x\n\ny", 1)
	f.Add(compact, "ä \u2028 \\ \" \x00", 0)
	f.Add(`{"cells":[{"source":"\u00e4\ud83d\ude00\\n"}],"nbformat":4}`, "😀\n", 0)
	f.Add("{\n\t\"cells\": []\n}", "x", 0)
	f.Fuzz(func(t *testing.T, src, source string, k int) {
		n, err := notebook.Parse(src)
		if err != nil || !utf8.ValidString(src) || !utf8.ValidString(source) {
			return
		}
		i := 0
		if len(n.Cells) > 0 {
			i = ((k % len(n.Cells)) + len(n.Cells)) % len(n.Cells)
			require.Equal(t, n.Cells[i].Source, parse(t, apply(src, n.SetSource(i, n.Cells[i].Source))).Cells[i].Source)
			out := apply(src, n.SetSource(i, source))
			require.True(t, json.Valid([]byte(out)), out)
			m := parse(t, out)
			require.Len(t, m.Cells, len(n.Cells))
			for j := range m.Cells {
				want := n.Cells[j].Source
				if j == i {
					want = source
				}
				require.Equal(t, want, m.Cells[j].Source)
			}
			require.Len(t, parse(t, apply(src, n.Delete(i))).Cells, len(n.Cells)-1)
			parse(t, apply(src, n.ClearOutputs(i)...))
			i++
		}
		m := parse(t, apply(src, n.Insert(i, "code", source)))
		require.Len(t, m.Cells, len(n.Cells)+1)
		require.Equal(t, source, m.Cells[i].Source)
		if len(n.Cells) > 0 { // an empty list does not keep its blanks
			require.Equal(t, src, apply(apply(src, n.Insert(i, "code", source)), m.Delete(i)), "an insertion taken back")
		}
	})
}
