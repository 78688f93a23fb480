package builder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	pace "github.com/sluiceci/sluice/pkg/await"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/fetch"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// Fetch is how the builder fetches what definitions say that others build.
type Fetch struct {
	fetch.Rules `yaml:",inline"`
	Downloads   int           `yaml:"downloads"` // at once; 4 when 0
	Waits       int           `yaml:"waits"`     // attempts that wait at once, of all builders; 10000 when 0
	Tell        time.Duration `yaml:"tell"`      // how often a wait that goes on is told; 1m when 0
	Beat        time.Duration `yaml:"-"`         // between heartbeats; 500ms when 0
}

// askers is how many attempts are asked for at once, downloads included.
const askers = 16

// fetcher serves the pool of tasks that fetch. An attempt that waits is a message in the stream, which comes again when it
// is time to ask: nobody holds it in between, and no end of a process loses it. That it has waited for too long is for the
// scheduler to say, as of every attempt that nobody has started.
type fetcher struct {
	config Fetch
	deps   service.Deps
	client *fetch.Client
	plans  *plans
	slots  chan struct{} // one for each download

	mu      sync.Mutex
	needed  time.Time // until then somebody waits, and is to see that this builder lives
	running map[event.AttemptRef]context.CancelCauseFunc
	answers map[event.AttemptRef]string // the last that was told
}

func newFetcher(config Fetch, deps service.Deps) *fetcher {
	config.Downloads, config.Waits = cmp.Or(config.Downloads, 4), cmp.Or(config.Waits, 10_000)
	config.Tell, config.Beat = cmp.Or(config.Tell, pace.Tell), cmp.Or(config.Beat, 500*time.Millisecond)
	return &fetcher{
		config: config, deps: deps, client: fetch.New(config.Rules, nil), plans: newPlans(deps.Blobs),
		slots:   make(chan struct{}, min(config.Downloads, askers-1)),
		running: map[event.AttemptRef]context.CancelCauseFunc{}, answers: map[event.AttemptRef]string{},
	}
}

func (f *fetcher) route() bus.Route {
	return bus.Work("fetch", []event.Type{event.TypeTaskAwaited, event.TypeTaskStarted, event.TypeTaskFinished}, f.take,
		bus.Key(release.FetchPool), bus.Workers(askers), bus.Pending(f.config.Waits))
}

// wait is one attempt that waits, as it is found when its message comes.
type wait struct {
	*bus.Delivery[event.TaskDispatched]
	ref  event.AttemptRef
	plan *plan.Plan
	task *plan.Task
}

// take asks for what an attempt is to fetch, and fetches it when it is there.
func (f *fetcher) take(ctx context.Context, d *bus.Delivery[event.TaskDispatched]) error {
	w := &wait{Delivery: d, ref: event.AttemptRef{Run: d.Event.Run, Task: d.Data.Task, Attempt: d.Data.Attempt}}
	if over, err := f.over(ctx, w.ref); over || err != nil {
		f.forget(w.ref)
		return err
	}
	var err error
	if w.plan, w.task, err = f.plans.task(ctx, d.Data.Plan, d.Data.Task); err != nil {
		return f.failed(ctx, w, err)
	}
	f.need(2*w.task.Fetch.Every.Std() + time.Minute)
	return f.ask(ctx, w)
}

func (f *fetcher) ask(ctx context.Context, w *wait) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := f.client.Open(running, w.task.Fetch.URL, w.task.Fetch.MaxSize)
	switch {
	case ctx.Err() != nil:
		return fault.As(fault.Transient, context.Cause(ctx))
	case fault.Is(err, fault.Transient):
		return f.later(ctx, w, err)
	case err != nil:
		return f.failed(ctx, w, fmt.Errorf("cannot fetch %s: %w", w.task.Fetch.URL, err))
	}
	defer func() { _ = body.Close() }() // it was read to its end, or is of no use
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	default:
		return bus.Again(min(time.Second, w.task.Fetch.Every.Std())) // too many are being taken
	}
	return f.download(running, cancel, w, body)
}

// over reports whether an attempt has ended without this builder: its time is over, its run is cancelled, or another
// builder has it.
func (f *fetcher) over(ctx context.Context, ref event.AttemptRef) (bool, error) {
	for _, said := range []event.Payload{
		event.TaskFinished{Task: ref.Task, Attempt: ref.Attempt, Pool: release.FetchPool},
		event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt, Pool: release.FetchPool},
	} {
		_, err := f.deps.Bus.Get(ctx, event.Root(ref.Run, Name, f.deps.Now(), said).Subject())
		if !bus.Empty(err) {
			return err == nil, err
		}
	}
	e, err := f.deps.Bus.Get(ctx, event.TypeTaskConcluded.FilterRun(ref.Run, string(ref.Task)))
	if bus.Empty(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return e.Data.(event.TaskConcluded).Attempts >= ref.Attempt, nil
}

// later tells how the wait goes, when it is time to, and has the message come again when it is time to ask.
func (f *fetcher) later(ctx context.Context, w *wait, answer error) error {
	began, now, every := w.Event.Stored, f.deps.Now(), w.task.Fetch.Every.Std()
	until := began.Add(w.Data.Timeouts.Queue.Std())
	// The last question is asked a little before the scheduler gives up.
	step := pace.Pace{Every: every, Tell: f.config.Tell}.Next(began, now, until.Add(-min(every, 2*time.Second)), false)
	if step.Do == pace.TimedOut {
		step.After = every
	}
	if asked := fault.RetryAfter(answer); asked > step.After && now.Add(asked).Before(until) {
		step.After = asked
	}
	if step.Tell || f.news(w.ref, answer) {
		told := event.TaskAwaited{
			Task: w.ref.Task, Attempt: w.ref.Attempt, Asked: w.Number(), Answer: answer.Error(), Next: now.Add(step.After), Until: until,
		}
		if err := w.Emit(ctx, told); err != nil {
			return err
		}
	}
	return bus.Again(step.After)
}

// news reports whether an answer is another than the last that this builder heard.
func (f *fetcher) news(ref event.AttemptRef, answer error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := answer.Error()
	if f.answers[ref] == text {
		return false
	}
	f.answers[ref] = text
	return true
}

func (f *fetcher) forget(ref event.AttemptRef) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.answers, ref)
}

// failed ends an attempt that no asking will help. What may pass is tried again.
func (f *fetcher) failed(ctx context.Context, w *wait, err error) error {
	if fault.Is(err, fault.Transient) {
		return err
	}
	result := f.result(w)
	result.Class, result.Reason = release.ClassConfig, err.Error()
	result.Outcome = result.Class.Outcome()
	_, err = w.Claim(ctx, result)
	f.forget(w.ref)
	return err
}

func (f *fetcher) result(w *wait) event.TaskFinished {
	return event.TaskFinished{Task: w.ref.Task, Attempt: w.ref.Attempt, Pool: release.FetchPool, Executor: f.deps.Instance}
}

// need makes the builder show for a while that it lives.
func (f *fetcher) need(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until := f.deps.Now().Add(d); until.After(f.needed) {
		f.needed = until
	}
}

// waits is how many slots the pool has, so that its window, which is twice that, has room for all who may wait.
func (f *fetcher) waits() int32 { return int32(min(max(1, f.config.Waits/2), math.MaxInt16)) }
