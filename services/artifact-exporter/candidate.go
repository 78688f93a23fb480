package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// candidate keeps what was built, before anything is tested.
func (x *exporter) candidate(ctx context.Context, d *bus.Delivery[event.CandidateAssembled]) error {
	r, wanted, err := x.find(ctx, d.Event.Run)
	if err != nil || !wanted {
		return err
	}
	m, err := x.exportCandidate(ctx, r, d.Data.Candidate, d.Data.Blob)
	if err != nil {
		return err
	}
	text, err := document(m)
	if err != nil {
		return err
	}
	return d.Emit(ctx, event.ArtifactExported{
		Destination: x.name, Part: "candidate", Round: d.Data.Round, Location: x.to.location(m.Home),
		Manifest: release.DigestOf(text), Files: int32(len(m.Files)), Bytes: m.bytes(),
	})
}

// exportCandidate keeps the artifacts, the candidate, the plan and at last the manifest that lists them.
func (x *exporter) exportCandidate(ctx context.Context, r *run, id, document release.Digest) (manifest, error) {
	c, text, err := x.readCandidate(ctx, r, id, document)
	if err != nil {
		return manifest{}, err
	}
	files, err := x.candidateFiles(ctx, r, c, document)
	if err != nil {
		return manifest{}, err
	}
	home, err := x.candidateHome(ctx, r, c, text)
	if err != nil {
		return manifest{}, err
	}
	if err := x.keep(ctx, home, files...); err != nil {
		return manifest{}, err
	}
	change := r.planned.Change
	m := manifest{
		Project: change.Project, Repo: change.Repo, Branch: change.Branch, Run: r.id, Commit: change.Commit,
		Candidate: c.ID, Planned: r.at, Pushed: r.pushed, Home: home,
	}
	for _, f := range files {
		m.list(f)
	}
	return m, x.keepManifest(ctx, m)
}

func (x *exporter) keepManifest(ctx context.Context, m manifest) error {
	text, err := document(m)
	if err != nil {
		return err
	}
	return x.keep(ctx, m.Home, textFile(manifestFile, text))
}

// readCandidate reads a candidate and refuses one that is not of this run, or not what it says.
func (x *exporter) readCandidate(ctx context.Context, r *run, id, document release.Digest) (c release.Candidate, text []byte, err error) {
	text, err = blob.ReadAll(ctx, x.deps.Blobs, document, maxDocument)
	if err != nil {
		return c, nil, fmt.Errorf("cannot read the candidate of run %s: %w", r.id, err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, nil, fault.New(fault.Invalid, "cannot read the candidate of run %s: %w", r.id, err)
	}
	if c.Run != r.id || c.Commit != r.planned.Change.Commit || c.ID != id {
		return c, nil, fault.New(fault.Denied, "cannot export candidate %s for run %s of commit %s: it is %s, of run %s and commit %s",
			id, r.id, r.planned.Change.Commit, c.ID, c.Run, c.Commit)
	}
	if real := release.NewCandidate(c.Run, c.Commit, c.Artifacts).ID; real != id {
		return c, nil, fault.New(fault.Denied, "cannot export candidate %s of run %s: its artifacts are those of candidate %s", id, r.id, real)
	}
	return c, text, nil
}

func (x *exporter) candidateFiles(ctx context.Context, r *run, c release.Candidate, document release.Digest) ([]file, error) {
	artifacts, err := layout(c.Artifacts)
	if err != nil {
		return nil, err
	}
	planned, err := x.storedBlob(ctx, planFile, r.planned.Plan, "application/json")
	if err != nil {
		return nil, err
	}
	candidate, err := x.storedBlob(ctx, candidateFile, document, "application/json")
	if err != nil {
		return nil, err
	}
	files := []file{planned, candidate}
	for _, a := range artifacts {
		files = append(files, x.blobFile("artifacts/"+a.path, a.Digest, a.Size, a.MediaType))
	}
	return files, nil
}

// candidateHome is the home of the run for its first candidate, and for another, of a later round with other artifacts, a
// folder below it.
func (x *exporter) candidateHome(ctx context.Context, r *run, c release.Candidate, text []byte) (string, error) {
	home, err := x.home(ctx, r)
	if err != nil {
		return "", err
	}
	first, err := x.to.claim(ctx, home+"/"+candidateFile, text)
	if err != nil {
		return "", err
	}
	if bytes.Equal(first, text) {
		return home, nil
	}
	return home + "/candidate-" + c.ID.Hex()[:16], nil
}
