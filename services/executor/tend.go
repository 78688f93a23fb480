package executor

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// tendPause is how often it is looked whether something is due, and tendRetry how long after a cleanup that failed.
const (
	tendPause = time.Second
	tendRetry = time.Minute
)

// tend notes that something of an attempt is to be undone, at a time.
func (e *executor) tend(ref event.AttemptRef, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due[ref] = at
}

// dueNow takes the attempts whose time has come.
func (e *executor) dueNow() []event.AttemptRef {
	e.mu.Lock()
	defer e.mu.Unlock()
	var refs []event.AttemptRef
	for ref, at := range e.due {
		if !e.now().Before(at) {
			refs = append(refs, ref)
			delete(e.due, ref)
		}
	}
	return refs
}

// tendAll does what is due of attempts that are over: what an earlier executor of this place could not undo, workspaces
// that were kept and whose time has passed, places that could not be destroyed.
func (e *executor) tendAll(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-e.opened:
	}
	for {
		e.releaseKept(ctx)
		for _, ref := range e.dueNow() {
			if err := e.settle(ctx, ref); err != nil {
				e.log.Error("cannot undo what an attempt did; trying again", "run", ref.Run, "task", ref.Task, "attempt", ref.Attempt, "err", err)
				e.tend(ref, e.now().Add(tendRetry))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(tendPause):
		}
	}
}

// releaseKept makes due what is kept with places that are its own no more: whoever gave them back is done looking.
func (e *executor) releaseKept(ctx context.Context) {
	for _, ref := range e.notDue() {
		r, found, err := e.place.recorded(ref)
		if err != nil || !found || !r.KeptUntil.After(e.now()) || len(r.Data.Lease.Places) == 0 {
			continue
		}
		lost, _ := (&attempt{e: e, ref: ref, data: r.Data}).holds(ctx) // A stream that does not answer may answer the next time.
		if lost == nil {
			continue
		}
		r.KeptUntil = e.now()
		if err := e.place.record(ref, r); err != nil {
			e.log.Error("cannot end the keeping of a workspace", "run", ref.Run, "task", ref.Task, "attempt", ref.Attempt, "err", err)
			continue
		}
		e.tend(ref, r.KeptUntil)
	}
}

// notDue lists the attempts of which something is to be undone later.
func (e *executor) notDue() []event.AttemptRef {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.due))
}

// settle undoes what an attempt did that is over, and says that it is lost unless somebody has said how it ended.
func (e *executor) settle(ctx context.Context, ref event.AttemptRef) error {
	r, found, err := e.place.recorded(ref)
	if err != nil || !found {
		return err
	}
	if wait := r.KeptUntil.Sub(e.now()); wait > 0 {
		e.tend(ref, r.KeptUntil)
		return nil
	}
	a := &attempt{e: e, ref: ref, cancel: func(error) {}}
	left, err := a.settle(ctx, r)
	if err != nil {
		return err
	}
	if err := e.reportLost(ctx, ref, a.result.Unclean, a.result); err != nil {
		return err
	}
	if left {
		return fault.New(fault.Transient, "%s", a.result.Unclean)
	}
	return nil
}

// settle brings an attempt back as far as its cleanup needs it, and runs that. What can never be brought back is given up,
// and told.
func (a *attempt) settle(ctx context.Context, r record) (left bool, err error) {
	a.take(r.Data)
	a.quiet = true
	a.result.Class, a.result.Outcome = release.ClassLost, release.ClassLost.Outcome()
	if r.Result.Class != "" {
		a.result.Class, a.result.Outcome = r.Result.Class, r.Result.Outcome
	}
	err = a.bringBack(ctx, r)
	switch {
	case err == nil:
		_ = a.phase(phaseCleanup, func() error {
			a.result.Unclean, left = a.undo(ctx)
			return nil
		})
	case classOf(err) == release.ClassInfra:
		return false, err
	default:
		a.result.Unclean = "its cleanup cannot run any more: " + a.masker.Text(err.Error())
		a.forget()
	}
	a.closeLog(ctx)
	if !left {
		a.clear()
	}
	return left, nil
}

// bringBack is what an attempt knew when its executor ended.
func (a *attempt) bringBack(ctx context.Context, r record) error {
	if err := a.find(ctx); err != nil {
		return err
	}
	a.begun = true
	if !r.Made {
		a.maker = nil
	}
	if a.maker != nil && len(r.Addresses) > 0 {
		if err := a.move(r.Addresses); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(a.workspace()); err != nil {
		a.clear()
		if err := a.makeWorkspace(ctx); err != nil {
			return err
		}
	}
	if a.task.Gang.Each {
		a.nameNodes(ctx)
	}
	return nil
}

// reportLost says that an attempt was lost, unless somebody has said how it ended.
func (e *executor) reportLost(ctx context.Context, ref event.AttemptRef, unclean string, seen event.TaskFinished) error {
	b := e.deps.Bus
	started := event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt, Pool: e.config.Pool}
	cause, err := b.Get(ctx, event.Root(ref.Run, e.source(), e.now(), started).Subject())
	if bus.Empty(err) {
		return nil // These are not the facts that the workspace was made under.
	}
	if err != nil {
		return err
	}
	class := release.ClassLost
	mine, err := b.Claim(ctx, event.New(cause, e.source(), e.now(), event.TaskFinished{
		Task: ref.Task, Attempt: ref.Attempt, Pool: e.config.Pool, Executor: e.deps.Instance, Class: class, Outcome: class.Outcome(),
		Reason:  "the executor ended while the attempt ran; its processes were killed when it came back",
		Unclean: unclean, Log: seen.Log, LogLines: seen.LogLines, LastLines: seen.LastLines, Phases: seen.Phases,
	}))
	if err == nil && mine {
		e.log.Warn("an attempt of an earlier executor is lost", "run", ref.Run, "task", ref.Task, "attempt", ref.Attempt)
	}
	return err
}
