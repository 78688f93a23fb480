-- Of a run that makes all of another one again: which, and who asked for it.

-- +goose Up
ALTER TABLE runs ADD COLUMN rerun_of TEXT;
ALTER TABLE runs ADD COLUMN rerun_by TEXT;
CREATE INDEX runs_rerun ON runs (rerun_of, born);
