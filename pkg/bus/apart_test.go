package bus

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// house is an embedded server with a pool in an account of its own, whose work a scheduler gives it.
type house struct {
	t      *testing.T
	server *Server
	keys   map[string]NKey
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, keys: map[string]NKey{}}
	var known []Identity
	for _, r := range RightsOf([]Duties{
		{Identity: "setup", Declares: true},
		{Identity: "scheduler", Says: []string{event.TypeTaskDispatched.Filter()}, Asks: []string{"token.a"}, All: true},
		{Identity: "operator", Operates: true},
		{
			Identity: "pool-a", Apart: true, LogsOf: "a", Says: []string{event.TypeTaskFinished.Filter("a")}, Answers: []string{"token.a"},
			Durables: map[string]string{"executor-run-a": event.TypeTaskDispatched.Filter("a")},
		},
	}) {
		k, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		h.keys[r.Identity] = k
		known = append(known, Identity{Rights: r, Public: k.Public})
	}
	var err error
	if h.server, err = Embed(ServerOptions{Dir: t.TempDir(), NoSync: true, Identities: known}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.server.Close)
	return h
}

func (h *house) connect(identity string, declares ...Served) *Bus {
	h.t.Helper()
	k := h.keys[identity]
	b := New(Options{Identity: identity, Key: &k, Onlooker: identity != "setup", Durables: declares})
	if err := b.OpenIn(h.t.Context(), h.server); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(b.Close)
	return b
}

// run is the pool's route; it counts what it is given.
func run(given *atomic.Int64) Route {
	return Work("run", nil, func(context.Context, *Delivery[event.TaskDispatched]) error { given.Add(1); return nil }, Key("a"), Workers(4))
}

func dispatched(i int) event.Event {
	return event.Root("r", "/scheduler/1", time.Now(), event.TaskDispatched{Task: "t", Attempt: int32(i + 1), Pool: "a"})
}

func (h *house) serve(b *Bus, r Route) {
	ctx, stop := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, "executor", "/executor/a", r) }()
	h.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
}

// remembered counts whom the server still has to answer in another account.
func (h *house) remembered() int {
	h.t.Helper()
	n := 0
	for _, name := range []string{global, "pool-a"} {
		a, err := h.server.current().LookupAccount(name)
		if err != nil {
			h.t.Fatal(err)
		}
		n += a.NumPendingAllResponses() + a.NumPendingReverseResponses()
	}
	return n
}

// TestTheServerForgetsWhomItAnswered: a pool asks for messages and publishes over one inbox for as long as it runs, and the server
// remembers only what it has not answered yet. What is given back is forgotten at once.
func TestTheServerForgetsWhomItAnswered(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var given atomic.Int64
	route := run(&given)
	h.connect("setup", Served{"executor", route})
	scheduler, pool := h.connect("scheduler"), h.connect("pool-a")
	h.serve(pool, route)
	const work = 3000
	for i := range work {
		if err := scheduler.Publish(t.Context(), dispatched(i)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() (int64, bool) { n := given.Load(); return n, n == work })
	eventually(t, func() (int, bool) { n := h.remembered(); return n, n <= 2*4 }) // four requests stand
	asked := make(chan struct{}, 1)
	const pulls = 10_000
	var answers atomic.Int64
	inbox := pool.conn.NewInbox()
	sub, err := pool.conn.Subscribe(inbox, func(*nats.Msg) {
		if answers.Add(1) == pulls {
			asked <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range pulls {
		if err := pool.conn.PublishRequest(api+"CONSUMER.MSG.NEXT.FACTS.executor-run-a", inbox, []byte(`{"batch":1,"no_wait":true}`)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatalf("%d of %d requests were answered", answers.Load(), pulls)
	}
	eventually(t, func() (int, bool) { n := h.remembered(); return n, n <= 2*4 })
	for range 100 {
		if err := pool.conn.PublishRequest(api+"CONSUMER.MSG.NEXT.FACTS.executor-run-a", inbox, one); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() (int, bool) { n := h.remembered(); return n, n >= 100 })
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (int, bool) { n := h.remembered(); return n, n <= 2*4 })
}

// TestAPoolWaitsForItsConsumer: a pool that starts before its consumer was declared says what is missing and what to do, and
// begins by itself when it is there. It goes on after a restart of the server.
func TestAPoolWaitsForItsConsumer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.connect("setup") // declares the streams only
	scheduler, pool := h.connect("scheduler"), h.connect("pool-a")
	var given atomic.Int64
	route := run(&given)
	h.serve(pool, route)
	eventually(t, func() (string, bool) {
		reason := pool.Unserved()["executor-run-a"]
		return reason, reason != "" && strings.Contains(reason, `"sluice setup"`) && strings.Contains(reason, "pool-a")
	})
	setup := h.connect("setup", Served{"executor", route})
	for round := range 2 {
		eventually(t, func() (error, bool) {
			err := scheduler.Publish(t.Context(), dispatched(round))
			return err, err == nil
		})
		eventually(t, func() (int64, bool) { n := given.Load(); return n, n == int64(round+1) })
		eventually(t, func() (map[string]string, bool) { out := pool.Unserved(); return out, len(out) == 0 })
		if round == 0 {
			if _, err := setup.js.Consumer(t.Context(), Facts, "executor-run-a"); err != nil {
				t.Fatal(err)
			}
			if err := h.server.restart(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestQuestionsCrossAccounts: who asks a pool gets its answer, and an operator replays its dead letters.
func TestQuestionsCrossAccounts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	failed := fmt.Errorf("it is broken")
	var tries atomic.Int64
	route := Work("run", nil, func(context.Context, *Delivery[event.TaskDispatched]) error {
		if tries.Add(1) == 1 {
			return fault.As(fault.Invalid, failed)
		}
		return nil
	}, Key("a"))
	h.connect("setup", Served{"executor", route})
	scheduler, pool, operator := h.connect("scheduler"), h.connect("pool-a"), h.connect("operator")
	if err := Answer(t.Context(), pool, "token.a", func(_ context.Context, q string) (string, error) { return q + "!", nil }); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (error, bool) {
		a, err := Ask[string, string](t.Context(), scheduler, "token.a", "hear")
		return err, err == nil && a == "hear!"
	})
	h.serve(pool, route)
	publish(t, scheduler, dispatched(0))
	letters := eventually(t, func() ([]DeadLetter, bool) {
		all, err := operator.DeadLetters(t.Context(), 0, 10)
		return all, err == nil && len(all) == 1
	})
	if err := operator.Replay(t.Context(), letters[0].Seq); err != nil || tries.Load() != 2 {
		t.Fatalf("after a replay the route was tried %d times: %v", tries.Load(), err)
	}
}

// TestARefusalIsNoTimeout: what the server does not let an identity say is an error of kind denied at once, with the subject and
// the identity, wherever it is said.
func TestARefusalIsNoTimeout(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.connect("setup")
	pool := h.connect("pool-a")
	foreign := event.Root("r", "/executor/a", time.Now(), event.TaskFinished{Task: "t", Attempt: 1, Pool: "b"})
	batch := make([]event.Event, 0, batchHead+batchMin)
	for i := range cap(batch) {
		batch = append(batch, event.Root("r", "/executor/a", time.Now(), event.TaskFinished{Task: "t", Attempt: int32(i), Pool: "b"}))
	}
	for name, try := range map[string]func() error{
		"publish":  func() error { return pool.Publish(t.Context(), foreign) },
		"a batch":  func() error { return pool.Publish(t.Context(), batch...) },
		"claim":    func() error { _, err := pool.Claim(t.Context(), foreign); return err },
		"read":     func() error { _, err := pool.Get(t.Context(), foreign.Subject()); return err },
		"question": func() error { _, err := Ask[int, int](t.Context(), pool, "token.b", 1); return err },
		"follow":   func() error { _, err := pool.Follow(t.Context(), Following{}); return err },
		"log": func() error {
			wait, err := pool.PublishLog(LogChunk{Pool: "b", Run: "r", Task: "t", Attempt: 1})
			if err != nil {
				return err
			}
			return wait(t.Context())
		},
	} {
		if err := try(); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "pool-a") {
			t.Errorf("%s: got %v (%s), want an error of kind denied", name, err, fault.Of(err))
		}
	}
}
