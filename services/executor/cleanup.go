package executor

import (
	"context"
	"fmt"
	"strings"
	"time"

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
	ctx = context.WithoutCancel(ctx)
	if a.keep(ctx) {
		a.storeFiles(ctx)
		a.closeLog(ctx)
		return
	}
	_ = a.phase(phaseCleanup, func() error {
		var left bool
		a.result.Unclean, left = a.undo(ctx)
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
		return fmt.Errorf("its cleanup was skipped, as the definition or a comment asks for")
	case a.skips(phaseCleanup):
		return nil
	}
	ctx, cancel := bounded(ctx, a.cleanupLimit(), release.ClassInfraTimeout, "the cleanup")
	defer cancel()
	if err := a.prove(ctx); err != nil {
		return fmt.Errorf("its cleanup did not run: %w", err)
	}
	for _, n := range a.nodes {
		n.lost = nil // A node whose command failed is cleaned like the others.
	}
	class := release.ClassInfra
	return a.everywhere(ctx, order{phase: phaseCleanup, what: "the cleanup", text: a.task.Cleanup, class: class, env: map[string]string{
		"SLUICE_OUTCOME": string(a.result.Outcome), "SLUICE_CLASS": string(a.result.Class),
	}})
}

// keep leaves a failed attempt as it is for a person, if the task asks for that. Not what somebody cancelled, and not
// what has to leave this machine.
func (a *attempt) keep(ctx context.Context) bool {
	if !a.begun || a.task.Keep <= 0 || a.e.ending() {
		return false
	}
	switch a.result.Class {
	case release.ClassOK, release.ClassCancelled, release.ClassLost:
		return false
	}
	until := a.e.now().Add(a.task.Keep.Std()).UTC()
	if err := a.e.place.record(a.ref, record{Data: a.data, Made: a.maker != nil, KeptUntil: until, Result: a.result}); err != nil {
		a.e.log.Error("cannot keep the workspace of a failed attempt", "task", a.ref.Task, "err", err)
		return false
	}
	a.result.KeptUntil = until
	kept := []string{"the workspace is kept until " + until.Format(time.RFC3339)}
	if a.e.host != "" {
		kept = append(kept, "on "+a.e.host)
	}
	a.log.note(strings.Join(append(kept, "in "+a.dir), " "))
	a.e.tend(a.ref, until)
	return true
}
