package gateway

import (
	"context"
	"net/http"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// onRun makes an action that says one thing about a run that exists.
func (g *gateway) onRun(payload func(request) event.Payload) act {
	return func(ctx context.Context, r request) (done, error) {
		run, err := g.run(ctx, r, event.TypeChangeReceived)
		if err != nil {
			return done{}, err
		}
		id, err := g.say(ctx, run, payload(r))
		return done{Run: run, Event: id}, err
	}
}

// run reads the run of the path and looks that there is one, of which one of the types was said or a plan made: a fact
// about a run that never was would stay for ever.
func (g *gateway) run(ctx context.Context, r request, enough ...event.Type) (release.RunID, error) {
	run := release.RunID(r.path("run"))
	if !release.Token(string(run)) || run == event.Fleet {
		return "", fault.New(fault.Invalid, "cannot find run %q: its name has letters, digits, - and _ only", run)
	}
	said, err := g.said(ctx, run, append([]event.Type{event.TypeRunPlanned, event.TypeRunRejected}, enough...)...)
	if err == nil && !said {
		err = &refusal{http.StatusNotFound, fault.New(fault.Invalid, "cannot find run %s, or it has no plan yet; list them with sluice runs", run)}
	}
	return run, err
}

// said reports whether a fact of one of the types is stored of a run.
func (g *gateway) said(ctx context.Context, run release.RunID, types ...event.Type) (bool, error) {
	for _, t := range types {
		_, err := g.deps.Bus.Get(ctx, t.FilterRun(run))
		if !bus.Empty(err) {
			return err == nil, err
		}
	}
	return false, nil
}

// hold keeps a gate shut. One that has opened cannot be shut: whoever asks must learn that the release is on its way.
func (g *gateway) hold(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r, event.TypeChangeReceived)
	if err != nil {
		return done{}, err
	}
	opened, err := g.said(ctx, run, event.TypeGateOpened)
	if err != nil {
		return done{}, err
	}
	if opened {
		return done{}, fault.New(fault.Conflict, "cannot hold run %s: its gate has opened, and its release is on its way", run)
	}
	id, err := g.say(ctx, run, event.GateHeld{Request: r.id, By: r.by, Reason: r.body.Reason})
	return done{Run: run, Event: id}, err
}

// retry asks for tasks again, or, after a release that failed, for its targets to go on. Once the gate has opened the
// candidate is what it is: no task is made again.
func (g *gateway) retry(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r)
	if err != nil {
		return done{}, err
	}
	if r.body.All {
		return g.rerun(ctx, r, run)
	}
	opened, err := g.said(ctx, run, event.TypeGateOpened)
	if err != nil {
		return done{}, err
	}
	var wish event.Payload = event.RunRetryRequested{Request: r.id, By: r.by, Tasks: r.body.Tasks}
	if opened {
		if len(r.body.Tasks) > 0 {
			return done{}, fault.New(fault.Conflict, "cannot retry tasks of run %s: its gate has opened, and what was tested is what is published", run)
		}
		wish = event.PublicationRetryRequested{Request: r.id, By: r.by}
	}
	id, err := g.say(ctx, run, wish)
	return done{Run: run, Event: id}, err
}
