package reporter

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

const (
	idleWait = 10 * time.Second
	// linger is how long facts are gathered before they are written: a page is as old as that, and a transaction costs
	// as much as many facts. While facts stream in it is done some times over: one among a hundred costs a third of one
	// among ten.
	linger    = 30 * time.Millisecond
	lingers   = 5
	stream    = 16 // facts within one linger, from which they stream in
	gatherMax = 2048
)

// fold follows the facts into the tables for ever, from where the tables are.
func (r *reporter) fold(ctx context.Context) error {
	stream, err := r.deps.Bus.StreamStatus(ctx, bus.Facts)
	if err != nil {
		return err
	}
	from, err := r.model.Resume(ctx, stream.Created.UTC().Format(time.RFC3339Nano))
	if err != nil {
		return err
	}
	f, err := r.deps.Bus.Follow(ctx, bus.Following{Name: Name, From: from + 1})
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		events, last, err := gather(ctx, f)
		if err != nil {
			return err
		}
		if last <= from {
			continue
		}
		if events, err = r.believe(ctx, events); err != nil {
			return err
		}
		runs, err := r.model.Apply(ctx, events, from, last)
		if err != nil {
			return err
		}
		from = last
		r.hub.Changed(runs)
	}
}

// gather waits for a fact and then takes what comes within a little while. It sleeps meanwhile: to be woken for each fact
// would cost as much as to write it.
func gather(ctx context.Context, f *bus.Follower) ([]event.Event, uint64, error) {
	batch, err := f.Next(ctx, idleWait)
	if err != nil || len(batch.Events) == 0 {
		return nil, batch.Last, err
	}
	events, last := batch.Events, batch.Last
	for n := range lingers {
		if len(events) >= gatherMax || n > 0 && len(events) < stream {
			break
		}
		wait := linger
		if batch.Live { // else what comes is there already
			pause(ctx, linger)
			wait = 0
		}
		if batch, err = f.Next(ctx, wait); err != nil {
			return nil, 0, err
		}
		events, last = append(events, batch.Events...), batch.Last
	}
	return events, last, nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
