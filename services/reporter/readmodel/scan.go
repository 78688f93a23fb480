package readmodel

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// collect reads every row of a query.
func collect[T any](ctx context.Context, m *Model, query string, args []any, scan func(*T) []any) ([]T, error) {
	db, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells what went wrong
	out := []T{}
	for rows.Next() {
		var one T
		if err := rows.Scan(scan(&one)...); err != nil {
			return nil, fault.New(fault.Internal, "cannot read a row: %w", err)
		}
		out = append(out, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fault.New(fault.Transient, "cannot read rows: %w", err)
	}
	return out, nil
}

// opt reads a column that may be NULL, which is the zero value.
func opt[T any](to *T) any { return &optional[T]{to} }

type optional[T any] struct{ to *T }

func (o *optional[T]) Scan(src any) error {
	var n sql.Null[T]
	err := n.Scan(src)
	*o.to = n.V
	return err
}

// moment reads microseconds since 1970.
func moment(to *time.Time) any { return &microseconds{to} }

type microseconds struct{ to *time.Time }

func (m *microseconds) Scan(src any) error {
	var n sql.NullInt64
	if err := n.Scan(src); err != nil {
		return err
	}
	*m.to = time.Time{}
	if n.Valid {
		*m.to = time.UnixMicro(n.Int64).UTC()
	}
	return nil
}

// decoded reads JSON.
func decoded[T any](to *T) any { return &jsonColumn[T]{to} }

type jsonColumn[T any] struct{ to *T }

func (c *jsonColumn[T]) Scan(src any) error {
	var n sql.NullString
	if err := n.Scan(src); err != nil || !n.Valid {
		return err
	}
	return json.Unmarshal([]byte(n.String), c.to)
}
