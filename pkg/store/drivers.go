package store

// The drivers register themselves with database/sql; this is the one file where that is allowed.
import (
	_ "github.com/jackc/pgx/v5/stdlib" // PostgreSQL
	_ "modernc.org/sqlite"             // SQLite
)
