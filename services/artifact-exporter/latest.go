package exporter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// The folders that lead to a candidate of the release branch.
const (
	latestFolder   = "latest"   // the newest whose gate opened
	releasedFolder = "released" // the newest that every target has, verified
)

// latest makes latest/ lead to the candidate that the gate let through.
func (x *exporter) latest(ctx context.Context, d *bus.Delivery[event.GateOpened]) error {
	said, err := x.follow(ctx, latestFolder, d.Event.Run, d.Data)
	if err != nil || said == nil {
		return err
	}
	return d.Emit(ctx, *said)
}

// released makes released/ lead to the candidate that was published: what people can install, not what is on its way.
func (x *exporter) released(ctx context.Context, d *bus.Delivery[event.ReleasePublished]) error {
	opened, err := x.opened(ctx, d.Event, d.Data)
	if err != nil {
		return err
	}
	said, err := x.follow(ctx, releasedFolder, d.Event.Run, opened)
	if err != nil || said == nil {
		return err
	}
	return d.Emit(ctx, *said)
}

// lagging is how long a server of a cluster may be behind the others.
const lagging = time.Minute

// opened finds the opening of the gate that a release is of. The rounds of a release go on where those of the gate ended.
// A server of a cluster that was away may not have the opening yet, so it is asked again for a while.
func (x *exporter) opened(ctx context.Context, said event.Event, p event.ReleasePublished) (event.GateOpened, error) {
	id := said.Run
	for round := p.Round; round >= 0; round-- {
		e, err := x.deps.Bus.Get(ctx, event.Event{Type: event.TypeGateOpened, Run: id, Key: event.GateOpened{Round: round}.Key()}.Subject())
		if bus.Empty(err) {
			continue
		}
		if err != nil {
			return event.GateOpened{}, fault.As(fault.Transient, err)
		}
		if opened, is := e.Data.(event.GateOpened); is && opened.Candidate == p.Candidate {
			return opened, nil
		}
	}
	if x.deps.Now().Sub(said.Stored) < lagging {
		return event.GateOpened{}, fault.Later(time.Second, "cannot read yet for which candidate the gate of run %s opened", id)
	}
	return event.GateOpened{}, fault.New(fault.Invalid, "cannot make released/ lead to candidate %s: the gate of run %s did not open for it", p.Candidate, id)
}

// follow makes a folder lead to a candidate, unless a run that was pushed later has it. It returns what is to be said of it.
func (x *exporter) follow(ctx context.Context, folder string, id release.RunID, opened event.GateOpened) (*event.ArtifactExported, error) {
	r, wanted, err := x.find(ctx, id)
	if err != nil || !wanted {
		return nil, err
	}
	leads, why, err := mayLead(r)
	if err != nil {
		return nil, err
	}
	if !leads {
		x.log.Info(folder+"/ stays as it is", "run", r.id, "why", why)
		return nil, nil
	}
	m, err := x.exportCandidate(ctx, r, opened.Candidate, opened.Blob)
	if err != nil {
		return nil, err
	}
	replaced := false
	err = x.to.lead(ctx, folder, m, func(now []byte) (bool, error) {
		replaced, why, err = replaces(folder, m, now)
		return replaced, err
	})
	if err != nil {
		return nil, err
	}
	if !replaced {
		x.log.Info(folder+"/ stays as it is", "run", r.id, "why", why)
		return nil, nil
	}
	text, err := document(m)
	return &event.ArtifactExported{
		Destination: x.name, Part: folder, Round: opened.Round, Location: x.to.location(folder),
		Manifest: release.DigestOf(text), Files: int32(len(m.Files)), Bytes: m.bytes(),
	}, err
}

// mayLead reports whether a run may be the latest: the release branch's only. The gate has decided already that it
// releases; a gate that opened for what may not is an error, and not a reason to do it too.
func mayLead(r *run) (leads bool, why string, err error) {
	change, policy := r.planned.Change, r.planned.Release
	if ok, why := policy.Allows(change); !ok || r.planned.Trust != release.TrustRelease {
		return false, "", fault.New(fault.Denied, "cannot make run %s of %s the latest although its gate opened: %s", r.id, change.Ref, why)
	}
	switch {
	case change.Kind != release.Push && change.Kind != release.Manual:
		return false, "a " + string(change.Kind) + " is not the newest of a branch", nil
	case change.Branch != policy.Branch:
		return false, "branch " + change.Branch + " is not " + policy.Branch, nil
	}
	return true, "", nil
}

// replaces reports whether a manifest takes the place of the one that a folder leads to now. A run that was pushed before
// that one does not: its tests may only have taken longer.
func replaces(folder string, m manifest, text []byte) (bool, string, error) {
	if text == nil {
		return true, "", nil
	}
	var now manifest
	if err := json.Unmarshal(text, &now); err != nil {
		return false, "", fault.New(fault.Conflict, "cannot replace %s/: its %s is not the exporter's: %w", folder, manifestFile, err)
	}
	switch {
	case now.Repo != m.Repo || now.Project != m.Project:
		return false, "", fault.New(fault.Conflict,
			"cannot replace %s/: it belongs to project %q of %s, not to project %q of %s; give each project a destination of its own (projects)",
			folder, now.Project, now.Repo, m.Project, m.Repo)
	case now.Pushed > m.Pushed:
		return false, "it leads to commit " + string(now.Commit) + ", which was pushed later", nil
	}
	return true, "", nil
}
