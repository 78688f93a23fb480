package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// The phases that a definition, or a comment, can leave out.
const (
	phaseCleanupFirst = "cleanup-first"
	phasePrepare      = "prepare"
	phaseTest         = "test"
	phaseCleanup      = "cleanup"
)

func (a *attempt) skips(phase string) bool { return slices.Contains(a.task.SkipPhases, phase) }

// command runs the task's script, for as long as it may take: once, once on each node of a gang, once for each variant.
func (a *attempt) command(ctx context.Context) error {
	if a.skips(phaseTest) {
		return a.skipped()
	}
	if strings.TrimSpace(a.task.Run) == "" {
		return fail(release.ClassConfig, "cannot run task %s: it has no command", a.task.ID)
	}
	if err := a.prove(ctx); err != nil {
		return err
	}
	over := &overrun{}
	if limit := firstSet(a.data.Timeouts.Command, a.task.Timeouts.Command, release.Duration(a.task.TimeoutS*1e9)); limit > 0 {
		var cancel context.CancelFunc
		over.error = fail(release.ClassTimeout, "the command ran longer than %s", limit)
		ctx, cancel = context.WithTimeoutCause(ctx, limit, over)
		defer cancel()
	}
	return a.measure(ctx)
}

// overrun is the end of a command's time. For a task that runs as long as it may, that is success.
type overrun struct{ error }

func (o *overrun) Unwrap() error { return o.error }

// skipped is how an attempt ends whose command was left out: what was not run has proved nothing.
func (a *attempt) skipped() error {
	a.log.note("the command is left out: the phase test is skipped")
	if a.task.Kind == release.Prepare || a.task.Kind == release.Cleanup {
		return nil
	}
	return fail(release.ClassUnknown, "the phase test was skipped, so nobody knows whether the task would succeed")
}

// once runs the command where the attempt runs: here, or on every node of its gang.
func (a *attempt) once(ctx context.Context, env map[string]string) error {
	o := order{phase: phaseTest, what: "the command", text: a.task.Run, class: release.ClassCommand, env: env}
	err := a.everywhere(ctx, o)
	var over *overrun
	if a.task.LongRunning && errors.As(err, &over) {
		a.log.note("the command ran as long as it may, and was ended")
		return nil
	}
	return err
}

// everywhere runs a script here, or on every node of a gang.
func (a *attempt) everywhere(ctx context.Context, o order) error {
	if len(a.nodes) > 0 {
		return a.onNodes(ctx, o)
	}
	return a.script(ctx, a.here(), o)
}

// bounded gives ctx a limit, if there is one, with the error that it ends with.
func bounded(ctx context.Context, limit time.Duration, class release.Class, what string) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, fail(class, "%s took longer than %s", what, limit))
}
