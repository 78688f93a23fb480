-- What people did, and how they showed who they are.

-- +goose Up
CREATE TABLE acts (
	run TEXT NOT NULL, seq BIGINT NOT NULL,
	id TEXT, type TEXT, at BIGINT, who TEXT, subject TEXT, method TEXT, remote TEXT, line TEXT,
	PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE INDEX acts_seq ON acts (seq);
