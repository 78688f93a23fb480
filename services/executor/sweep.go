package executor

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// How long a message about places that were made waits at a time.
const (
	sweepMost  = time.Hour
	sweepAgain = 3 * time.Second // while the attempt goes on
)

// sweep destroys places whose time has passed and that nobody has destroyed: those of an executor that died and did not
// come back. Places of an attempt that has not ended are in use, whatever the time is. The message that they were made waits
// in the stream; one executor of the pool gets it.
func (e *executor) sweep(ctx context.Context, d *bus.Delivery[event.PlacesCreated]) error {
	p := d.Data
	ref := event.AttemptRef{Run: d.Event.Run, Task: p.Task, Attempt: p.Attempt}
	if gone, err := e.said(ctx, ref, event.PlacesDestroyed{Task: p.Task, Attempt: p.Attempt, Pool: p.Pool}); gone || err != nil {
		return err
	}
	if wait := p.Expires.Sub(e.now()); wait > 0 {
		return fault.Later(min(wait, sweepMost), "places of provider %s are to be destroyed by %s", p.Provider, p.Expires)
	}
	ended, err := e.said(ctx, ref, event.TaskFinished{Task: p.Task, Attempt: p.Attempt, Pool: p.Pool})
	if err != nil {
		return err
	}
	if !ended { // it takes longer than was thought, or this machine's clock is wrong
		return fault.Later(sweepAgain, "places of provider %s are in use beyond %s", p.Provider, p.Expires)
	}
	if _, own, err := e.place.recorded(ref); err != nil || own {
		return fault.Later(tendRetry, "places of provider %s are destroyed by the executor that made them", p.Provider)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a, err := e.register(ref, 0, cancel)
	if a == nil || err != nil {
		return err
	}
	defer e.release(a)
	given, err := e.given(ctx, ref, p.Pool)
	if err != nil {
		return err
	}
	if err := a.sweep(running, p, given.Environment); err != nil {
		return fault.Later(tendRetry, "cannot destroy places whose time has passed: %w", err)
	}
	return e.sayDestroyed(ctx, ref, p.Provider)
}

// said reports whether the stream has a fact of an attempt.
func (e *executor) said(ctx context.Context, ref event.AttemptRef, p event.Payload) (bool, error) {
	_, err := e.deps.Bus.Get(ctx, event.Root(ref.Run, e.source(), e.now(), p).Subject())
	if bus.Empty(err) {
		return false, nil
	}
	return err == nil, err
}

// given reads the dispatch of an attempt; an empty one when the stream does not have it any more.
func (e *executor) given(ctx context.Context, ref event.AttemptRef, pool string) (event.TaskDispatched, error) {
	place := event.TaskDispatched{Task: ref.Task, Attempt: ref.Attempt, Pool: pool}
	found, err := e.deps.Bus.Get(ctx, event.Root(ref.Run, e.source(), e.now(), place).Subject())
	if bus.Empty(err) {
		return place, nil
	}
	if err != nil {
		return place, err
	}
	given, _ := found.Data.(event.TaskDispatched)
	return given, nil
}

// sweep makes a workspace as the attempt had one and destroys what it made.
func (a *attempt) sweep(ctx context.Context, p event.PlacesCreated, environment string) error {
	a.take(event.TaskDispatched{Task: p.Task, Attempt: p.Attempt, Pool: p.Pool, Plan: p.Plan, Lease: p.Lease, Environment: environment})
	a.quiet = true
	if err := a.find(ctx); err != nil {
		return err
	}
	defer a.clear()
	if a.maker == nil {
		return nil
	}
	if err := a.makeWorkspace(ctx); err != nil {
		return err
	}
	return a.destroyMade(ctx, p.Expires)
}
