package exporter

import (
	"context"
	"fmt"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// task keeps the result and the log of an attempt as soon as it ends: a run may last for days.
func (x *exporter) task(ctx context.Context, d *bus.Delivery[event.TaskFinished]) error {
	r, wanted, err := x.find(ctx, d.Event.Run)
	if err != nil || !wanted || r.pools[d.Data.Task] != d.Data.Pool {
		return err
	}
	home, err := x.home(ctx, r)
	if err != nil {
		return err
	}
	files, err := x.attemptFiles(ctx, r, d.Data)
	if err != nil {
		return fmt.Errorf("cannot keep the results of %s: %w", d.Event.Describe(), err)
	}
	return x.keep(ctx, home, files...)
}

// attemptFiles are the result, the log, and what a test left. What a build left is the candidate's.
func (x *exporter) attemptFiles(ctx context.Context, r *run, t event.TaskFinished) ([]file, error) {
	text, err := document(t)
	if err != nil {
		return nil, err
	}
	results := attemptPath("results", t.Task, t.Attempt)
	files := []file{textFile(results+".json", text)}
	if t.Log != "" {
		log, err := x.storedBlob(ctx, attemptPath("logs", t.Task, t.Attempt)+".log.zst", t.Log, "application/zstd")
		if err != nil {
			return nil, err
		}
		files = append(files, log)
	}
	if t.Files != "" {
		left, err := x.storedBlob(ctx, results+".artifacts.tar", t.Files, "application/x-tar")
		if err != nil {
			return nil, err
		}
		files = append(files, left)
	}
	if r.kinds[t.Task] == release.Build {
		return files, nil
	}
	artifacts, err := layout(t.Artifacts)
	if err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		files = append(files, x.blobFile(results+"/"+a.path, a.Digest, a.Size, a.MediaType))
	}
	return files, nil
}
