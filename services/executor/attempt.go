package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
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

	started    bool   // it was claimed by this executor; the executor's lock guards it
	dispatched uint64 // place in the stream of its dispatch; 0 when it cleans up after one that has ended

	data     event.TaskDispatched
	plan     *plan.Plan
	task     *plan.Task
	dir      string // of the attempt: HOME, and the workspace and inputs below it
	secrets  map[string]string
	masker   *mask.Masker // of everything that is said
	searched *mask.Masker // of what is kept; nil when there is nothing to look for
	log      *output
	lease    release.Lease     // what was dispatched, with the addresses of places that were made for it
	maker    *plan.Provider    // whose places are made for this attempt; nil when they are there already
	makers   map[string]string // secrets of the maker's commands
	nodes    []*node           // of a gang
	caches   []*cached

	cacheRoot *os.Root // the workspace, as it was opened when caches were laid

	claimed bool         // it is run here from its beginning, and may ask for identity tokens
	quiet   bool         // its log is not shown live: that has ended
	yields  atomic.Bool  // it is being ended to make room on the disk
	image   atomic.Value // what its last command ran in
	begun   bool         // a command may have run: whatever becomes of the attempt, its cleanup is due
	result  event.TaskFinished
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

// take fills the attempt with what was dispatched.
func (a *attempt) take(data event.TaskDispatched) {
	a.data, a.lease = data, data.Lease
	a.dir = a.e.place.attempt(a.ref)
	a.masker = a.e.bare
	a.result = event.TaskFinished{
		Task: data.Task, Attempt: data.Attempt, Pool: a.e.config.Pool, Executor: a.e.deps.Instance,
	}
}

// run takes the attempt through its phases. Cleanup always runs; the result is always there.
func (a *attempt) run(ctx context.Context, data event.TaskDispatched) event.TaskFinished {
	a.take(data)
	a.claimed = true
	err := a.guarded(func() error { return a.phases(ctx) })
	a.conclude(ctx, err)
	a.finish(ctx)
	a.closeCaches()
	return a.result
}

// guarded makes a panic an error like others: the attempt must still be cleaned and reported.
func (a *attempt) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.e.log.Error("an attempt panicked", "task", a.ref.Task, "panic", p, "stack", string(debug.Stack()))
			err = fail(release.ClassInfra, "the executor panicked: %v", p)
		}
	}()
	return f()
}

// phases runs what can fail, in its order: the workspace, the places, the first cleanup, the preparation, the command.
func (a *attempt) phases(ctx context.Context) error {
	if err := a.find(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := a.phase("prepare", func() error { return a.setUp(ctx) }); err != nil {
		return err
	}
	setUp := time.Since(began)
	if err := a.begin(); err != nil {
		return err
	}
	guarded, stop := a.guardLease(ctx)
	defer stop()
	if err := a.getReady(guarded, setUp); err != nil {
		return err
	}
	failed := a.phase("command", func() error { return a.command(guarded) })
	return a.phase("collect", func() error {
		err := a.collect(guarded, failed)
		if err == nil {
			err = a.judge()
		}
		if err == nil {
			a.saveCaches(guarded)
		}
		return err
	})
}

// getReady brings the places up, cleans them and prepares.
func (a *attempt) getReady(ctx context.Context, setUp time.Duration) error {
	if err := a.awaitNodes(ctx); err != nil {
		return err
	}
	if err := a.cleanFirst(ctx); err != nil {
		return err
	}
	return a.prepare(ctx, setUp)
}

// phase measures what f does. A phase that goes on after another is told once.
func (a *attempt) phase(name string, f func() error) error {
	start := time.Now()
	defer func() {
		took := release.Duration(time.Since(start))
		for i := range a.result.Phases {
			if a.result.Phases[i].Name == name {
				a.result.Phases[i].Took += took
				return
			}
		}
		a.result.Phases = append(a.result.Phases, event.Phase{Name: name, Start: start.UTC(), Took: took})
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
	if err := a.accepted(); err != nil {
		return err
	}
	a.findMaker()
	withheld, err := a.findSecrets(ctx)
	if err != nil {
		return err
	}
	a.log = newOutput(a)
	if withheld != "" {
		a.log.note(withheld)
	}
	return a.checkLease()
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
		class, reason = a.blameDisk(ctx, known.class, known.Error())
	default:
		class, reason = release.ClassInfra, err.Error()
	}
	a.result.Class, a.result.Outcome = class, class.Outcome()
	a.result.Reason = a.masker.Text(reason)
}

func (a *attempt) workspace() string { return filepath.Join(a.dir, workName) }
func (a *attempt) inputs() string    { return filepath.Join(a.dir, inputsName) }
