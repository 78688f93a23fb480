package store_test

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/store"
)

type row struct {
	Seq  int64
	Name string
	Born int64
}

func rows(t *testing.T, db *store.DB, owner string) []row {
	t.Helper()
	found, err := db.Query(t.Context(), "SELECT seq, name, born FROM things WHERE owner = ? ORDER BY seq", owner)
	must(t, err)
	defer func() { must(t, found.Close()) }()
	var out []row
	for found.Next() {
		var r row
		must(t, found.Scan(&r.Seq, &r.Name, &r.Born))
		out = append(out, r)
	}
	must(t, found.Err())
	return out
}

func merge(t *testing.T, db *store.DB, m *store.Merger, rows ...[]any) {
	t.Helper()
	must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.Merge(t.Context(), m, rows) }))
}

func exec(t *testing.T, db *store.DB, query string, args ...any) {
	t.Helper()
	must(t, db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bytesContain(text, part string) bool { return strings.Contains(text, part) }
