package builder

import (
	"context"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// rerun gives a run the plan that another one has: the same blob. Nothing is read from git and nothing is resolved, so it
// does what the other run did, wherever the branch is now and whatever the installation would plan.
func (b *builder) rerun(ctx context.Context, d *bus.Delivery[event.ChangeReceived]) error {
	change := d.Data.Change
	frozen, digest, err := b.frozen(ctx, change.RerunOf)
	if err != nil {
		return err
	}
	if err := ofThePlan(frozen, change); err != nil {
		return err
	}
	said := announce(frozen, digest)
	planned := said[0].(event.RunPlanned)
	planned.Change = change
	planned.Release.Approvals = max(planned.Release.Approvals, b.config.Projects[change.Repo].Approvals)
	// The right to publish is the installation's as it is now: one that it took back is not in an old plan either.
	if denied := b.denied(frozen); denied != "" {
		planned.Targets, planned.Release.Denied, planned.Warnings = nil, denied, append(planned.Warnings, denied)
	}
	said[0] = planned
	return d.Emit(ctx, said...)
}

// ofThePlan checks that a plan is of the revision that is to be run again: nothing else has passed for its own.
func ofThePlan(frozen *plan.Plan, c release.Change) error {
	switch {
	case frozen == nil:
		return fault.New(fault.Invalid, "cannot run %s again: it has no plan", c.RerunOf)
	case frozen.Change.Repo != c.Repo || frozen.Change.Commit != c.Commit || frozen.Change.Ref != c.Ref || frozen.Change.Kind != c.Kind:
		return fault.New(fault.Invalid, "cannot run %s again as a %s of %s at %s of %s: its plan is for a %s of %s at %s of %s", c.RerunOf,
			c.Kind, c.Ref, c.Commit.Short(), c.Repo, frozen.Change.Kind, frozen.Change.Ref, frozen.Change.Commit.Short(), frozen.Change.Repo)
	}
	return nil
}
