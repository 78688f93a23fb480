package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	testRun    release.RunID = "4f2a9c1d-test"
	testSource               = "/test/1"
)

// start gives a test a real server of its own.
func start(t testing.TB, options Options) *Bus {
	t.Helper()
	server, err := Embed(ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func requested(task release.TaskID) event.Event {
	return event.Root(testRun, testSource, time.Now(), event.TaskRequested{Task: task, Pool: "linux"})
}

func TestPublishStoresOncePerPlace(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	for range 3 {
		if err := b.Publish(t.Context(), requested("a"), requested("b")); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(all(t, b)); got != 2 {
		t.Fatalf("stored %d events, want 2", got)
	}
}

func TestClaimHasOneWinner(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			e := event.Root(testRun, fmt.Sprintf("/executor/%d", i), time.Now(), event.TaskStarted{Task: "a", Attempt: 1, Pool: "linux"})
			for range 2 { // asking again gives the same answer
				mine, err := b.Claim(t.Context(), e)
				if err != nil {
					t.Error(err)
				}
				if mine {
					won.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if won.Load() != 2 {
		t.Fatalf("claimed %d times, want twice by one of eight", won.Load())
	}
}

func TestFullStreamIsTransientAndLosesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, Options{MaxBytes: 20_000})
	var stored int
	for i := range 100 {
		err := b.Publish(t.Context(), requested(release.TaskID(fmt.Sprintf("task-%d", i))))
		if err == nil {
			stored++
			continue
		}
		if !fault.Is(err, fault.Transient) {
			t.Fatalf("a full stream gave %v (%s), want a transient error", err, fault.Of(err))
		}
	}
	if stored == 0 || stored == 100 {
		t.Fatalf("stored %d of 100, want some and not all", stored)
	}
	if got := len(all(t, b)); got != stored {
		t.Fatalf("the stream has %d events, but %d were acknowledged", got, stored)
	}
}

func TestRouteSaysWhatFollowsThenAcknowledges(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	var tries atomic.Int32
	r := On("start", []event.Type{event.TypeTaskStarted},
		func(_ context.Context, e event.Event, p event.TaskRequested) ([]event.Payload, error) {
			if tries.Add(1) == 1 {
				return nil, fault.New(fault.Transient, "cannot yet")
			}
			return []event.Payload{event.TaskStarted{Task: p.Task, Attempt: 1, Pool: "linux"}}, nil
		})
	serve(t, b, r)
	publish(t, b, requested("a"))
	got := until(t, b, event.TypeTaskStarted)
	if got.Cause != requested("a").ID || tries.Load() != 2 {
		t.Fatalf("cause %q after %d tries, want %q after 2", got.Cause, tries.Load(), requested("a").ID)
	}
}

func TestUndeclaredEmissionBecomesADeadLetterThatCanBeReplayed(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	var mended atomic.Bool
	r := Work("odd", []event.Type{event.TypeTaskStarted}, func(ctx context.Context, d *Delivery[event.TaskRequested]) error {
		if !mended.Load() {
			return fault.New(fault.Invalid, "cannot read it")
		}
		return d.Emit(ctx, event.TaskStarted{Task: d.Data.Task, Attempt: 1, Pool: "linux"})
	})
	serve(t, b, r)
	publish(t, b, requested("a"))
	letter := eventually(t, func() (DeadLetter, bool) {
		letters, err := b.DeadLetters(t.Context(), 0, 10)
		return append(letters, DeadLetter{})[0], err == nil && len(letters) == 1
	})
	if letter.Reason != "cannot read it" || letter.Fault != "invalid" || letter.Consumer != "test-odd" {
		t.Fatalf("dead letter %+v", letter)
	}
	if err := b.Replay(t.Context(), letter.Seq); err == nil {
		t.Fatal("a replay that fails again must say so")
	}
	mended.Store(true)
	if err := b.Replay(t.Context(), letter.Seq); err != nil {
		t.Fatal(err)
	}
	until(t, b, event.TypeTaskStarted)
	if letters, _ := b.DeadLetters(t.Context(), 0, 10); len(letters) != 0 {
		t.Fatalf("still %d dead letters after the replay", len(letters))
	}
}

func TestEmitRefusesWhatTheRouteDoesNotDeclare(t *testing.T) {
	t.Parallel()
	d := &delivery{route: &Route{Name: "x", Says: []event.Type{event.TypeTaskStarted}}, event: requested("a"), bus: &Bus{now: time.Now}}
	err := d.Emit(t.Context(), event.TaskFinished{Task: "a", Attempt: 1, Pool: "linux"})
	if !fault.Is(err, fault.Internal) {
		t.Fatalf("got %v, want an internal error", err)
	}
}

func TestFollowReadsHistoryThenThePresent(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	f, err := b.Follow(t.Context(), Following{Name: "test", Types: []event.Type{event.TypeTaskRequested}})
	if err != nil {
		t.Fatal(err)
	}
	if batch, err := f.Next(t.Context(), time.Millisecond); err != nil || !batch.Live || len(batch.Events) != 0 {
		t.Fatalf("an empty stream gave %+v, %v; want an empty live batch", batch, err)
	}
	var want []event.Event
	for i := range 2500 {
		want = append(want, requested(release.TaskID(fmt.Sprintf("t%d", i))))
	}
	publish(t, b, want...)
	var got []event.Event
	for len(got) < len(want) {
		batch, err := f.Next(t.Context(), time.Minute)
		if err != nil || len(batch.Events) == 0 {
			t.Fatalf("after %d events: %v", len(got), err)
		}
		got = append(got, batch.Events...)
	}
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Seq != uint64(i+1) {
			t.Fatalf("event %d is %s at %d, want %s", i, got[i].ID, got[i].Seq, want[i].ID)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err        error
		deliveries uint64
		want       verdict
	}{
		{nil, 1, verdict{ack: true}},
		{fault.New(fault.Transient, "x"), 1, verdict{later: 100 * time.Millisecond}},
		{fault.New(fault.Transient, "x"), 500, verdict{later: time.Minute}},
		{fault.Later(time.Hour, "x"), 3, verdict{later: time.Hour}},
		{Again(20 * time.Millisecond), 500, verdict{later: 20 * time.Millisecond}},
		{fmt.Errorf("wrapped: %w", Again(time.Second)), 1, verdict{later: time.Second}},
		{errors.New("unknown"), 2, verdict{later: 200 * time.Millisecond}},
		{errors.New("unknown"), 5, verdict{dead: true}},
		{fault.New(fault.Invalid, "x"), 1, verdict{dead: true}},
		{fault.New(fault.Denied, "x"), 1, verdict{dead: true}},
		{fault.New(fault.Conflict, "x"), 1, verdict{dead: true}},
		{context.DeadlineExceeded, 1, verdict{later: 100 * time.Millisecond}},
	} {
		if got := judge(c.err, c.deliveries); got != c.want {
			t.Errorf("judge(%v, %d) = %+v, want %+v", c.err, c.deliveries, got, c.want)
		}
	}
}

func serve(t *testing.T, b *Bus, r Route) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, "test", testSource, r) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestManyEventsAreStoredOnceAlsoWhenSomeWere(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	var events []event.Event
	for i := range 3 * batchMost {
		events = append(events, requested(release.TaskID(fmt.Sprint("t", i))))
	}
	publish(t, b, events[batchMost+7])
	for range 2 {
		publish(t, b, events...)
	}
	stored := all(t, b)
	if len(stored) != len(events) {
		t.Fatalf("%d events are stored, want %d", len(stored), len(events))
	}
	if stored[batchHead+1].Key != events[batchHead].Key {
		t.Fatalf("%s comes after the head, want %s", stored[batchHead+1].Key, events[batchHead].Key)
	}
}

func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	stored, err := b.publishBatch(t.Context(), []event.Event{requested("a"), requested("b")})
	if !stored || err != nil {
		t.Fatalf("a batch was stored: %v, %v", stored, err)
	}
	stored, err = b.publishBatch(t.Context(), []event.Event{requested("c"), requested("b")})
	if stored || err != nil {
		t.Fatalf("a batch with a place that is taken was stored: %v, %v", stored, err)
	}
	if got := len(all(t, b)); got != 2 {
		t.Fatalf("%d events are stored, want the 2 of the first batch", got)
	}
}

func publish(t *testing.T, b *Bus, events ...event.Event) {
	t.Helper()
	if err := b.Publish(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
}

// all reads every fact that is stored now.
func all(t *testing.T, b *Bus) []event.Event {
	t.Helper()
	f, err := b.Follow(t.Context(), Following{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []event.Event
	for {
		batch, err := f.Next(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, batch.Events...)
		if batch.Live {
			return out
		}
	}
}

func until(t *testing.T, b *Bus, want event.Type) event.Event {
	t.Helper()
	f, err := b.Follow(t.Context(), Following{Name: "test", Types: []event.Type{want}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	batch, err := f.Next(t.Context(), time.Minute)
	if err != nil || len(batch.Events) == 0 {
		t.Fatalf("no %s within 10s: %v", want, err)
	}
	return batch.Events[0]
}

// eventually polls a real server for what it does on its own time.
func eventually[T any](t *testing.T, look func() (T, bool)) T {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		got, ok := look()
		if ok {
			return got
		}
		select {
		case <-deadline:
			t.Fatalf("still %+v after 10s", got)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
