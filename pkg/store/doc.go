// Package store is SQL for the services that keep projections: an embedded SQLite file for one machine, PostgreSQL for
// more. It is the only package that knows a driver.
//
// Nothing that is kept here is the only copy of a fact (the streams are), so SQLite does not sync each transaction: what
// a power cut takes is folded again from the stream, because a projection writes its rows and its cursor in one
// transaction.
//
// Both databases hear the same SQL. What differs is small and stands in dialect.go: placeholders are written "?", and
// a migration may say WITHOUT ROWID, which PostgreSQL does not hear. Times are microseconds since 1970 (BIGINT) and
// JSON is TEXT.
package store
