-- The places that an attempt was given, and until when what a failed one left is kept for a person.

-- +goose Up
ALTER TABLE attempts ADD COLUMN lease TEXT;
ALTER TABLE attempts ADD COLUMN kept_until BIGINT;
