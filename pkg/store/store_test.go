package store_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/store"
	"github.com/sluiceci/sluice/pkg/store/storetest"
)

func migrations() fstest.MapFS {
	return fstest.MapFS{"00001_things.sql": {Data: []byte(`-- +goose Up
CREATE TABLE things (
	owner TEXT NOT NULL,
	seq BIGINT NOT NULL,
	name TEXT,
	born BIGINT,
	PRIMARY KEY (owner, seq)
) WITHOUT ROWID;
`)}}
}

func things() store.Table {
	return store.Table{
		Name: "things", Key: []string{"owner", "seq"}, Columns: []string{"owner", "seq", "name", "born"},
		First: []string{"born"},
	}
}

// TestConformance runs the same suite on every database.
func TestConformance(t *testing.T) {
	t.Parallel()
	for kind, url := range storetest.URLs(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db, m := open(t, url(t))
			t.Run("merge keeps what is not said", func(t *testing.T) { mergeKeeps(t, db, m) })
			t.Run("merge of any number of rows", func(t *testing.T) { mergeMany(t, db, m) })
			t.Run("a failed write leaves nothing", func(t *testing.T) { failedWrite(t, db, m) })
			t.Run("writers take turns", func(t *testing.T) { writersTakeTurns(t, db) })
			t.Run("reading goes on while somebody writes", func(t *testing.T) { readWhileWriting(t, db, m) })
			t.Run("a cancelled write leaves nothing", func(t *testing.T) { cancelledWrite(t, db, m) })
			t.Run("migrating again changes nothing", func(t *testing.T) { must(t, db.Migrate(t.Context(), migrations())) })
		})
	}
}

func open(t *testing.T, url string) (*store.DB, *store.Merger) {
	t.Helper()
	db, err := store.Open(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, db.Migrate(t.Context(), migrations()))
	m, err := db.Prepare(t.Context(), things())
	must(t, err)
	return db, m
}

func mergeKeeps(t *testing.T, db *store.DB, m *store.Merger) {
	merge(t, db, m, []any{"keep", 1, "first", 10}, []any{"keep", 2, nil, nil})
	merge(t, db, m, []any{"keep", 1, nil, 11}, []any{"keep", 2, "second", 20})
	merge(t, db, m, []any{"keep", 1, "", nil})
	want := []row{{1, "", 10}, {2, "second", 20}}
	if diff := cmp.Diff(want, rows(t, db, "keep")); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func mergeMany(t *testing.T, db *store.DB, m *store.Merger) {
	for _, n := range []int{0, 1, 3, 4, 63, 64, 200} {
		var in [][]any
		for i := range n {
			in = append(in, []any{"many", i, "x", i})
		}
		merge(t, db, m, in...)
		if got := len(rows(t, db, "many")); got != n {
			t.Fatalf("%d rows, want %d", got, n)
		}
	}
}

func failedWrite(t *testing.T, db *store.DB, m *store.Merger) {
	wanted := errors.New("no")
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		must(t, tx.Merge(t.Context(), m, [][]any{{"failed", 1, "x", 1}}))
		return wanted
	})
	if !errors.Is(err, wanted) || len(rows(t, db, "failed")) != 0 {
		t.Fatalf("error %v, rows %v; want the function's error and none", err, rows(t, db, "failed"))
	}
}

// writersTakeTurns shows that a value that each writer reads and then writes loses nothing.
func writersTakeTurns(t *testing.T, db *store.DB) {
	exec(t, db, "INSERT INTO things (owner, seq, name, born) VALUES (?, ?, ?, ?)", "turns", 1, "", 0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if err := db.Write(t.Context(), func(tx *store.Tx) error { return increment(t.Context(), tx) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := rows(t, db, "turns")[0].Born; got != 40 {
		t.Fatalf("counted %d, want 40", got)
	}
}

func increment(ctx context.Context, tx *store.Tx) error {
	var n int64
	if err := tx.Get(ctx, "SELECT born FROM things WHERE owner = ?", []any{"turns"}, &n); err != nil {
		return err
	}
	changed, err := tx.Exec(ctx, "UPDATE things SET born = ? WHERE owner = ? AND born = ?", n+1, "turns", n)
	if changed != 1 {
		return errors.New("somebody else wrote in between")
	}
	return err
}

func readWhileWriting(t *testing.T, db *store.DB, m *store.Merger) {
	must(t, db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.Merge(t.Context(), m, [][]any{{"busy", 1, "x", 1}}); err != nil {
			return err
		}
		if got := len(rows(t, db, "busy")); got != 0 {
			t.Errorf("a reader sees %d rows that are not committed", got)
		}
		return nil
	}))
	if got := len(rows(t, db, "busy")); got != 1 {
		t.Fatalf("a reader sees %d rows after the commit, want 1", got)
	}
}

func cancelledWrite(t *testing.T, db *store.DB, m *store.Merger) {
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Write(ctx, func(tx *store.Tx) error {
		must(t, tx.Merge(ctx, m, [][]any{{"cancelled", 1, "x", 1}}))
		cancel()
		return ctx.Err()
	})
	if err == nil || len(rows(t, db, "cancelled")) != 0 {
		t.Fatalf("error %v, rows %v; want an error and none", err, rows(t, db, "cancelled"))
	}
}

func TestGetSaysWhatIsNotThere(t *testing.T) {
	t.Parallel()
	db, _ := open(t, "sqlite://"+t.TempDir()+"/new/dir/test.db")
	var n int
	if err := db.Get(t.Context(), "SELECT seq FROM things WHERE owner = ?", []any{"x"}, &n); !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("got %v, want sql.ErrNoRows", err)
	}
	if err := db.Get(t.Context(), "SELECT nothing", nil, &n); !fault.Is(err, fault.Transient) {
		t.Fatalf("got %v (%s), want a transient error", err, fault.Of(err))
	}
}

func TestOpenRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "reporter.db", "sqlite://reporter.db", "sqlite:///a?b=c", "mysql://h/d", "postgres://%zz"} {
		if _, err := store.Open(t.Context(), url); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: got %v (%s), want an invalid error", url, err, fault.Of(err))
		}
	}
}

func TestOpenHidesThePassword(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := store.Open(ctx, "postgres://sluice:hunter2@127.0.0.1:1/none?sslmode=disable")
	if !fault.Is(err, fault.Transient) {
		t.Fatalf("got %v (%s), want a transient error", err, fault.Of(err))
	}
	if bytesContain(err.Error(), "hunter2") {
		t.Fatalf("the error tells the password: %v", err)
	}
}
