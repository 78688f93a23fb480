package reporter

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

const (
	idleWait = time.Second
	// linger is how long facts are gathered before they are written: a page is as old as that, and a transaction costs
	// as much as many facts.
	linger    = 30 * time.Millisecond
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
		runs, err := r.model.Apply(ctx, events, from, last)
		if err != nil {
			return err
		}
		from = last
		r.hub.Changed(runs)
	}
}

// gather waits for a fact and then takes what comes within a little while.
func gather(ctx context.Context, f *bus.Follower) ([]event.Event, uint64, error) {
	batch, err := f.Next(ctx, idleWait)
	if err != nil || len(batch.Events) == 0 {
		return nil, batch.Last, err
	}
	events, last := batch.Events, batch.Last
	for until := time.Now().Add(linger); len(events) < gatherMax; {
		left := time.Until(until)
		if left <= 0 {
			break
		}
		batch, err := f.Next(ctx, left)
		if err != nil {
			return nil, 0, err
		}
		events, last = append(events, batch.Events...), batch.Last
	}
	return events, last, nil
}
