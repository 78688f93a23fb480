package reporter

import (
	"context"
	"slices"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// believe leaves out what a pool says of attempts of another pool. The scheduler reports it; the read model must not show
// it. Whose an attempt is stands in the facts before it; what an earlier process has folded is looked up.
func (r *reporter) believe(ctx context.Context, events []event.Event) ([]event.Event, error) {
	var failed error
	out := slices.DeleteFunc(events, func(e event.Event) bool {
		if failed != nil {
			return false
		}
		r.owners.Hear(e)
		believed, known := r.owners.Believes(e)
		if !known {
			believed, failed = r.lookUp(ctx, e)
		}
		return !believed
	})
	return out, failed
}

// lookUp asks the stream whether the attempt that a fact is about was given to the pool that says it.
func (r *reporter) lookUp(ctx context.Context, said event.Event) (bool, error) {
	ref, pool, _ := event.SaidByPool(said)
	for _, p := range []event.Payload{
		event.TaskRequested{Task: ref.Task}, event.TaskDispatched{Task: ref.Task, Attempt: ref.Attempt, Pool: pool},
	} {
		e, err := r.deps.Bus.Get(ctx, event.Event{Run: ref.Run, Type: p.EventType(), Key: p.Key()}.Subject())
		if bus.Empty(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		r.owners.Hear(e)
		believed, _ := r.owners.Believes(said)
		return believed, nil
	}
	return false, nil
}
