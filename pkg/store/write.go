package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Tx is a transaction of the one writer.
type Tx struct {
	db *DB
	tx *sql.Tx
}

// Write runs fn in one transaction: all of it is stored, or nothing. The transaction waits for the one before it.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return fault.New(fault.Transient, "cannot begin to write: %w", err)
	}
	if err := fn(&Tx{db: db, tx: tx}); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fault.New(fault.Transient, "cannot commit what was written: %w", err)
	}
	return nil
}

// Exec runs a statement and returns how many rows it changed; placeholders are "?".
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.tx.ExecContext(ctx, t.db.dialect.query(query), args...)
	if err != nil {
		return 0, fault.New(fault.Transient, "cannot write: %w", err)
	}
	return result.RowsAffected()
}

// Get reads one row into dest, as the transaction sees it; a row that is not there is sql.ErrNoRows.
func (t *Tx) Get(ctx context.Context, query string, args []any, dest ...any) error {
	return readError(t.tx.QueryRowContext(ctx, t.db.dialect.query(query), args...).Scan(dest...))
}
