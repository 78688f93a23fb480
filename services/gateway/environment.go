package gateway

import (
	"context"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// approveEnvironment says that a reviewer lets a run use a protected environment, and publish the candidate that there is
// now. Only reviewers of the installation's file may, whatever their role.
func (g *gateway) approveEnvironment(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r, event.TypeChangeReceived)
	if err != nil {
		return done{}, err
	}
	name := r.path("environment")
	if err := g.reviews(ctx, r, run, name); err != nil {
		return done{}, err
	}
	candidate, err := g.candidate(ctx, run)
	if err != nil {
		return done{}, err
	}
	id, err := g.say(ctx, run, event.EnvironmentApproved{
		Environment: name, Reviewer: r.who.Subject, By: r.by, Note: r.body.Note, Candidate: candidate,
	})
	return done{Run: run, Event: id}, err
}

// reviews checks that the environment is protected, that the run may use it at all, and that who asks reviews it.
func (g *gateway) reviews(ctx context.Context, r request, run release.RunID, name string) error {
	e, err := g.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(run))
	if bus.Empty(err) {
		return inTheWay(fault.New(fault.Conflict, "cannot approve environment %.100q of run %s: the run has no plan yet", name, run))
	}
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	planned, _ := e.Data.(event.RunPlanned)
	p, protected := g.config.Environments.Find(planned.Change.Project, name)
	if !protected {
		return absent("cannot approve environment %.100q: the installation protects none of that name in project %s", name, planned.Change.Project)
	}
	if !p.ReviewedBy(r.who.Subject) {
		return fault.New(fault.Denied, "cannot approve environment %s as %s: you (%s) are not among its reviewers in the installation's file",
			name, r.by, r.who.Subject)
	}
	if admitted, why := p.Admits(planned.Change, planned.Trust); !admitted {
		return inTheWay(fault.New(fault.Conflict, "cannot approve environment %s of run %s: %s", name, run, why))
	}
	return nil
}
