package executor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// attempt is one attempt in hand.
type attempt struct {
	e      *executor
	ref    event.AttemptRef
	cancel context.CancelCauseFunc

	data     event.TaskDispatched
	plan     *plan.Plan
	task     *plan.Task
	dir      string // of the attempt: HOME, and the workspace and inputs below it
	secrets  map[string]string
	masker   *mask.Masker // of everything that is said
	searched *mask.Masker // of what is kept; nil when there is nothing to look for
	log      *output
	result   event.TaskFinished
}

// failure is an error that knows the class of the attempt's end.
type failure struct {
	class release.Class
	err   error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(class release.Class, format string, args ...any) error {
	return &failure{class, fmt.Errorf(format, args...)}
}

// classify gives an error the class that its kind means: what may pass is the platform's, what cannot is the given one.
func classify(otherwise release.Class, err error) error {
	var known *failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	if fault.Is(err, fault.Transient) || fault.Is(err, fault.Internal) {
		return &failure{release.ClassInfra, err}
	}
	return &failure{otherwise, err}
}

// run takes the attempt through its phases. Cleanup always runs; the result is always there.
func (a *attempt) run(ctx context.Context, data event.TaskDispatched) event.TaskFinished {
	a.data = data
	a.dir = a.e.place.attempt(a.ref)
	a.masker, _ = mask.New(nil)
	a.result = event.TaskFinished{
		Task: data.Task, Attempt: data.Attempt, Pool: a.e.config.Pool, Executor: a.e.deps.Instance,
	}
	err := a.phases(ctx)
	a.conclude(ctx, err)
	a.cleanup(ctx)
	return a.result
}

// phases runs what can fail. A panic is an error like others: the attempt must still be cleaned and reported.
func (a *attempt) phases(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.e.log.Error("an attempt panicked", "task", a.ref.Task, "panic", p, "stack", string(debug.Stack()))
			err = fail(release.ClassInfra, "the executor panicked: %v", p)
		}
	}()
	if err := a.find(ctx); err != nil {
		return err
	}
	if err := a.phase("prepare", func() error { return a.prepare(ctx) }); err != nil {
		return err
	}
	failed := a.phase("command", func() error { return a.command(ctx) })
	return a.phase("collect", func() error { return a.collect(ctx, failed) })
}

// phase measures what f does.
func (a *attempt) phase(name string, f func() error) error {
	start := time.Now()
	defer func() {
		a.result.Phases = append(a.result.Phases, event.Phase{
			Name: name, Start: start.UTC(), Took: release.Duration(time.Since(start)),
		})
	}()
	return f()
}

// find reads the task from the plan and opens what it needs to say anything: its secrets, so that they are masked, and
// its log.
func (a *attempt) find(ctx context.Context) error {
	p, task, err := a.e.plans.task(ctx, a.data.Plan, a.data.Task)
	if err != nil {
		return classify(release.ClassConfig, err)
	}
	a.plan, a.task = p, task
	withheld, err := a.findSecrets()
	if err != nil {
		return err
	}
	a.log = newOutput(a)
	if withheld != "" {
		a.log.note(withheld)
	}
	return nil
}

// conclude writes down how the attempt ended. An order from outside wins over what went wrong because of it.
func (a *attempt) conclude(ctx context.Context, err error) {
	class, reason := release.ClassOK, ""
	var known *failure
	var order *stopped
	switch {
	case err == nil:
	case errors.As(context.Cause(ctx), &order):
		class, reason = order.class, order.reason
	case ctx.Err() != nil:
		class, reason = release.ClassLost, "the executor ended"
	case errors.As(err, &known):
		class, reason = known.class, known.Error()
	default:
		class, reason = release.ClassInfra, err.Error()
	}
	a.result.Class, a.result.Outcome = class, class.Outcome()
	a.result.Reason = a.masker.Text(reason)
}

// cleanup closes the log and removes the workspace. The processes are gone since the driver's Wait returned. It goes on
// after a cancellation, with a time limit of its own.
func (a *attempt) cleanup(ctx context.Context) {
	limit := a.data.Timeouts.Cleanup.Std()
	if limit <= 0 {
		limit = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_ = a.phase("cleanup", func() error {
		a.closeLog(ctx)
		if err := a.e.place.remove(a.dir); err != nil {
			a.e.log.Error("cannot remove a workspace; the next start will try again", "dir", a.dir, "err", err)
		}
		return nil
	})
}

func (a *attempt) workspace() string { return filepath.Join(a.dir, workName) }
func (a *attempt) inputs() string    { return filepath.Join(a.dir, "inputs") }
