package gateway

import (
	"context"
	"strings"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// rerun starts all of a run again: a new run of the same commit, to which the builder gives the same plan. A success is
// final, since what was tested is what is published; so the run that there is stays as it is, whatever becomes of the new
// one. The new run's change is the one fact that says so, and what both are shown from.
func (g *gateway) rerun(ctx context.Context, r request, of release.RunID) (done, error) {
	if len(r.body.Tasks) > 0 {
		return done{}, fault.New(fault.Invalid, "cannot retry all of run %s and only some tasks of it: name no task, or leave out all", of)
	}
	planned, err := g.planned(ctx, of)
	if err != nil {
		return done{}, err
	}
	change := again(planned.Change, of, r.by, r.id)
	run := change.RunID()
	id, err := g.say(ctx, run, event.ChangeReceived{Change: change})
	return done{Run: run, Event: id}, err
}

// again is the change of a rerun. A bisection's runs say nothing of a branch, and nor do their reruns.
func again(c release.Change, of release.RunID, by, request string) release.Change {
	if strings.HasPrefix(c.Nonce, event.BisectNonce) {
		request = event.BisectNonce + request
	}
	return c.Rerun(of, by, request)
}

// planned is what was said of a run's plan; one without a plan cannot be run again as it was.
func (g *gateway) planned(ctx context.Context, run release.RunID) (event.RunPlanned, error) {
	e, err := g.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(run))
	if bus.Empty(err) {
		return event.RunPlanned{}, fault.New(fault.Conflict, "cannot run all of %s again: it has no plan; see sluice why %s", run, run)
	}
	if err != nil {
		return event.RunPlanned{}, err
	}
	planned, ok := e.Data.(event.RunPlanned)
	if !ok {
		return event.RunPlanned{}, fault.New(fault.Internal, "cannot run all of %s again: %s is not its plan", run, e.Describe())
	}
	return planned, nil
}
