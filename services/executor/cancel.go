package executor

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// hearCancels stops attempts in hand that somebody wants to end. An order to stop an attempt comes after its start; so
// it is enough to hear what is said from now on, and to look once for what was said about those already in hand.
func (e *executor) hearCancels(ctx context.Context) error {
	follower, err := e.deps.Bus.Follow(ctx, bus.Following{
		Name: Name + "-cancel", New: true, Types: []event.Type{event.TypeTaskCancelRequested, event.TypeRunCancelRequested},
	})
	if err != nil {
		return err
	}
	defer follower.Close()
	if err := e.lookForCancels(ctx); err != nil {
		return err
	}
	for {
		batch, err := follower.Next(ctx, time.Minute)
		if err != nil {
			return err
		}
		for _, one := range batch.Events {
			e.hearCancel(one)
		}
	}
}

func (e *executor) lookForCancels(ctx context.Context) error {
	for _, a := range e.inHand(anyone) {
		order := event.TaskCancelRequested{Task: a.ref.Task, Attempt: a.ref.Attempt}
		said, err := e.deps.Bus.Get(ctx, event.Root(a.ref.Run, e.source(), e.now(), order).Subject())
		if bus.Empty(err) {
			continue
		}
		if err != nil {
			return err
		}
		e.hearCancel(said)
	}
	return nil
}

// lookForOrders looks what was said about the attempts in hand of an executor that ends: it follows nothing any more, and
// what it does not end in time was given to others.
func (e *executor) lookForOrders(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := e.lookForCancels(ctx)
	for _, a := range e.inHand(anyone) {
		end := event.TaskFinished{Task: a.ref.Task, Attempt: a.ref.Attempt}
		said, none := e.deps.Bus.Get(ctx, event.Root(a.ref.Run, e.source(), e.now(), end).Subject())
		if none == nil && said.Source != e.source() {
			a.stop(release.ClassLost, "the attempt was declared ended while its executor drains")
		}
	}
	if err != nil {
		e.log.Warn("cannot look for orders; looking again", "err", err)
	}
}

func (e *executor) hearCancel(said event.Event) {
	reason := ""
	match := func(event.AttemptRef) bool { return false }
	switch p := said.Data.(type) {
	case event.TaskCancelRequested:
		reason = p.Reason
		match = func(ref event.AttemptRef) bool {
			return ref == event.AttemptRef{Run: said.Run, Task: p.Task, Attempt: p.Attempt}
		}
	case event.RunCancelRequested:
		reason = "the run was cancelled by " + p.By + ": " + p.Reason
		match = func(ref event.AttemptRef) bool { return ref.Run == said.Run }
	}
	for _, a := range e.inHand(match) {
		a.stop(release.ClassCancelled, reason)
	}
}
