package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const maxFrontMatter = 64 << 10 // bytes

// frontMatter splits a text into the flat keys of the block between two lines of
// "---" at its beginning, and what follows. It reads what people write there of
// YAML: plain, quoted, folded and literal values, lines that go on, and comments.
// Lists and maps are passed over, as no flat key needs them.
func frontMatter(text string) (keys map[string]string, body string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return nil, text, errors.New(`it does not begin with a line "---" and, below it, name and description`)
	}
	var lines []string
	size := 0
	for {
		line, after, more := strings.Cut(rest, "\n")
		if t := strings.TrimRight(line, " \t"); t == "---" || t == "..." {
			body = after
			break
		}
		if size += len(line) + 1; !more || size > maxFrontMatter {
			return nil, text, errors.New(`the line "---" that ends the block at its beginning is missing`)
		}
		lines, rest = append(lines, line), after
	}
	keys, err = flatKeys(lines)
	return keys, body, err
}

func flatKeys(lines []string) (map[string]string, error) {
	keys := make(map[string]string)
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		if t := strings.TrimSpace(line); t == "" || t[0] == '#' {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "- ") {
			continue // of a list or map
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || value != "" && value[0] != ' ' && value[0] != '\t' {
			return nil, fmt.Errorf("line %d is not of the form \"key: value\"", i+1)
		}
		if key = strings.Trim(strings.TrimSpace(key), `"'`); keys[key] != "" {
			return nil, fmt.Errorf("line %d: %s is there twice", i+1, clip(key, 40))
		}
		from := i
		for i < len(lines) && (strings.TrimSpace(lines[i]) == "" || lines[i][0] == ' ' || lines[i][0] == '\t') {
			i++
		}
		v, err := scalar(strings.TrimSpace(value), lines[from:i])
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", from+1, clip(key, 40), err)
		}
		keys[key] = v
	}
	return keys, nil
}

// scalar reads a value and the indented lines below it.
func scalar(v string, below []string) (string, error) {
	switch {
	case v == "" && len(below) > 0 && strings.HasPrefix(strings.TrimSpace(below[0]), "- "):
		return "", nil // a list
	case strings.HasPrefix(v, "|"), strings.HasPrefix(v, ">"):
		return block(v[0] == '>', below), nil
	case strings.HasPrefix(v, `"`), strings.HasPrefix(v, `'`):
		return unquote(joined(v, below))
	case strings.HasPrefix(v, "["), strings.HasPrefix(v, "{"), strings.HasPrefix(v, "&"), strings.HasPrefix(v, "*"), strings.HasPrefix(v, "!"):
		return "", nil // not flat
	}
	if strings.HasPrefix(v, "#") {
		v = ""
	}
	v = uncommented(joined(v, below))
	if v == "~" || v == "null" {
		v = ""
	}
	return v, nil
}

// joined puts a value and the lines it goes on in on one line.
func joined(v string, below []string) string {
	return strings.TrimSpace(v + " " + strings.Join(strings.Fields(strings.Join(below, "\n")), " "))
}

// uncommented cuts off a comment, which begins with a blank.
func uncommented(v string) string {
	if at := strings.Index(v, " #"); at >= 0 {
		v = v[:at]
	}
	return strings.TrimSpace(v)
}

// block reads a folded or literal block.
func block(folded bool, lines []string) string {
	indent := -1
	for _, l := range lines {
		if t := strings.TrimLeft(l, " "); t != "" && (indent < 0 || len(l)-len(t) < indent) {
			indent = len(l) - len(t)
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimRight(l[min(max(indent, 0), len(l)):], " \t")
	}
	text := strings.TrimSpace(strings.Join(out, "\n"))
	if !folded {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n")
}

// unquote reads a value in quotes, of which a comment may follow.
func unquote(v string) (string, error) {
	end := -1
	for i := 1; i < len(v); i++ {
		switch {
		case v[0] == '"' && v[i] == '\\':
			i++
		case v[i] == v[0] && v[0] == '\'' && i+1 < len(v) && v[i+1] == '\'':
			i++
		case v[i] == v[0]:
			end = i
		}
		if end >= 0 {
			break
		}
	}
	if end < 0 {
		return "", errors.New("the quote is not closed")
	}
	if rest := strings.TrimSpace(v[end+1:]); rest != "" && rest[0] != '#' {
		return "", errors.New("something stands behind the closing quote")
	}
	if v[0] == '\'' {
		return strings.ReplaceAll(v[1:end], "''", "'"), nil
	}
	var s string
	if err := json.Unmarshal([]byte(v[:end+1]), &s); err != nil {
		return "", errors.New("the text in quotes has an escape that is not known")
	}
	return s, nil
}
