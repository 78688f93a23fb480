-- The project of an act that belongs to no run, such as what people do about a test.

-- +goose Up
ALTER TABLE acts ADD COLUMN project TEXT;
