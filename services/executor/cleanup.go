package executor

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// defaultCleanup is what cleaning may take where a task bounds it nowhere, and storeTime what storing a log may.
const (
	defaultCleanup = 5 * time.Minute
	storeTime      = 5 * time.Minute
)

// cleanFirst cleans the places before anything else uses them: who had them before may have left them in any state.
// Places that were made for this attempt are new.
func (a *attempt) cleanFirst(ctx context.Context) error {
	if a.task.Cleanup == "" || a.skips(phaseCleanupFirst) || len(a.lease.Places) == 0 || a.maker != nil {
		return nil
	}
	if err := a.prove(ctx); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, a.cleanupLimit(), release.ClassInfraTimeout, "cleaning the places")
	defer cancel()
	return a.phase(phaseCleanupFirst, func() error {
		return a.everywhere(ctx, order{phase: phaseCleanupFirst, what: "cleaning the places", text: a.task.Cleanup, class: release.ClassInfra})
	})
}

func (a *attempt) cleanupLimit() time.Duration {
	limits := []release.Duration{a.data.Timeouts.Cleanup}
	if a.task != nil {
		limits = append(limits, a.task.Timeouts.Cleanup)
	}
	return firstSet(append(limits, release.Duration(defaultCleanup))...)
}

// finish undoes what the attempt did, closes the log and removes the workspace; or, where a failed attempt is to be kept
// for a person, leaves all of it until its time. It goes on after a cancellation, with limits of its own.
func (a *attempt) finish(ctx context.Context) {
	a.show(ctx)
	ctx = context.WithoutCancel(ctx)
	if a.keep() {
		a.writeRecords()
		a.storeFiles(ctx)
		a.closeLog(ctx)
		return
	}
	_ = a.phase(phaseCleanup, func() error {
		var left bool
		a.result.Unclean, left = a.undo(ctx)
		a.writeRecords()
		a.storeFiles(ctx)
		a.closeLog(ctx)
		if left {
			a.e.tend(a.ref, a.e.now().Add(tendRetry))
			return nil
		}
		a.clear()
		return nil
	})
}

// clear removes the workspace. The processes are gone since the driver's Wait returned.
func (a *attempt) clear() {
	if err := a.e.place.remove(a.dir); err != nil {
		a.e.log.Error("cannot remove a workspace; the next start will try again", "dir", a.dir, "err", err)
	}
}

// undo runs the task's cleanup and destroys the places that were made for the attempt, whatever else went wrong. It
// returns why the places are not clean, or "", and whether some are left to be destroyed.
func (a *attempt) undo(ctx context.Context) (unclean string, left bool) {
	if !a.begun {
		return "", false
	}
	unclean = a.unclean(a.guarded(func() error { return a.cleanLast(ctx) }))
	if a.maker != nil { // What was destroyed need not be clean.
		unclean = a.unclean(a.guarded(func() error { return a.destroy(ctx) }))
		left = unclean != ""
	}
	if !left {
		a.forget()
	}
	return unclean, left
}

// unclean makes an error the reason that a result carries, and tells it in the log.
func (a *attempt) unclean(err error) string {
	if err == nil {
		return ""
	}
	text := a.masker.Text(err.Error())
	a.log.note(text)
	return text
}

// cleanLast runs the task's cleanup.
func (a *attempt) cleanLast(ctx context.Context) error {
	switch {
	case a.task.Cleanup == "":
		return nil
	case a.skips(phaseCleanup) && len(a.lease.Places) > 0 && a.maker == nil:
		return errors.New("its cleanup was skipped, as the definition or a comment asks for")
	case a.skips(phaseCleanup):
		return nil
	}
	ctx, cancel := bounded(ctx, a.cleanupLimit(), release.ClassInfraTimeout, "the cleanup")
	defer cancel()
	if err := a.prove(ctx); err != nil {
		return fail(release.ClassInfra, "its cleanup did not run: %w", err)
	}
	for _, n := range a.nodes {
		if n.driver != nil {
			n.lost = nil // A node whose command failed is cleaned like the others.
		}
	}
	class := release.ClassInfra
	return a.everywhere(ctx, order{phase: phaseCleanup, what: "the cleanup", text: a.task.Cleanup, class: class, env: map[string]string{
		"SLUICE_OUTCOME": string(a.result.Outcome), "SLUICE_CLASS": string(a.result.Class),
	}})
}

// worthKeeping reports whether somebody may want to look at what the attempt left: not where it succeeded, not what
// somebody cancelled, and not what has to leave this machine.
func (a *attempt) worthKeeping() bool {
	switch a.result.Class {
	case release.ClassOK, release.ClassCancelled, release.ClassLost:
		return false
	}
	return a.begun && !a.e.ending()
}

// show shows a failed attempt to whoever waits for one.
func (a *attempt) show(ctx context.Context) {
	if a.e.config.Failed == nil || !a.worthKeeping() || ctx.Err() != nil {
		return
	}
	a.e.config.Failed(ctx, Workspace{
		Task: a.ref.Task, Attempt: a.ref.Attempt, Dir: filepath.Join(a.workspace(), a.task.Directory),
		Env: a.environment(a.here(), order{phase: phaseTest}), Reason: a.result.Reason,
	})
}

// keep leaves a failed attempt as it is for a person, if the task or this executor says so.
func (a *attempt) keep() bool {
	if !a.worthKeeping() {
		return false
	}
	limit := firstSet(a.task.Keep, release.Duration(a.e.config.Keep))
	if limit <= 0 {
		return false
	}
	until := a.e.now().Add(limit).UTC()
	r := a.record()
	r.KeptUntil, r.Result = until, event.TaskFinished{Class: a.result.Class, Outcome: a.result.Outcome}
	if err := a.e.place.record(a.ref, r); err != nil {
		a.e.log.Error("cannot keep the workspace of a failed attempt", "task", a.ref.Task, "err", err)
		return false
	}
	a.result.KeptUntil = until
	a.log.note("kept until " + until.Format(time.RFC3339) + " on " + a.e.host + ": " + a.workspace())
	a.e.tend(a.ref, until)
	return true
}

// record is what stands on the disk of the attempt.
func (a *attempt) record() record {
	r, found, err := a.e.place.recorded(a.ref)
	if err != nil || !found {
		r = record{Data: a.data, Made: a.maker != nil}
	}
	return r
}
