-- The reporter's tables. All of it is folded from the stream of facts and can be dropped; see docs/operate/rebuild.md.
-- Times are microseconds since 1970, "seq" is a place in the stream, and lists are JSON.

-- +goose Up
CREATE TABLE cursors (
	name TEXT NOT NULL PRIMARY KEY,
	seq BIGINT NOT NULL,
	version BIGINT NOT NULL,
	stream TEXT NOT NULL
);

CREATE TABLE runs (
	run TEXT NOT NULL PRIMARY KEY,
	born BIGINT, seq BIGINT, updated_at BIGINT,
	project TEXT, repo TEXT, forge TEXT, kind TEXT, branch TEXT, ref TEXT, commit_id TEXT, title TEXT, author TEXT, url TEXT,
	number BIGINT, head_repo TEXT, head_ref TEXT, fork BIGINT,
	received_at BIGINT, planned_at BIGINT, finished_at BIGINT,
	state TEXT, ignored TEXT, outcome TEXT, reason TEXT, round BIGINT,
	plan TEXT, builds BIGINT, tests BIGINT, skipped BIGINT, gate_on TEXT, gate_tests TEXT, targets TEXT, warnings TEXT, problems TEXT,
	gate TEXT, gate_reason TEXT, released TEXT
);
CREATE INDEX runs_born ON runs (born);
CREATE INDEX runs_state ON runs (state, born);
CREATE INDEX runs_branch ON runs (branch, born);

CREATE TABLE changes (
	run TEXT NOT NULL, kind TEXT NOT NULL,
	seq BIGINT, ref TEXT, branch TEXT, author TEXT, title TEXT, url TEXT, forge TEXT, delivery TEXT, verified TEXT,
	received_at BIGINT, ignored TEXT,
	PRIMARY KEY (run, kind)
) WITHOUT ROWID;

CREATE TABLE tasks (
	run TEXT NOT NULL, task TEXT NOT NULL,
	born BIGINT, name TEXT, job TEXT, kind TEXT, pool TEXT, needs TEXT, priority BIGINT, soft_fail BIGINT,
	requested_at BIGINT, state TEXT, attempts BIGINT, outcome TEXT, class TEXT, reason TEXT,
	started_at BIGINT, finished_at BIGINT, delayed_until BIGINT,
	PRIMARY KEY (run, task)
) WITHOUT ROWID;

CREATE TABLE attempts (
	run TEXT NOT NULL, task TEXT NOT NULL, attempt BIGINT NOT NULL,
	pool TEXT, executor TEXT, dispatched_at BIGINT, dispatch_reason TEXT, started_at BIGINT, finished_at BIGINT, stop_reason TEXT,
	outcome TEXT, class TEXT, reason TEXT, exit_code BIGINT,
	log TEXT, log_lines BIGINT, last_lines TEXT, phases TEXT,
	tests_total BIGINT, tests_failed BIGINT, tests_skipped BIGINT, tests_flaky BIGINT, failures TEXT, metrics TEXT,
	PRIMARY KEY (run, task, attempt)
) WITHOUT ROWID;

CREATE TABLE artifacts (
	run TEXT NOT NULL, task TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
	attempt BIGINT, job TEXT, digest TEXT, size BIGINT, media_type TEXT, directory BIGINT, stamped BIGINT, matrix TEXT,
	PRIMARY KEY (run, task, name, type)
) WITHOUT ROWID;

CREATE TABLE candidates (
	run TEXT NOT NULL, round BIGINT NOT NULL,
	state TEXT, candidate TEXT, content TEXT, artifacts BIGINT, reasons TEXT, at BIGINT,
	PRIMARY KEY (run, round)
) WITHOUT ROWID;

CREATE TABLE gates (
	run TEXT NOT NULL, round BIGINT NOT NULL,
	state TEXT, reason TEXT, candidate TEXT, at BIGINT,
	PRIMARY KEY (run, round)
) WITHOUT ROWID;

CREATE TABLE conditions (
	run TEXT NOT NULL, round BIGINT NOT NULL, n BIGINT NOT NULL,
	name TEXT, met BIGINT, final BIGINT, reason TEXT,
	PRIMARY KEY (run, round, n)
) WITHOUT ROWID;

CREATE TABLE publications (
	run TEXT NOT NULL, target TEXT NOT NULL, state TEXT NOT NULL,
	kind TEXT, round BIGINT, requested_at BIGINT, reached_at BIGINT, detail TEXT, files TEXT, failed_at BIGINT, fault TEXT, reason TEXT,
	PRIMARY KEY (run, target, state)
) WITHOUT ROWID;

CREATE TABLE releases (
	run TEXT NOT NULL PRIMARY KEY,
	state TEXT, round BIGINT, candidate TEXT, targets TEXT, reasons TEXT, at BIGINT
) WITHOUT ROWID;

CREATE TABLE exports (
	run TEXT NOT NULL, destination TEXT NOT NULL, part TEXT NOT NULL,
	round BIGINT, location TEXT, manifest TEXT, files BIGINT, bytes BIGINT, at BIGINT,
	PRIMARY KEY (run, destination, part)
) WITHOUT ROWID;

CREATE TABLE timeline (
	run TEXT NOT NULL, seq BIGINT NOT NULL,
	id TEXT, type TEXT, key TEXT, task TEXT, at BIGINT, source TEXT, cause TEXT, line TEXT, tone TEXT,
	PRIMARY KEY (run, seq)
) WITHOUT ROWID;
