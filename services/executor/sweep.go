package executor

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// sweepMost is how long a message about places that were made waits at a time.
const sweepMost = time.Hour

// sweep destroys places whose time has passed and that nobody has destroyed: those of an executor that died and did not
// come back. The message that they were made waits in the stream for that time; one executor of the pool gets it.
func (e *executor) sweep(ctx context.Context, d *bus.Delivery[event.PlacesCreated]) error {
	p := d.Data
	ref := event.AttemptRef{Run: d.Event.Run, Task: p.Task, Attempt: p.Attempt}
	_, err := e.deps.Bus.Get(ctx, event.Root(ref.Run, e.source(), e.now(), event.PlacesDestroyed{Task: p.Task, Attempt: p.Attempt}).Subject())
	if err == nil || !bus.Empty(err) {
		return err
	}
	if wait := p.Expires.Sub(e.now()); wait > 0 {
		return fault.Later(min(wait, sweepMost), "places of provider %s are to be destroyed by %s", p.Provider, p.Expires)
	}
	if _, own, err := e.place.recorded(ref); err != nil || own {
		return fault.Later(tendRetry, "places of provider %s are destroyed by the executor that made them", p.Provider)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a, err := e.register(ref, cancel)
	if a == nil || err != nil {
		return err
	}
	defer e.release(a, false)
	if err := a.sweep(running, p); err != nil {
		return fault.Later(tendRetry, "cannot destroy places whose time has passed: %w", err)
	}
	return e.sayDestroyed(ctx, ref, p.Provider)
}

// sweep makes a workspace as the attempt had one and destroys what it made.
func (a *attempt) sweep(ctx context.Context, p event.PlacesCreated) error {
	a.take(event.TaskDispatched{Task: p.Task, Attempt: p.Attempt, Pool: p.Pool, Plan: p.Plan, Lease: p.Lease})
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
