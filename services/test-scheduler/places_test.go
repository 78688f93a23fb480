package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// lab is a provider of n places that are cleaned after use.
func lab(n int) Config {
	return Config{
		LostAfter: time.Second, Leases: LeaseConfig{Grace: time.Second, Wait: 50 * time.Millisecond},
		Providers: []Provider{{Name: "lab", Kind: Claim, Pool: "linux", Count: n, Clean: "true"}},
	}
}

// tenant is an executor that proves its lease before it works, and can be cut off from everything but the stream.
type tenant struct {
	h      *house
	name   string
	work   func(ctx context.Context, n *tenancy) release.Class
	silent chan struct{} // closed: no heartbeat is heard any more
	mu     sync.Mutex
	hand   map[event.AttemptRef]bool
}

// tenancy is an attempt of a tenant.
type tenancy struct {
	x    *tenant
	ref  event.AttemptRef
	held release.Lease
}

func (n *tenancy) prove() error {
	return lease.Prove(func(subject string) (event.Event, bool, error) {
		e, err := n.x.h.bus.Get(n.x.h.t.Context(), subject)
		if bus.Empty(err) {
			return e, false, nil
		}
		return e, err == nil, err
	}, n.ref, n.held)
}

// tenant starts one.
func (h *house) tenant(name string, work func(context.Context, *tenancy) release.Class) *tenant {
	x := &tenant{h: h, name: name, work: work, silent: make(chan struct{}), hand: map[event.AttemptRef]bool{}}
	says := []event.Type{event.TypeTaskStarted, event.TypeTaskFinished}
	route := bus.Work("run", says, x.take, bus.Key("linux"), bus.Workers(slots), bus.AckWait(time.Second), bus.Grace(time.Millisecond))
	stop := h.keep(func(ctx context.Context) error { return h.bus.Serve(ctx, "executor", "/executor/"+name, route) })
	h.keep(func(ctx context.Context) error {
		select {
		case <-x.silent:
			stop()
		case <-ctx.Done():
		}
		return nil
	})
	h.keep(x.live)
	return x
}

func (x *tenant) live(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		x.mu.Lock()
		beat := event.ExecutorHeartbeat{Pool: "linux", Executor: x.name, Slots: slots}
		for ref := range x.hand {
			beat.Running = append(beat.Running, ref)
		}
		x.mu.Unlock()
		if err := x.h.bus.Publish(ctx, event.Root(event.Fleet, "/executor/"+x.name, time.Now(), beat)); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-x.silent:
			return nil
		case <-tick.C:
		}
	}
}

func (x *tenant) take(ctx context.Context, d *bus.Delivery[event.TaskDispatched]) error {
	n := &tenancy{x: x, ref: event.AttemptRef{Run: d.Event.Run, Task: d.Data.Task, Attempt: d.Data.Attempt}, held: d.Data.Lease}
	mine, err := d.Claim(ctx, event.TaskStarted{Task: n.ref.Task, Attempt: n.ref.Attempt, Pool: "linux", Executor: x.name})
	if err != nil || !mine {
		return err
	}
	if err := d.Ack(); err != nil {
		return err
	}
	x.mu.Lock()
	x.hand[n.ref] = true
	x.mu.Unlock()
	class := x.work(context.WithoutCancel(ctx), n)
	x.mu.Lock()
	delete(x.hand, n.ref)
	x.mu.Unlock()
	_, err = d.Claim(context.WithoutCancel(ctx), event.TaskFinished{
		Task: n.ref.Task, Attempt: n.ref.Attempt, Pool: "linux", Executor: x.name, Class: class, Outcome: class.Outcome(),
		Phases: []event.Phase{{Name: "cleanup"}},
	})
	return err
}

// leasing is a run of builds that lease places.
func (h *house) leasing(id release.RunID, tasks, nodes int) {
	h.begin(id, tasks, 0, func(p *plan.Plan) {
		for i := range p.Tasks {
			p.Tasks[i].Lease = release.LeaseRequest{Provider: "lab", Nodes: int32(nodes)}
		}
	})
}

// within waits for what must come.
func within[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("it did not come")
		panic("unreachable")
	}
}

func proven(_ context.Context, n *tenancy) release.Class {
	if n.prove() != nil {
		return release.ClassLost
	}
	return release.ClassOK
}

// TestOnlyTheNewerTokenPasses: an executor falls silent with a place in its hands and goes on working. Its place is cleaned
// and given to another. When both look, the older one is told that the place is not its own any more.
func TestOnlyTheNewerTokenPasses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", lab(1))
	begun, resume := make(chan *tenancy, 1), make(chan struct{})
	old := h.tenant("old", func(_ context.Context, n *tenancy) release.Class {
		begun <- n
		<-resume
		return release.ClassOK
	})
	defer sync.OnceFunc(func() { close(resume) })()
	h.leasing(run, 1, 1)
	first := within(t, begun)
	if err := first.prove(); err != nil {
		t.Fatal(err)
	}
	close(old.silent)
	second := make(chan *tenancy, 1)
	h.tenant("new", func(ctx context.Context, n *tenancy) release.Class {
		if n.ref.Task != lease.TaskClean {
			second <- n
			select {
			case <-resume:
			case <-time.After(patience):
			}
		}
		return proven(ctx, n)
	})
	newer := within(t, second)
	if err := newer.prove(); err != nil {
		t.Fatalf("the newer holder: %v", err)
	}
	var lost *lease.Lost
	if err := first.prove(); !errors.As(err, &lost) || !strings.Contains(err.Error(), "the lease has ended") {
		t.Fatalf("the older holder: %v", err)
	}
	if a, b := first.held.Places[0], newer.held.Places[0]; a.Place != b.Place || a.Token >= b.Token {
		t.Fatalf("%+v, then %+v", a, b)
	}
	ended := h.until(event.Fleet, event.TypeLeaseEnded, fmt.Sprintf("lab.1.%d", first.held.Places[0].Token)).Data.(event.LeaseEnded)
	if ended.State != release.PlaceCleanupPending || !strings.Contains(ended.Reason, "lost") {
		t.Fatalf("%+v", ended)
	}
}

// TestGangsAndRestarts: gangs of two want three places, of two schedulers that come and go; each gets both or none, and
// every place is cleaned between two holders.
func TestGangsAndRestarts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stop := h.scheduler("s1", lab(3))
	h.scheduler("s2", lab(3))
	var mu sync.Mutex
	users := map[string]event.AttemptRef{}
	h.tenant("x1", func(ctx context.Context, n *tenancy) release.Class {
		if n.prove() != nil {
			return release.ClassLost
		}
		mu.Lock()
		for _, p := range n.held.Places {
			if other, taken := users[p.Place]; taken {
				t.Errorf("%v uses place %s, which %v has", n.ref, p.Place, other)
			}
			users[p.Place] = n.ref
		}
		mu.Unlock()
		if err := n.prove(); err != nil { // the work
			t.Errorf("%v lost its places while it used them: %v", n.ref, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, p := range n.held.Places {
			delete(users, p.Place)
		}
		return release.ClassOK
	})
	h.leasing(run, 6, 2)
	h.until(run, event.TypeTaskFinished, "")
	stop()
	h.scheduler("s3", lab(3))
	for i := range 6 {
		h.untilSuccess(run, release.TaskID(fmt.Sprint("build-", i)))
	}
	h.allFree(3)
	for _, e := range h.heard {
		if d, ok := e.Data.(event.TaskDispatched); ok && e.Run == run && len(d.Lease.Places) != 2 {
			t.Errorf("%+v", d)
		}
	}
}

// allFree waits until every place is free again.
func (h *house) allFree(n int) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		places := h.asked()
		free := slices.DeleteFunc(slices.Clone(places), func(p lease.Place) bool { return p.State != lease.Free })
		if len(free) == n {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%+v", places)
		}
		batch, err := h.facts.Next(h.t.Context(), 100*time.Millisecond)
		check(h.t, err)
		h.heard = append(h.heard, batch.Events...)
	}
}

// asked asks whichever scheduler answers.
func (h *house) asked() []lease.Place {
	h.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		places, err := bus.Ask[lease.Everything, []lease.Place](h.t.Context(), h.bus, lease.Topic, lease.Everything{})
		if err == nil || time.Now().After(deadline) {
			check(h.t, err)
			return places
		}
	}
}

// TestPlacesFollowTheInstallation: what the file no longer offers is taken away, and what it offers again is back.
func TestPlacesFollowTheInstallation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i, n := range []int{2, 1, 2} {
		stop := h.scheduler(fmt.Sprint("s", i), lab(n))
		for deadline := time.Now().Add(patience); ; {
			offered := slices.DeleteFunc(h.asked(), func(p lease.Place) bool { return p.State == lease.Removed })
			if len(offered) == n && offered[0].Pool == "linux" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v, want %d", offered, n)
			}
		}
		stop()
	}
}

func TestProvidersAreChecked(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Provider{
		"its name has":           {Name: "a.b"},
		"its kind is \"create\"": {Name: "lab", Kind: "create", Count: 1},
		"it has no \"clean\"":    {Name: "lab", Kind: Claim, Count: 1},
		"it has 0 places":        {Name: "lab"},
		"it has 10001 places":    {Name: "lab", Count: maxPlaces + 1},
		"its pool is":            {Name: "lab", Pool: "a.b", Count: 1},
		"its commands run on":    {Name: "lab", On: "moon", Count: 1},
		"stands there twice":     {Name: "lab", Places: []PlaceConfig{{Name: "1"}}, Count: 1},
		"must be named":          {Name: "lab", Places: []PlaceConfig{{Name: "../x"}}},
		"has capacity -1":        {Name: "lab", Places: []PlaceConfig{{Name: "x", Capacity: -1}}},
		"has an address":         {Name: "lab", Places: []PlaceConfig{{Name: "x", Address: "host:22"}}},
		"has a password":         {Name: "lab", Places: []PlaceConfig{{Name: "x", Address: "ssh://u:p@h"}}},
	} {
		_, err := Config{Providers: []Provider{p}}.checked()
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
	lab := Provider{Name: "lab", Places: []PlaceConfig{{Name: "desk", Address: "local"}, {Name: "rack", Address: "ssh://ci@rack:22"}}}
	if _, err := (Config{Providers: []Provider{lab}}).checked(); err != nil || lab.Places[0].address() != "" || lab.Places[1].address() != "ssh://ci@rack:22" {
		t.Errorf("a place on this machine: %v, %q", err, lab.Places[0].address())
	}
	twice := Provider{Name: "lab", Count: 1}
	if _, err := (Config{Providers: []Provider{twice, twice}}).checked(); err == nil {
		t.Error("two providers have one name")
	}
}
