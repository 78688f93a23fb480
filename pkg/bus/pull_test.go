package bus

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// heard serves a route whose workers stay busy until they may go on, and tells what they have in hand.
func heard(t *testing.T, b *Bus, workers int) (inHand <-chan release.TaskID, goOn chan<- struct{}) {
	t.Helper()
	tasks, free := make(chan release.TaskID, 100), make(chan struct{})
	r := Work("busy", nil, func(ctx context.Context, d *Delivery[event.TaskRequested]) error {
		tasks <- d.Data.Task
		select {
		case <-free:
		case <-ctx.Done():
		}
		return nil
	}, Workers(workers))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, "test", testSource, r) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return tasks, free
}

func next(t *testing.T, tasks <-chan release.TaskID) release.TaskID {
	t.Helper()
	select {
	case task := <-tasks:
		return task
	case <-time.After(time.Minute):
		t.Fatal("no message came within 10s")
		return ""
	}
}

func TestNoMessageWaitsBehindABusyWorker(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	inHand, goOn := heard(t, b, 2)
	for i := range 6 {
		publish(t, b, requested(release.TaskID(fmt.Sprint("t", i))))
	}
	seen := map[release.TaskID]bool{next(t, inHand): true, next(t, inHand): true}
	status, err := b.StreamStatus(t.Context(), Facts)
	if err != nil || len(status.Consumers) != 1 || status.Consumers[0].AckPending != 2 || status.Consumers[0].Pending != 4 {
		t.Fatalf("consumers are %+v (%v), want 2 messages in hand and 4 at the server", status.Consumers, err)
	}
	for range 4 {
		goOn <- struct{}{}
		seen[next(t, inHand)] = true
	}
	goOn <- struct{}{}
	goOn <- struct{}{}
	if len(seen) != 6 {
		t.Fatalf("%v came, want each of 6 once", seen)
	}
}

func TestARouteGoesOnWhenTheServerWasRestarted(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	inHand, goOn := heard(t, b, 1)
	publish(t, b, requested("before"))
	next(t, inHand)
	goOn <- struct{}{}
	eventually(t, func() (StreamStatus, bool) { // else the restart might lose the acknowledgement, and the message come again
		s, err := b.StreamStatus(t.Context(), Facts)
		return s, err == nil && len(s.Consumers) == 1 && s.Consumers[0].Lag() == 0 && s.Consumers[0].Waiting == 1
	})
	if err := b.server.restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (error, bool) {
		err := b.Publish(t.Context(), requested("after"))
		return err, err == nil
	})
	if task := next(t, inHand); task != "after" {
		t.Fatalf("%s came after the restart, want after", task)
	}
	goOn <- struct{}{}
}

func TestAShutGateTakesBackWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	tasks := make(chan release.TaskID, 10)
	shut, open := make(chan struct{}), make(chan struct{})
	r := Work("gated", nil, func(_ context.Context, d *Delivery[event.TaskRequested]) error {
		tasks <- d.Data.Task
		return nil
	}, Workers(2), Gate(func(ctx context.Context) {
		select {
		case <-shut:
			select {
			case <-open:
			case <-ctx.Done():
			}
		default:
		}
	}, func() <-chan struct{} {
		select {
		case <-open:
			return nil // it stays open
		default:
			return shut
		}
	}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, "test", testSource, r) }()
	waiting := func(n int) {
		t.Helper()
		eventually(t, func() (StreamStatus, bool) {
			s, err := b.StreamStatus(t.Context(), Facts)
			return s, err == nil && len(s.Consumers) == 1 && s.Consumers[0].Waiting == n
		})
	}
	waiting(2)
	close(shut)
	waiting(0)
	publish(t, b, requested("later"))
	select {
	case task := <-tasks:
		t.Errorf("%s came although the gate is shut", task)
	default:
	}
	close(open)
	if task := next(t, tasks); task != "later" {
		t.Errorf("%s came, want later", task)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
