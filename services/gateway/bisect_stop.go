package gateway

import (
	"context"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// stopBisect ends a bisection, which may be named by the beginning of its id, and the runs that it waits for.
func (g *gateway) stopBisect(ctx context.Context, r request) (done, error) {
	s, err := g.aBisect(ctx, r.who, r.path("bisect"))
	if err == nil {
		err = r.in(s.Project, access.Developer)
	}
	if err != nil {
		return done{}, err
	}
	if s.State != bisectRunning {
		return done{}, fault.New(fault.Conflict, "cannot stop bisection %s: it has ended: %s", s.Bisect, s.State)
	}
	say := event.BisectEnded{Bisect: s.Bisect, Project: s.Project, Test: s.Test, Runs: int32(s.Runs), Reason: "stopped by " + r.by}
	if r.body.Reason != "" {
		say.Reason += ": " + r.body.Reason
	}
	id, err := g.say(ctx, event.Fleet, say)
	if err != nil {
		return done{}, err
	}
	return done{Event: id, Bisect: s.Bisect}, g.endRuns(ctx, s.Bisect, r)
}

// aBisect finds a bisection among those of the projects that somebody sees.
func (g *gateway) aBisect(ctx context.Context, who access.Identity, name string) (BisectStatus, error) {
	all, err := g.bisects(ctx)
	if err != nil {
		return BisectStatus{}, err
	}
	var found []BisectStatus
	for _, s := range all {
		if who.Sees(s.Project) && len(name) >= 4 && strings.HasPrefix(s.Bisect, name) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return BisectStatus{}, absent("cannot find bisection %.60q: %d are named so; list them with sluice bisect", name, len(found))
	}
	return found[0], nil
}

// endRuns cancels the runs of a bisection that go on.
func (g *gateway) endRuns(ctx context.Context, bisect string, r request) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var runs []release.RunID
	err := g.history(ctx, []event.Type{event.TypeBisectAdvanced}, func(e event.Event) {
		for _, run := range e.Data.(event.BisectAdvanced).Started {
			runs = append(runs, run.Run)
		}
	}, []string{bisect})
	if err != nil {
		return err
	}
	for _, run := range runs {
		ended, err := g.said(ctx, run, event.TypeRunFinished, event.TypeRunRejected)
		if err != nil {
			return err
		}
		if ended {
			continue
		}
		if _, err := g.say(ctx, run, event.RunCancelRequested{Request: r.id, By: r.by, Reason: "its bisection was stopped"}); err != nil {
			return err
		}
	}
	return nil
}
