package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Table is a table that rows are merged into.
type Table struct {
	Name    string
	Key     []string // its primary key, the first of Columns
	Columns []string // all of them, in the order of a row's values
	First   []string // columns whose first value stays; of all others the last stays
}

// Merger is a table with its statements prepared.
type Merger struct {
	table Table
	stmts map[int]*sql.Stmt // number of rows → statement
}

// Prepare makes a table ready to be merged into. The table must exist. Close of the database ends the merger.
func (db *DB) Prepare(ctx context.Context, table Table) (*Merger, error) {
	m := &Merger{table: table, stmts: map[int]*sql.Stmt{}}
	for _, size := range db.dialect.chunks {
		stmt, err := db.writer.PrepareContext(ctx, db.dialect.query(mergeSQL(table, size)))
		if err != nil {
			return nil, fault.New(fault.Internal, "cannot prepare a merge into %s: %w", table.Name, err)
		}
		m.stmts[size] = stmt
	}
	return m, nil
}

// Merge writes rows into a table. A row whose key is there already changes only the columns in which it is not NULL; so
// a row says what is newly known, and what was known stays. No two rows of one call may have the same key.
func (t *Tx) Merge(ctx context.Context, m *Merger, rows [][]any) error {
	for _, size := range t.db.dialect.chunks {
		for ; len(rows) >= size; rows = rows[size:] {
			stmt := t.tx.StmtContext(ctx, m.stmts[size])
			if _, err := stmt.ExecContext(ctx, slices.Concat(rows[:size]...)...); err != nil {
				return fault.New(fault.Transient, "cannot merge %d rows into %s: %w", size, m.table.Name, err)
			}
		}
	}
	return nil
}

// mergeSQL is the statement that merges n rows.
func mergeSQL(table Table, n int) string {
	one := "(" + In(len(table.Columns)) + ")"
	action := "NOTHING"
	if sets := mergeSets(table); len(sets) > 0 {
		action = "UPDATE SET " + strings.Join(sets, ", ")
	}
	return "INSERT INTO " + table.Name + " (" + strings.Join(table.Columns, ", ") + ") VALUES " +
		strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") +
		" ON CONFLICT (" + strings.Join(table.Key, ", ") + ") DO " + action
}

func mergeSets(table Table) []string {
	var sets []string
	for _, c := range table.Columns[len(table.Key):] {
		first, second := "excluded."+c, table.Name+"."+c
		if slices.Contains(table.First, c) {
			first, second = second, first
		}
		sets = append(sets, c+" = COALESCE("+first+", "+second+")")
	}
	return sets
}
