package readmodel

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"sync"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/store"
)

//go:embed migrations
var migrations embed.FS

const (
	cursorName = "reporter"
	// version of what the fold means. A change of it empties the tables, and they are folded again.
	version = 6
)

// Model is the read model in a database. It is safe for concurrent use; several processes may fold into one database.
type Model struct {
	url     string
	layouts []*layout
	counted counted

	mu      sync.Mutex // held while the database is opened
	db      *store.DB  // nil until it is used for the first time
	mergers map[string]*store.Merger
}

// New makes a model; the database is opened when it is first used, and opened again until that succeeds.
func New(url string) *Model { return &Model{url: url, layouts: layouts()} }

// open returns the database, with its tables up to date.
func (m *Model) open(ctx context.Context) (*store.DB, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.db != nil {
		return m.db, nil
	}
	db, err := store.Open(ctx, m.url)
	if err != nil {
		return nil, err
	}
	mergers, err := m.prepare(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	m.db, m.mergers = db, mergers
	return db, nil
}

func (m *Model) prepare(ctx context.Context, db *store.DB) (map[string]*store.Merger, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fault.As(fault.Internal, err)
	}
	if err := db.Migrate(ctx, files); err != nil {
		return nil, err
	}
	mergers := map[string]*store.Merger{}
	for _, l := range m.layouts {
		if mergers[l.name], err = db.Prepare(ctx, l.table); err != nil {
			return nil, err
		}
	}
	return mergers, nil
}

// Close closes the database.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.db == nil {
		return nil
	}
	err := m.db.Close()
	m.db = nil
	return err
}

func (m *Model) inTransaction(ctx context.Context, fn func(*store.Tx) error) error {
	db, err := m.open(ctx)
	if err != nil {
		return err
	}
	return db.Write(ctx, fn)
}

// Resume returns the sequence of the last fact that is in the tables, 0 when they are empty. Tables that were folded
// from another stream, or by a fold of another meaning, are emptied first: the stream is the truth.
func (m *Model) Resume(ctx context.Context, stream string) (uint64, error) {
	var seq uint64
	err := m.inTransaction(ctx, func(tx *store.Tx) error {
		var found int64
		var of string
		err := tx.Get(ctx, "SELECT seq, version, stream FROM cursors WHERE name = ?", []any{cursorName}, &seq, &found, &of)
		switch {
		case err == nil && found == version && of == stream:
			return nil
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		seq = 0
		return m.empty(ctx, tx, stream)
	})
	return seq, err
}

// Rebuild empties the tables. Whoever folds into them begins again at the first fact.
func (m *Model) Rebuild(ctx context.Context) error {
	return m.inTransaction(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE cursors SET version = ? WHERE name = ?", -1, cursorName)
		return err
	})
}

func (m *Model) empty(ctx context.Context, tx *store.Tx, stream string) error {
	for _, l := range m.layouts {
		if _, err := tx.Exec(ctx, "DELETE FROM "+l.table.Name); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "DELETE FROM cursors WHERE name = ?", cursorName); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO cursors (name, seq, version, stream) VALUES (?, ?, ?, ?)", cursorName, 0, version, stream)
	return err
}

// Apply folds facts and moves the cursor from one sequence to another, in one transaction, and returns the runs that the
// facts are of. When another process was faster its part is left out. When the tables were emptied meanwhile the error
// is a conflict: begin again with Resume.
func (m *Model) Apply(ctx context.Context, events []event.Event, from, to uint64) (map[release.RunID]uint64, error) {
	b := newBatch(m.layouts)
	err := m.inTransaction(ctx, func(tx *store.Tx) error {
		var stored uint64
		var found int64
		err := tx.Get(ctx, "SELECT seq, version FROM cursors WHERE name = ?", []any{cursorName}, &stored, &found)
		if errors.Is(err, sql.ErrNoRows) || err == nil && (stored < from || found != version) {
			return fault.New(fault.Conflict, "cannot go on at event %d: the tables were emptied; they are folded again", from)
		}
		if err != nil || stored >= to {
			return err
		}
		for _, e := range events {
			if e.Seq > stored {
				b.add(e)
			}
		}
		return m.write(ctx, tx, b, stored, to)
	})
	return b.runs, err
}

func (m *Model) write(ctx context.Context, tx *store.Tx, b *batch, from, to uint64) error {
	for _, l := range m.layouts {
		if err := tx.Merge(ctx, m.mergers[l.name], b.sets[l.name].rows); err != nil {
			return err
		}
	}
	moved, err := tx.Exec(ctx, "UPDATE cursors SET seq = ? WHERE name = ? AND seq = ?", int64(to), cursorName, int64(from))
	if err == nil && moved != 1 {
		return fault.New(fault.Transient, "cannot move the cursor from %d to %d: another process did", from, to)
	}
	return err
}
