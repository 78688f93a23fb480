package scheduler

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/schedule"
)

const (
	blindFor = 5 * time.Second        // until heartbeats are followed anew
	idle     = 10 * time.Second       // between looks when nothing is due
	settle   = 3 * time.Millisecond   // between decisions while facts still stream in
	patrol   = 100 * time.Millisecond // until an empty stream is known to be empty
)

// run folds the facts from their beginning, then decides whenever something changed, was stored, or is due.
func (s *scheduler) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	facts, beats := make(chan bus.Batch), make(chan bus.Batch)
	group.Go(func() error {
		return s.pump(ctx, facts, bus.Following{Name: Name + "-queue", Types: schedule.Hears()})
	})
	d := newDesk(s)
	group.Go(func() error { return s.watch(ctx, d, beats) })
	s.survey.show(d)
	group.Go(func() error { return d.pulse(ctx) })
	group.Go(func() error { return d.work(ctx, facts, beats) })
	err := group.Wait()
	d.sender.wait()
	return err
}

func heartbeats() []event.Type {
	return []event.Type{event.TypeExecutorHeartbeat, event.TypeSchedulerHeartbeat}
}

// watch follows the heartbeats. It begins anew while the desk is blind: the stream lives in memory, and may be another one
// since the server was restarted.
func (s *scheduler) watch(ctx context.Context, d *desk, beats chan<- bus.Batch) error {
	for {
		round, again := context.WithCancel(ctx)
		var looking sync.WaitGroup
		looking.Go(func() { d.whenBlind(round, again) })
		err := s.pump(round, beats, bus.Following{Name: Name + "-fleet", Stream: bus.Fleet, Latest: true, Types: heartbeats()})
		lost := err != nil && round.Err() == nil
		again()
		looking.Wait()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if lost {
			return err
		}
	}
}

// pump carries what a follower reads to the desk.
func (s *scheduler) pump(ctx context.Context, to chan<- bus.Batch, f bus.Following) error {
	follower, err := s.deps.Bus.Follow(ctx, f)
	if err != nil {
		return err
	}
	defer follower.Close()
	for wait := patrol; ; {
		batch, err := follower.Next(ctx, wait)
		if err != nil {
			return err
		}
		if batch.Live {
			wait = idle
		}
		select {
		case to <- batch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// work is the desk's day.
func (d *desk) work(ctx context.Context, facts, beats <-chan bus.Batch) error {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case batch := <-facts:
			d.take(batch, true)
		case batch := <-beats:
			d.take(batch, false)
		case <-d.sender.freed:
		case <-timer.C:
		}
		d.takeAll(facts, beats)
		if err := d.recall(ctx); err != nil {
			return err
		}
		timer.Reset(d.decide(ctx))
	}
}

// takeAll takes what has come meanwhile, so that one decision serves all of it.
func (d *desk) takeAll(facts, beats <-chan bus.Batch) {
	for range 16 {
		select {
		case batch := <-facts:
			d.take(batch, true)
		case batch := <-beats:
			d.take(batch, false)
		default:
			return
		}
	}
}
