-- Why a run waits until somebody lets it run. Its state follows from that until it is planned.

-- +goose Up
ALTER TABLE runs ADD COLUMN unpermitted TEXT;
