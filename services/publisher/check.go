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
)

// checkWithin is how long a target may take to answer beforehand. One that takes longer is asked again when the gate opens.
const checkWithin = time.Minute

// check asks every target beforehand what it will be asked again when the gate opens: are the secrets there, are the names
// free, are the files what they should be. So a version that is taken is known before hours of tests, not after them. It decides
// nothing: what is true now may not be then. A target in an environment that reviewers guard is not asked: their approval is
// what shows its secrets to a server that the definition names.
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
	frozen.Targets = slices.DeleteFunc(frozen.Targets, func(t plan.Target) bool { return p.guarded(frozen, t) })
	checked := make([]event.Payload, len(frozen.Targets))
	var group errgroup.Group
	group.SetLimit(16)
	for i, t := range frozen.Targets {
		group.Go(func() error {
			items, err := Select(c, t, p.openBlob)
			r := Release{Run: d.Event.Run, Project: frozen.Project, Commit: c.Commit, Branch: frozen.Change.Branch, Change: frozen.Change, Candidate: c, Items: items, plan: frozen}
			checked[i] = p.checkTarget(ctx, d.Data.Round, r, t, err)
			return nil
		})
	}
	_ = group.Wait()
	return d.Emit(ctx, checked...)
}

// guarded reports whether reviewers, or a ref that does not fit, stand before a target.
func (p *publisher) guarded(frozen *plan.Plan, t plan.Target) bool {
	return slices.ContainsFunc(p.config.Environments.OfTarget(frozen.Change.Project, t.Name), func(e environment.Protected) bool {
		admitted, _ := e.Admits(frozen.Change, frozen.Trust)
		return !admitted || e.Needs() > 0
	})
}

func (p *publisher) checkTarget(ctx context.Context, round int32, r Release, t plan.Target, err error) event.Payload {
	out := event.PublicationChecked{Target: t.Name, Kind: t.Kind, Round: round}
	if err == nil {
		var probe Probe
		probe, err = p.probe(ctx, r, t)
		out.Files = published(probe)
	}
	if err != nil {
		out.Fault, out.Reason = string(fault.Of(err)), err.Error()
	}
	return out
}

// probe asks a target what it has already of a release. It changes nothing.
func (p *publisher) probe(ctx context.Context, r Release, t plan.Target) (Probe, error) {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	leave := p.lanes.enter(r.Project+" "+t.Name, string(r.Run)+" check", p.deps.Now())
	if leave == nil {
		return Probe{}, fault.New(fault.Transient, "cannot ask target %s now: other steps of it are under way", t.Name)
	}
	defer leave()
	target, err := Open(t, Setup{Temp: p.config.Temp, Root: p.config.Root, Now: p.deps.Now}, p.granted(r, t))
	if err != nil {
		return Probe{}, err
	}
	probe, err := target.Probe(ctx, r)
	if ctx.Err() != nil {
		err = fault.As(fault.Transient, fmt.Errorf("target %s did not answer within %s: %w", t.Name, checkWithin, ctx.Err()))
	}
	return probe, err
}
