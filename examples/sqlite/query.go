package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
	"modernc.org/sqlite"
)

// What one query may take.
const (
	maxRows  = 100
	maxBytes = 32 << 10 // of all rows as JSON
	maxCell  = 2 << 10
	maxTime  = 5 * time.Second
)

// Limits of SQLite itself, by their numbers in its C interface.
const (
	limitLength   = 0 // of a text or blob, and of a row
	limitAttached = 7
)

// openReadOnly opens a database so that nothing in it can change, and nothing else
// can be reached through it: the file is opened for reading, writing is refused by
// the engine as well, and no other file can be attached.
func openReadOnly(ctx context.Context, file string) (*sql.DB, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	dsn := (&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=busy_timeout(2000)"}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // the one that is limited below
	c, err := db.Conn(ctx)
	if err == nil {
		_, err = sqlite.Limit(c, limitAttached, 0)
		if err == nil {
			_, err = sqlite.Limit(c, limitLength, 1<<20)
		}
		c.Close()
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// queryTool answers queries of one database.
func queryTool(db *sql.DB) tool.Tool {
	type in struct {
		Query string `json:"query" jsonschema:"one SQL SELECT query" minLength:"1" maxLength:"8192"`
	}
	return tool.Define(tool.Def{Name: "query_database", Description: "Execute a read-only SQL query on the local database", Hints: tool.Hints{ReadOnly: true}, Timeout: 2 * maxTime},
		func(ctx context.Context, call *tool.Call, in in) (*tool.Result, error) {
			if err := checkQuery(in.Query); err != nil {
				return nil, err
			}
			if err := call.Ask(ctx, &tool.Request{Permission: "query_database", Title: "Query the database", Patterns: []string{in.Query}}); err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("the query took more than %s; ask for less", maxTime))
			defer cancel()
			rows, more, err := query(ctx, db, in.Query)
			if err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				return nil, err
			}
			text := "[\n" + strings.Join(rows, ",\n") + "\n]"
			if len(rows) == 0 {
				text = "[]"
			}
			if more {
				text += fmt.Sprintf("\n\n(There are more rows. At most %d rows and %d bytes are returned: add LIMIT, or ask for fewer columns.)", maxRows, maxBytes)
			}
			return &tool.Result{Title: "Query results", Text: text, Metadata: map[string]any{"rowCount": len(rows), "more": more}}, nil
		})
}

// checkQuery refuses what is no single query. The database would refuse to change
// anyway; this is so that the model reads why.
func checkQuery(q string) error {
	rest, err := skipBlank(q)
	if err != nil {
		return err
	}
	word := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }); i >= 0 {
		word = rest[:i]
	}
	switch strings.ToUpper(word) {
	case "SELECT", "WITH", "VALUES", "EXPLAIN":
	default:
		return errors.New("only SELECT queries are allowed")
	}
	for rest != "" {
		switch c := rest[0]; {
		case c == '\'', c == '"', c == '`', c == '[':
			end := c
			if c == '[' {
				end = ']'
			}
			i := strings.IndexByte(rest[1:], end)
			if i < 0 {
				return errors.New("a quote is not closed")
			}
			rest = rest[i+2:]
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"):
			if rest, err = skipBlank(rest); err != nil {
				return err
			}
		case c == ';':
			if rest, err = skipBlank(strings.TrimLeft(rest, ";")); err != nil {
				return err
			}
			if rest != "" {
				return errors.New("only one query at a time is allowed")
			}
		default:
			rest = rest[1:]
		}
	}
	return nil
}

// skipBlank skips blanks and comments.
func skipBlank(s string) (string, error) {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f;")
		switch {
		case strings.HasPrefix(s, "--"):
			_, s, _ = strings.Cut(s, "\n")
		case strings.HasPrefix(s, "/*"):
			_, after, ok := strings.Cut(s[2:], "*/")
			if !ok {
				return "", errors.New("a comment is not closed")
			}
			s = after
		default:
			return s, nil
		}
	}
}

// query returns the rows, each as a line of JSON with the columns in their order, and
// whether there would be more.
func query(ctx context.Context, db *sql.DB, q string) (lines []string, more bool, err error) {
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, false, err
	}
	size := 0
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			return nil, false, err
		}
		line, err := encode(columns, cells)
		if err != nil {
			return nil, false, err
		}
		if size += len(line); len(lines) == maxRows || size > maxBytes {
			return lines, true, nil
		}
		lines = append(lines, line)
	}
	return lines, false, rows.Err()
}

func encode(columns []string, cells []any) (string, error) {
	var b strings.Builder
	b.WriteString("  {")
	for i, name := range columns {
		key, err := json.Marshal(name)
		if err != nil {
			return "", err
		}
		value, err := json.Marshal(plain(*cells[i].(*any)))
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(key)
		b.WriteString(": ")
		b.Write(value)
	}
	b.WriteString("}")
	return b.String(), nil
}

// plain is a value of a database as JSON can say it, and not too long.
func plain(v driver.Value) any {
	var s string
	switch v := v.(type) {
	case string:
		s = v
	case []byte:
		if !utf8.Valid(v) {
			return fmt.Sprintf("(%d bytes that are no text)", len(v))
		}
		s = string(v)
	default:
		return v
	}
	if len(s) <= maxCell {
		return s
	}
	return strings.ToValidUTF8(s[:maxCell], "") + fmt.Sprintf("… (%d bytes)", len(s))
}
