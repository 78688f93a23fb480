package exporter

import (
	"context"
	"encoding/json"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// latestFolder leads to the newest candidate of the release branch whose gate opened.
const latestFolder = "latest"

// latest makes latest/ lead to the candidate that the gate let through.
func (x *exporter) latest(ctx context.Context, d *bus.Delivery[event.GateOpened]) error {
	r, wanted, err := x.find(ctx, d.Event.Run)
	if err != nil || !wanted {
		return err
	}
	leads, why, err := mayLead(r)
	if err != nil {
		return err
	}
	if !leads {
		x.log.Info("latest/ stays as it is", "run", r.id, "why", why)
		return nil
	}
	m, err := x.exportCandidate(ctx, r, d.Data.Candidate, d.Data.Blob)
	if err != nil {
		return err
	}
	replaced := false
	err = x.to.lead(ctx, m, func(now []byte) (bool, error) {
		replaced, why, err = replaces(m, now)
		return replaced, err
	})
	if err != nil {
		return err
	}
	if !replaced {
		x.log.Info("latest/ stays as it is", "run", r.id, "why", why)
		return nil
	}
	text, err := document(m)
	if err != nil {
		return err
	}
	return d.Emit(ctx, event.ArtifactExported{
		Destination: x.name, Part: "latest", Round: d.Data.Round, Location: x.to.location(latestFolder),
		Manifest: release.DigestOf(text), Files: int32(len(m.Files)), Bytes: m.bytes(),
	})
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

// replaces reports whether a manifest takes the place of the one that latest/ leads to now. A run that was pushed before
// that one does not: its tests may only have taken longer.
func replaces(m manifest, text []byte) (bool, string, error) {
	if text == nil {
		return true, "", nil
	}
	var now manifest
	if err := json.Unmarshal(text, &now); err != nil {
		return false, "", fault.New(fault.Conflict, "cannot replace latest/: its %s is not the exporter's: %w", manifestFile, err)
	}
	switch {
	case now.Repo != m.Repo || now.Project != m.Project:
		return false, "", fault.New(fault.Conflict,
			"cannot replace latest/: it belongs to project %q of %s, not to project %q of %s; give each project a destination of its own (projects)",
			now.Project, now.Repo, m.Project, m.Repo)
	case now.Pushed > m.Pushed:
		return false, "it leads to commit " + string(now.Commit) + ", which was pushed later", nil
	}
	return true, "", nil
}
