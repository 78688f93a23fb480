package executor

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// lookAgain is how often the stream is asked about each attempt in hand. What is said while the connection is away
// is found then: an order to stop an attempt has a place of its own.
const lookAgain = 5 * time.Second

// hearCancels stops attempts in hand that somebody wants to end, as soon as it is said.
func (e *executor) hearCancels(ctx context.Context) error {
	if err := e.deps.Bus.Listen(ctx, event.TypeTaskCancelRequested, []string{e.config.Pool}, e.hearCancel); err != nil {
		return err
	}
	for {
		if err := e.lookForOrders(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// lookForOrders looks what was said about the attempts in hand: that one is to stop, or that it ended without this executor.
func (e *executor) lookForOrders(ctx context.Context) error {
	for _, a := range e.inHand(anyone) {
		if a.dispatched == 0 {
			continue // it cleans up after an attempt that has ended
		}
		order := event.TaskCancelRequested{Task: a.ref.Task, Attempt: a.ref.Attempt, Pool: e.config.Pool}
		said, err := e.deps.Bus.Get(ctx, event.Root(a.ref.Run, e.source(), e.now(), order).Subject())
		switch {
		case err == nil:
			e.hearCancel(said)
		case !bus.Empty(err):
			return err
		}
		end := event.TaskFinished{Task: a.ref.Task, Attempt: a.ref.Attempt, Pool: e.config.Pool}
		said, err = e.deps.Bus.Get(ctx, event.Root(a.ref.Run, e.source(), e.now(), end).Subject())
		switch {
		case err == nil && said.Source != e.source():
			a.stop(release.ClassLost, "the attempt was declared ended while its executor could not be reached")
		case err != nil && !bus.Empty(err):
			return err
		}
	}
	return nil
}

// lookWhileEnding is lookForOrders for an executor that ends: it follows nothing any more, and what it does not end in time
// was given to others.
func (e *executor) lookWhileEnding(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := e.lookForOrders(ctx); err != nil {
		e.log.Warn("cannot look for orders; looking again", "err", err)
	}
}

// ended reports whether an attempt is not to be started: it has ended, or its run was cancelled after it was dispatched. An
// attempt that was just dispatched is not asked about: if somebody cancels it now, it is told.
func (e *executor) ended(ctx context.Context, dispatched event.Event, d event.TaskDispatched) (bool, error) {
	if age := e.now().Sub(dispatched.Stored); age >= 0 && age < justNow {
		return false, nil
	}
	over, err := e.said(ctx, event.AttemptRef{Run: dispatched.Run, Task: d.Task, Attempt: d.Attempt}, event.TaskFinished{Task: d.Task, Attempt: d.Attempt, Pool: e.config.Pool})
	if over || err != nil {
		return over, err
	}
	cancelled, err := e.deps.Bus.Get(ctx, event.TypeRunCancelRequested.FilterRun(dispatched.Run))
	if bus.Empty(err) {
		return false, nil
	}
	return err == nil && cancelled.Seq > dispatched.Seq, err
}

// justNow is shorter than anybody needs to cancel what was dispatched.
const justNow = 500 * time.Millisecond

// hearCancel stops the attempt that an order names. What cancels a run reaches its attempts through the scheduler.
func (e *executor) hearCancel(said event.Event) {
	p, ok := said.Data.(event.TaskCancelRequested)
	if !ok {
		return
	}
	order := event.AttemptRef{Run: said.Run, Task: p.Task, Attempt: p.Attempt}
	for _, a := range e.inHand(func(ref event.AttemptRef) bool { return ref == order }) {
		a.stop(release.ClassCancelled, p.Reason)
	}
}
