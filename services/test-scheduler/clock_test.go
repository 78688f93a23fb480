package scheduler

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// jumping is a clock that can be set.
type jumping struct{ by atomic.Int64 }

func (j *jumping) now() time.Time { return time.Now().Add(time.Duration(j.by.Load())) }

// TestAClockThatJumps by two days, forward and back, in a scheduler that goes on: what runs is not lost, what is leased
// stays leased, and what waits for its retry waits no longer than it was to.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	h, clock := newHouse(t), &jumping{}
	h.jumpingScheduler(clock)
	released := make(chan struct{})
	h.executor("x1", func(ctx context.Context, ref event.AttemptRef) release.Class {
		switch {
		case ref.Run == run:
			select {
			case <-released:
			case <-ctx.Done():
			}
		case ref.Attempt == 1:
			return release.ClassCommand
		}
		return release.ClassOK
	})
	h.begin(run, 2, 0, func(p *plan.Plan) { p.Tasks[1].Lease = release.LeaseRequest{Provider: "lab"} })
	h.until(run, event.TypeTaskStarted, "linux.build-0.1")
	h.until(run, event.TypeTaskStarted, "linux.build-1.1")
	const days = 48 * time.Hour
	for i, jump := range []time.Duration{days, -2 * days, days} {
		again := release.RunID(fmt.Sprint("again-", i))
		h.begin(again, 1, 0, func(p *plan.Plan) {
			p.Tasks[0].Retry = []release.Retry{{Class: release.ClassCommand, Limit: 1, Wait: release.Duration(300 * time.Millisecond)}}
		})
		h.until(again, event.TypeTaskDelayed, "")
		clock.by.Add(int64(jump))
		h.untilSuccess(again, "build-0")
	}
	close(released)
	h.untilSuccess(run, "build-0")
	h.untilSuccess(run, "build-1")
	for _, e := range h.heard {
		if f, ok := e.Data.(event.TaskFinished); ok && f.Class == release.ClassLost {
			t.Errorf("%s of %s was lost: %s", f.Task, e.Run, f.Reason)
		}
	}
	if n := h.count(event.TypeLeaseGranted); n != 1 {
		t.Errorf("the place was given %d times, want once:\n%s", n, h.story())
	}
}

// jumpingScheduler runs the service by a clock.
func (h *house) jumpingScheduler(clock *jumping) {
	h.t.Helper()
	deps := service.Deps{Bus: h.bus, Blobs: h.blobs, Log: testLog(h.t), Now: clock.now, Instance: "s1"}
	s, err := New(Config{Providers: []Provider{{Name: "lab", Places: []PlaceConfig{{Name: "p1"}}}}}, deps)
	check(h.t, err)
	h.keep(func(ctx context.Context) error { return service.Run(ctx, deps, &service.Health{}, s) })
}
