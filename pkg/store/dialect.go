package store

import (
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all that differs between the two databases.
type dialect struct {
	driver string // as database/sql knows it
	goose  goose.Dialect
	rowid  bool  // tables are clustered on a row id unless they say otherwise
	dollar bool  // placeholders are "$1", not "?"
	chunks []int // numbers of rows that one statement merges, the largest first and 1 last
}

// SQLite is in the process: a statement costs little, and its driver looks for each value among all of a statement's.
func sqliteDialect() dialect {
	return dialect{driver: "sqlite", goose: goose.DialectSQLite3, rowid: true, chunks: []int{8, 2, 1}}
}

// PostgreSQL is a turn on the network away: the more rows in a statement the better.
func postgresDialect() dialect {
	return dialect{driver: "pgx", goose: goose.DialectPostgres, dollar: true, chunks: []int{64, 16, 4, 1}}
}

// query writes the placeholders of a query as the database wants them. A "?" within a literal is not supported: no query
// here has one.
func (d dialect) query(q string) string {
	if !d.dollar || !strings.Contains(q, "?") {
		return q
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitAfterSeq(q, "?") {
		text, found := strings.CutSuffix(part, "?")
		b.WriteString(text)
		if found {
			n++
			b.WriteString("$" + strconv.Itoa(n))
		}
	}
	return b.String()
}

// schema writes the text of a migration as the database wants it.
func (d dialect) schema(text string) string {
	if d.rowid {
		return text
	}
	return strings.ReplaceAll(text, " WITHOUT ROWID", "")
}
