package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// deletable is a bus with a JetStream client beside it that deletes what it likes.
func deletable(t *testing.T) (*bus.Bus, jetstream.JetStream) {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return b, js
}

func hold(t *testing.T, b *bus.Bus, i int) {
	t.Helper()
	if err := b.Publish(t.Context(), event.Root("run", "/t/1", time.Now(), event.GateHeld{Request: fmt.Sprint(i)})); err != nil {
		t.Fatal(err)
	}
}

// TestADeletedRouteIsMadeAgain: a route whose consumer was deleted hears what is said since.
func TestADeletedRouteIsMadeAgain(t *testing.T) {
	t.Parallel()
	b, js := deletable(t)
	heard := make(chan string, 100)
	route := bus.Work("r", nil, func(_ context.Context, d *bus.Delivery[event.GateHeld]) error { heard <- d.Data.Request; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = b.Serve(ctx, "svc", "/svc/1", route) }()
	t.Cleanup(func() { cancel(); <-done })
	await := func(want string) {
		t.Helper()
		for end := time.After(time.Minute); ; {
			select {
			case got := <-heard:
				if got == want {
					return
				}
			case <-end:
				t.Fatalf("nothing was heard of %s", want)
			}
		}
	}
	hold(t, b, 0)
	await("0")
	if err := js.DeleteConsumer(t.Context(), bus.Facts, "svc-r"); err != nil {
		t.Fatal(err)
	}
	hold(t, b, 1)
	await("1")
}

// TestAFollowerOutlivesItsConsumers: one whose consumer is deleted reads on where it was: nothing is missing, nothing comes
// twice, and what was before it began stays there.
func TestAFollowerOutlivesItsConsumers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source bus.Following
		stored int // before it began
		want   int // the first
	}{
		"everything": {bus.Following{}, 4, 0}, "from a point": {bus.Following{From: 3}, 4, 2}, "what is new": {bus.Following{New: true}, 4, 4},
		"what is new after nothing": {bus.Following{New: true}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, js := deletable(t)
			for i := range c.stored {
				hold(t, b, i)
			}
			f, err := b.Follow(t.Context(), c.source)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			next := c.want
			read := func(until int) {
				t.Helper()
				for end := time.Now().Add(time.Minute); next < until; {
					batch, err := f.Next(t.Context(), time.Second)
					if err != nil || time.Now().After(end) {
						t.Fatalf("%d is not read: %v", next, err)
					}
					for _, e := range batch.Events {
						if got := e.Data.(event.GateHeld).Request; got != fmt.Sprint(next) {
							t.Fatalf("read %s, want %d", got, next)
						}
						next++
					}
				}
			}
			read(c.stored)
			for round := range 2 {
				removeConsumers(t, js)
				hold(t, b, c.stored+round)
				read(c.stored + 1 + round)
			}
		})
	}
}

// removeConsumers deletes every consumer that somebody is asking just now: who asks is told. One that was deleted before is only
// silent when it is asked, and missed when two of its beats are (test/sim has connections that fall silent).
func removeConsumers(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	stream, err := js.Stream(t.Context(), bus.Facts)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name := range stream.ConsumerNames(t.Context()).Name() {
		awaitQuestion(t, js, name)
		if err := js.DeleteConsumer(t.Context(), bus.Facts, name); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Fatal("no consumer: nothing was deleted")
	}
}

// awaitQuestion waits until somebody asks a consumer for messages.
func awaitQuestion(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		consumer, err := js.Consumer(t.Context(), bus.Facts, name)
		if err != nil {
			t.Fatal(err)
		}
		if consumer.CachedInfo().NumWaiting > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody asks %s for messages", name)
		}
	}
}

// TestAFollowerNoticesThatItIsPassedBy: its consumer lives, says so, and brings nothing, as on a server that was away and fills its
// stream again. A paused consumer is the same to whoever reads from it.
func TestAFollowerNoticesThatItIsPassedBy(t *testing.T) {
	t.Parallel()
	b, js := deletable(t)
	f, err := b.Follow(t.Context(), bus.Following{Name: "test", Types: []event.Type{event.TypeGateHeld}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stream, err := js.Stream(t.Context(), bus.Facts)
	if err != nil {
		t.Fatal(err)
	}
	for name := range stream.ConsumerNames(t.Context()).Name() {
		if paused, err := js.PauseConsumer(t.Context(), bus.Facts, name, time.Now().Add(time.Hour)); err != nil || !paused.Paused {
			t.Fatalf("cannot pause: %v", err)
		}
	}
	for i := range 3 {
		hold(t, b, i)
	}
	var got []string
	for end := time.Now().Add(time.Minute); len(got) < 3 && time.Now().Before(end); {
		batch, err := f.Next(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			got = append(got, e.Data.(event.GateHeld).Request)
		}
	}
	if fmt.Sprint(got) != "[0 1 2]" {
		t.Errorf("the follower of a paused consumer heard %v, expected each of three once", got)
	}
}
