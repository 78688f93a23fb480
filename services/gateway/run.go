package gateway

import (
	"context"
	"strings"

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
		err = absent("cannot find run %s, or it has no plan yet; list them with sluice runs", run)
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

// hold keeps a gate shut. Once it has opened, no commit to a target begins until somebody resumes; what was published by then
// stays, and when all is, whoever asks must learn that it is too late.
func (g *gateway) hold(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r, event.TypeChangeReceived)
	if err != nil {
		return done{}, err
	}
	published, err := g.said(ctx, run, event.TypeReleasePublished)
	if err != nil {
		return done{}, err
	}
	if published {
		return done{}, fault.New(fault.Conflict, "cannot hold run %s: it is published", run)
	}
	if err := g.targeted(ctx, run, r.body.Before); err != nil {
		return done{}, err
	}
	id, err := g.say(ctx, run, event.GateHeld{Request: r.id, By: r.by, Reason: r.body.Reason, Before: r.body.Before})
	return done{Run: run, Event: id}, err
}

// targeted looks that a run has a target of a name; an empty name is none.
func (g *gateway) targeted(ctx context.Context, run release.RunID, name string) error {
	if name == "" {
		return nil
	}
	e, err := g.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(run))
	if err != nil && !bus.Empty(err) {
		return err
	}
	planned, _ := e.Data.(event.RunPlanned)
	if name == release.Irreversible && len(planned.Targets) > 0 {
		return nil
	}
	names := make([]string, 0, len(planned.Targets))
	for _, t := range planned.Targets {
		if names = append(names, t.Name); t.Name == name {
			return nil
		}
	}
	return fault.New(fault.Invalid, "cannot hold run %s before target %q: its targets are %s; or say %q", run, name, strings.Join(names, ", "), release.Irreversible)
}

// undo takes back what a release that is not complete has made visible. What everybody has is not taken back: the next version is.
func (g *gateway) undo(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r)
	if err != nil {
		return done{}, err
	}
	if strings.TrimSpace(r.body.Reason) == "" {
		return done{}, fault.New(fault.Invalid, "cannot undo the release of run %s without a reason: say why, for those who look at it", run)
	}
	published, err := g.said(ctx, run, event.TypeReleasePublished)
	if err != nil {
		return done{}, err
	}
	opened, err := g.said(ctx, run, event.TypeGateOpened)
	switch {
	case err != nil:
		return done{}, err
	case published:
		return done{}, fault.New(fault.Conflict, "cannot undo the release of run %s: it is published; release a newer version", run)
	case !opened:
		return done{}, fault.New(fault.Conflict, "cannot undo the release of run %s: its gate has not opened, and nothing is visible", run)
	}
	id, err := g.say(ctx, run, event.PublicationUndoRequested{Request: r.id, By: r.by, Reason: r.body.Reason})
	return done{Run: run, Event: id}, err
}

// approve says that a person approves the candidate that there is now. Another candidate needs another approval.
func (g *gateway) approve(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r, event.TypeChangeReceived)
	if err != nil {
		return done{}, err
	}
	candidate, err := g.candidate(ctx, run)
	if err != nil {
		return done{}, err
	}
	if candidate == "" {
		return done{}, fault.New(fault.Conflict, "cannot approve run %s: it has no candidate yet; approve it when its builds have ended", run)
	}
	id, err := g.say(ctx, run, event.GateApproved{Approver: r.who.Subject, By: r.by, Note: r.body.Note, Candidate: candidate})
	return done{Run: run, Event: id}, err
}

// candidate is the newest candidate of a run, or "".
func (g *gateway) candidate(ctx context.Context, run release.RunID) (release.Digest, error) {
	e, err := g.deps.Bus.Get(ctx, event.TypeCandidateAssembled.FilterRun(run))
	if bus.Empty(err) {
		return "", nil
	}
	if err != nil {
		return "", fault.As(fault.Transient, err)
	}
	return e.Data.(event.CandidateAssembled).Candidate, nil
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
