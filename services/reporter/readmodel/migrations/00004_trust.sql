-- How far the change of a run is trusted, and why no further.

-- +goose Up
ALTER TABLE runs ADD COLUMN trust TEXT;
ALTER TABLE runs ADD COLUMN trust_reason TEXT;
