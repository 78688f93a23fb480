package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	openTimeout = 10 * time.Second
	readers     = 4 // connections that read at once
)

// DB is a database. It has one writer at a time and several readers, and is safe for concurrent use.
type DB struct {
	dialect dialect
	writer  *sql.DB // one connection
	reader  *sql.DB
}

// Open opens the database that a URL names, and makes a SQLite file that is not there:
//
//	sqlite:///var/lib/sluice/reporter.db
//	postgres://user:password@host:5432/sluice
func Open(ctx context.Context, raw string) (*DB, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot open database: its URL cannot be read; expected sqlite:///path or postgres://host/name")
	}
	var db *DB
	switch u.Scheme {
	case "sqlite":
		db, err = openSQLite(u)
	case "postgres", "postgresql":
		db, err = openPostgres(raw)
	default:
		return nil, fault.New(fault.Invalid, "cannot open database %q: expected sqlite:///path or postgres://host/name", u.Redacted())
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := db.ping(ctx); err != nil {
		return nil, fault.New(fault.Transient, "cannot open database %s: %w", u.Redacted(), errors.Join(err, db.Close()))
	}
	return db, nil
}

// openSQLite makes readers that never wait for the writer (WAL), and a writer that takes its lock when it begins.
func openSQLite(u *url.URL) (*DB, error) {
	if u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
		return nil, fault.New(fault.Invalid, "cannot open database %q: expected sqlite:// and an absolute path, sqlite:///var/lib/sluice/reporter.db", u.Redacted())
	}
	if err := os.MkdirAll(filepath.Dir(u.Path), 0o750); err != nil {
		return nil, fault.New(fault.Transient, "cannot open database %s: %w", u.Redacted(), err)
	}
	if err := private(u.Path); err != nil {
		return nil, fault.New(fault.Transient, "cannot open database %s: %w", u.Redacted(), err)
	}
	options := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "journal_size_limit(67108864)"}}
	return open(sqliteDialect(), sqliteName(u.Path, options, "_txlock", "immediate"), sqliteName(u.Path, options, "_pragma", "query_only(1)"))
}

// private makes the file, or closes it to other accounts. SQLite gives its journals the mode of the database.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func sqliteName(path string, options url.Values, key, value string) string {
	own := url.Values{}
	for k, v := range options {
		own[k] = append([]string(nil), v...)
	}
	own.Add(key, value)
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: own.Encode()}).String()
}

func openPostgres(raw string) (*DB, error) { return open(postgresDialect(), raw, raw) }

func open(d dialect, write, read string) (*DB, error) {
	writer, err := sql.Open(d.driver, write)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot open database: %w", err)
	}
	reader, err := sql.Open(d.driver, read)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot open database: %w", errors.Join(err, writer.Close()))
	}
	writer.SetMaxOpenConns(1)
	writer.SetMaxIdleConns(1)
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	reader.SetConnMaxIdleTime(time.Minute)
	return &DB{dialect: d, writer: writer, reader: reader}, nil
}

// ping opens the writer first: it is what makes the file.
func (db *DB) ping(ctx context.Context) error {
	if err := db.writer.PingContext(ctx); err != nil {
		return err
	}
	return db.reader.PingContext(ctx)
}

// Close ends all connections.
func (db *DB) Close() error { return errors.Join(db.reader.Close(), db.writer.Close()) }

// Name says which database it is, for logs.
func (db *DB) Name() string { return db.dialect.driver }

// Query reads rows; placeholders are "?".
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := db.reader.QueryContext(ctx, db.dialect.query(query), args...)
	return rows, readError(err)
}

// Get reads one row into dest; a row that is not there is sql.ErrNoRows.
func (db *DB) Get(ctx context.Context, query string, args []any, dest ...any) error {
	return readError(db.reader.QueryRowContext(ctx, db.dialect.query(query), args...).Scan(dest...))
}

func readError(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return fault.As(fault.Transient, fmt.Errorf("cannot read the database: %w", err))
}

// In writes n placeholders for an IN clause: "?, ?, ?".
func In(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
