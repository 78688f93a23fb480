package store

import (
	"context"
	"io/fs"
	"path"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Migrate brings the tables up to date. The migrations are goose's: "00001_name.sql" files at the root of files.
func (db *DB) Migrate(ctx context.Context, files fs.FS) error {
	own, err := db.translate(files)
	if err != nil {
		return fault.New(fault.Internal, "cannot read migrations: %w", err)
	}
	provider, err := goose.NewProvider(db.dialect.goose, db.writer, own, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fault.New(fault.Internal, "cannot read migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fault.New(fault.Transient, "cannot migrate the database: %w", err)
	}
	return nil
}

// translate gives each migration the form that the database hears.
func (db *DB) translate(files fs.FS) (fs.FS, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	own := fstest.MapFS{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		own[path.Base(name)] = &fstest.MapFile{Data: []byte(db.dialect.schema(string(text)))}
	}
	return own, nil
}
