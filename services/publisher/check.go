package publisher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// checkWithin is how long a target may take to answer beforehand. One that takes longer is asked again when the gate opens.
const checkWithin = time.Minute

// preflight asks every target when the run is planned whether the installation gives its secrets, and whether they may write
// there: nobody is to learn after hours of tests that a token has expired. It decides nothing.
func (p *publisher) preflight(ctx context.Context, d *bus.Delivery[event.RunPlanned]) error {
	frozen, err := p.plan(ctx, d.Data.Plan)
	if fault.Is(err, fault.Transient) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // the change does not publish, and there is nothing to ask
	}
	checked := p.asked(frozen, func(t plan.Target) event.Payload {
		r := Release{Run: d.Event.Run, Project: frozen.Project, Commit: frozen.Change.Commit, Branch: frozen.Change.Branch, Change: frozen.Change, plan: frozen}
		err := p.within(ctx, r, t, func(ctx context.Context, target Target) error { return target.Access(ctx, r) })
		return heard(event.PublicationChecked{Target: t.Name, Kind: t.Kind, Planned: true}, err)
	})
	return d.Emit(ctx, checked...)
}

// check asks every target beforehand what it will be asked again when the gate opens: are the names free, are the files what
// they should be. So a version that is taken is known before hours of tests, not after them. What is true now may not be then; a
// name that other bytes have does not become free by itself.
func (p *publisher) check(ctx context.Context, d *bus.Delivery[event.CandidateAssembled]) error {
	frozen, err := p.plan(ctx, d.Data.Plan)
	if fault.Is(err, fault.Transient) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // the change does not publish, and there is nothing to check
	}
	c, err := p.candidate(ctx, d.Event.Run, frozen, d.Data.Blob)
	if err != nil {
		return err
	}
	checked := p.asked(frozen, func(t plan.Target) event.Payload {
		probe, err := p.probe(ctx, d.Event.Run, frozen, c, t)
		return heard(event.PublicationChecked{Target: t.Name, Kind: t.Kind, Round: d.Data.Round, Files: published(probe)}, err)
	})
	return d.Emit(ctx, checked...)
}

func heard(c event.PublicationChecked, err error) event.PublicationChecked {
	if err != nil {
		c.Fault, c.Reason = string(fault.Of(err)), err.Error()
	}
	return c
}

// asked asks the targets of a plan beforehand, several at a time. A target in an environment that reviewers guard is not asked:
// their approval is what shows its secrets to a server that the definition names.
func (p *publisher) asked(frozen *plan.Plan, ask func(plan.Target) event.Payload) []event.Payload {
	targets := slices.DeleteFunc(slices.Clone(frozen.Targets), func(t plan.Target) bool { return p.guarded(frozen, t) })
	out := make([]event.Payload, len(targets))
	var group errgroup.Group
	group.SetLimit(16)
	for i, t := range targets {
		group.Go(func() error {
			out[i] = ask(t)
			return nil
		})
	}
	_ = group.Wait()
	return out
}

// guarded reports whether reviewers, or a ref that does not fit, stand before a target.
func (p *publisher) guarded(frozen *plan.Plan, t plan.Target) bool {
	return slices.ContainsFunc(p.config.Environments.OfTarget(frozen.Change.Project, t.Name), func(e environment.Protected) bool {
		admitted, _ := e.Admits(frozen.Change, frozen.Trust)
		return !admitted || e.Needs() > 0
	})
}

// probe asks a target whether it takes a candidate, and what it has of it. It changes nothing.
func (p *publisher) probe(ctx context.Context, run release.RunID, frozen *plan.Plan, c release.Candidate, t plan.Target) (probe Probe, err error) {
	items, err := Select(c, t, p.openBlob)
	if err != nil {
		return probe, err
	}
	r := Release{Run: run, Project: frozen.Project, Commit: c.Commit, Branch: frozen.Change.Branch, Change: frozen.Change, Candidate: c, Items: items, plan: frozen}
	err = p.within(ctx, r, t, func(ctx context.Context, target Target) error {
		probe, err = ask(ctx, target, r)
		return err
	})
	return probe, err
}

// ask asks a target what it has of a release, and where it lacks something whether it may be written.
func ask(ctx context.Context, target Target, r Release) (Probe, error) {
	probe, err := target.Probe(ctx, r)
	if err == nil && probe.Present() < len(probe.Files) {
		err = target.Access(ctx, r)
	}
	return probe, err
}

// within opens a target and asks it something that changes nothing, within a minute.
func (p *publisher) within(ctx context.Context, r Release, t plan.Target, ask func(context.Context, Target) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	leave, err := p.lanes.wait(ctx, r.Project+" "+t.Name, string(r.Run)+" check", p.deps.Now)
	if err != nil {
		return fmt.Errorf("cannot ask target %s now: %w", t.Name, err)
	}
	defer leave()
	target, err := Open(t, p.setup(), p.granted(r, t))
	if err != nil {
		return err
	}
	err = ask(ctx, target)
	if ctx.Err() != nil {
		err = fault.As(fault.Transient, fmt.Errorf("target %s did not answer within %s: %w", t.Name, checkWithin, ctx.Err()))
	}
	return err
}
