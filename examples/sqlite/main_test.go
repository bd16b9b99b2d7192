package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), &out))
	assert.Equal(t, `> SELECT customer, count(*) AS orders, sum(cents) / 100.0 AS total FROM orders GROUP BY customer ORDER BY customer
Query results (2 rows): [
  {"customer": "Ada", "orders": 2, "total": 52.5},
  {"customer": "Grace", "orders": 1, "total": 9.9}
]
> SELECT note FROM orders WHERE note LIKE '%;%'
Query results (1 rows): [
  {"note": "gift; wrap it"}
]
> DELETE FROM orders
error: only SELECT queries are allowed
> WITH gone AS (SELECT 1) DELETE FROM orders
error: attempt to write a readonly database (8)
> SELECT * FROM invoices
error: SQL logic error: no such table: invoices (1)
`, out.String())
}

func open(t *testing.T) (db *sql.DB, dir string) {
	dir = t.TempDir()
	file := filepath.Join(dir, "a?b#c%20.db") // a name that a URL must not trip over
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		file = filepath.Join(dir, "shop.db")
	}
	require.NoError(t, os.Remove(file))
	plain := filepath.Join(dir, "plain.db")
	require.NoError(t, fill(t.Context(), plain))
	require.NoError(t, os.Rename(plain, file))
	db, err := openReadOnly(t.Context(), file)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db, dir
}

// digest stands for everything in a directory.
func digest(t *testing.T, dir string) (sum [32]byte) {
	var all []byte
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all = append(append(append(all, e.Name()...), 0), b...)
	}
	return sha256.Sum256(all)
}

func ask(t *testing.T, db *sql.DB, q string) (*tool.Result, error) {
	call := (&tool.Call{Tool: "query_database"}).Bind(tool.Runtime{Approver: tool.ApproverFunc(func(context.Context, *tool.Call, *tool.Request) error { return nil })})
	call.Input = []byte(`{"query":"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(q) + `"}`)
	return queryTool(db).Run(t.Context(), call)
}

// Nothing that is asked changes the database, makes a file, or reads another one.
func TestHostileQueries(t *testing.T) {
	db, dir := open(t)
	other := filepath.Join(dir, "other.db")
	require.NoError(t, fill(t.Context(), other))
	made := filepath.Join(dir, "made.db")
	before := digest(t, dir)
	for _, q := range []string{
		"DELETE FROM orders", "delete from orders", " \n DROP TABLE orders", "UPDATE orders SET cents = 0", "INSERT INTO orders VALUES (9,'x',1,NULL)",
		"CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)", "PRAGMA query_only = 0", "PRAGMA journal_mode = WAL", "VACUUM", "VACUUM INTO '" + made + "'", "REINDEX", "ANALYZE",
		"ATTACH '" + made + "' AS x", "ATTACH '" + other + "' AS x", "BEGIN IMMEDIATE", "SAVEPOINT x",
		"SELECT 1; DELETE FROM orders", "SELECT 1;; DROP TABLE orders", "SELECT ';'; DELETE FROM orders", "/* SELECT */ DELETE FROM orders", "-- SELECT\nDELETE FROM orders",
		"SELECT 1 /* ; */; ATTACH '" + made + "' AS x", "SELECT 1 -- ;\n; DELETE FROM orders", `SELECT "a;b"; DELETE FROM orders`, "SELECT [a;]; DELETE FROM orders", "SELECT `;`; DELETE FROM orders",
		"SELECT 'it''s'; DELETE FROM orders", ";DELETE FROM orders", "WITH a AS (SELECT 1) DELETE FROM orders", "WITH a AS (SELECT 1) INSERT INTO orders SELECT 9,'x',1,NULL",
		"EXPLAIN SELECT 1; DELETE FROM orders", "SELECT 'open", "SELECT /* open", "SELECT load_extension('x')", "SELECTX", "", " ", ";",
		"SELECT zeroblob(100000000)", "SELECT * FROM pragma_query_only; PRAGMA query_only=0",
	} {
		_, err := ask(t, db, q)
		assert.Error(t, err, q)
		assert.Equal(t, before, digest(t, dir), q)
	}
	// And it is as useful as before.
	for q, want := range map[string]string{
		"SELECT count(*) AS n FROM orders":                          `{"n": 3}`,
		"  select 'a;b' as x ; -- done":                             `{"x": "a;b"}`,
		"WITH a AS (SELECT 9007199254740993 AS n) SELECT n FROM a;": `{"n": 9007199254740993}`,
		"VALUES (1)": `{"column1": 1}`,
		"/* why */ SELECT id FROM orders WHERE note IS NULL LIMIT 1":           `{"id": 1}`,
		"SELECT 'it''s' AS x, NULL AS y, x'ff00' AS z":                         `{"x": "it's", "y": null, "z": "(2 bytes that are no text)"}`,
		"SELECT customer FROM orders WHERE id = 99":                            `[]`,
		"SELECT length(x) AS n, x FROM (SELECT printf('%.5000c', 'x') AS x)":   `… (5000 bytes)"`,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%'": `{"name": "orders"}`,
	} {
		res, err := ask(t, db, q)
		require.NoError(t, err, q)
		assert.Contains(t, res.Text, want, q)
	}
}

// A query is bounded in rows, bytes and time.
func TestBounds(t *testing.T) {
	db, _ := open(t)
	res, err := ask(t, db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n")
	require.NoError(t, err)
	assert.Equal(t, maxRows, res.Metadata["rowCount"])
	assert.Contains(t, res.Text, "There are more rows")
	res, err = ask(t, db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT printf('%.2000c', 'x') AS x FROM n")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(res.Text), maxBytes+1000)
	assert.Equal(t, true, res.Metadata["more"])
	begin := time.Now()
	_, err = ask(t, db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
	assert.ErrorContains(t, err, "took more than")
	assert.Less(t, time.Since(begin), 10*maxTime)
	res, err = ask(t, db, "SELECT 1 AS one")
	require.NoError(t, err, "and the next query works")
	assert.Contains(t, res.Text, `{"one": 1}`)
}
