package scheduler

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// executor speaks the events of one, and does nothing.
type executor struct {
	h    *house
	name string
	work func(ctx context.Context, ref event.AttemptRef) release.Class // nil succeeds at once

	mu   sync.Mutex
	hand map[event.AttemptRef]bool
	ran  map[event.AttemptRef]int
}

const slots = 4

// executor starts one; kill ends it as a crash does, without a word.
func (h *house) executor(name string, work func(context.Context, event.AttemptRef) release.Class) (x *executor, kill func()) {
	x = &executor{h: h, name: name, work: work, hand: map[event.AttemptRef]bool{}, ran: map[event.AttemptRef]int{}}
	says := []event.Type{event.TypeTaskStarted, event.TypeTaskFinished}
	route := bus.Work("run", says, x.take, bus.Key("linux"), bus.Workers(slots), bus.AckWait(time.Second), bus.Grace(time.Millisecond))
	stopRoute := h.keep(func(ctx context.Context) error { return h.bus.Serve(ctx, "executor", "/executor/"+name, route) })
	stopHeart := h.keep(x.live)
	return x, func() { stopHeart(); stopRoute() }
}

func (x *executor) live(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		e := event.Root(event.Fleet, "/executor/"+x.name, time.Now(), event.ExecutorHeartbeat{
			Pool: "linux", Executor: x.name, Slots: slots, Running: x.running(),
		})
		if err := x.h.bus.Publish(ctx, e); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (x *executor) running() []event.AttemptRef {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []event.AttemptRef
	for ref := range x.hand {
		out = append(out, ref)
	}
	return out
}

func (x *executor) note(ref event.AttemptRef, has bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if has {
		x.hand[ref] = true
		x.ran[ref]++
	} else {
		delete(x.hand, ref)
	}
}

func (x *executor) take(ctx context.Context, d *bus.Delivery[event.TaskDispatched]) error {
	ref := event.AttemptRef{Run: d.Event.Run, Task: d.Data.Task, Attempt: d.Data.Attempt}
	mine, err := d.Claim(ctx, event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt, Pool: "linux", Executor: x.name})
	if err != nil || !mine {
		return err
	}
	if err := d.Ack(); err != nil {
		return err
	}
	x.note(ref, true)
	defer x.note(ref, false)
	class := release.ClassOK
	if x.work != nil {
		class = x.work(ctx, ref)
	}
	if ctx.Err() != nil {
		return nil // killed
	}
	_, err = d.Claim(ctx, event.TaskFinished{
		Task: ref.Task, Attempt: ref.Attempt, Pool: "linux", Executor: x.name, Class: class, Outcome: class.Outcome(),
	})
	return err
}

func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
