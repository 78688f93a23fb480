package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func has(list []string, want string) bool { return slices.Contains(list, want) }

func inPool(name string) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Pool = name }
}

func inGroup(r *event.TaskRequested) { r.Group, r.GroupLimit = "g", 1 }

// TestAPoolWithoutExecutorsHoldsNothing: a has what b waits for and nobody can start it. It is taken back, given again when
// b has had its turn, and none of that is a retry.
func TestAPoolWithoutExecutorsHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]func(*event.TaskRequested){"group": inGroup, "place": leases(1)} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " restart=", restart), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, Config{})
				b.offer("m1")
				live := func() { b.beat("linux", "x", 4) }
				live()
				b.say(requested("a", inPool("dead"), share, retries(release.Retry{Class: release.ClassInfraTimeout})))
				if got := b.follow(); !has(got, "dispatch a.1") {
					t.Fatalf("an autoscaler sees no queue: %v", got)
				}
				if got := b.watch(time.Hour, live); has(got, "finish a.1 infra_timeout") {
					t.Fatalf("it was withdrawn, and nobody wanted what it holds: %v", got)
				}
				b.say(requested("b", share))
				if restart {
					b.again()
				}
				got := b.watch(2*time.Minute, live)
				if !has(got, "finish a.1 infra_timeout") || !has(got, "dispatch b.1") || has(got, "dispatch a.2") {
					t.Fatalf("decided %v; b: %s", got, Explain(b.s, testRun, "b", b.now).Reason)
				}
				b.say(start("b", 1), finished("b"))
				got = b.watch(time.Minute, live)
				if !has(got, "dispatch a.2") {
					t.Errorf("a is not given again: %v; %s", got, Explain(b.s, testRun, "a", b.now).Reason)
				}
			})
		}
	}
}

// TestNothingIsWithdrawnInPassing: executors that were not heard yet, or come within a minute, keep what they were given.
func TestNothingIsWithdrawnInPassing(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	both := func() { b.beat("linux", "x", 4); b.beat("gpu", "g", 1) }
	both()
	b.say(requested("a", inPool("gpu"), inGroup))
	b.follow()
	b.say(requested("b", inGroup))
	b.pass(time.Hour)
	b.again()
	b.beat("linux", "x", 4)
	b.want(b.watch(50*time.Second, func() { b.beat("linux", "x", 4) }))
	b.want(b.watch(time.Hour, both))
}

func TestADrainedPoolKeepsNothingReserved(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{PassOver: 2})
	b.offer("m1", "m2")
	both := func() { b.beat("linux", "x", 4, "holder.1"); b.beat("gpu", "g", 4) }
	both()
	b.say(requested("holder", leases(1, "m1")))
	b.follow()
	b.say(start("holder", 1))
	b.say(requested("gang", inPool("gpu"), leases(2), priority(10)), requested("small", leases(1)))
	b.want(b.watch(time.Minute, both))
	if why := Explain(b.s, testRun, "small", b.now); !strings.Contains(why.Reason, "1 before it") {
		t.Fatalf("the gang does not keep m2: %s", why.Reason)
	}
	b.store(event.Fleet, event.PoolDrainRequested{Request: "1", Pool: "gpu", By: "ann"})
	if got := b.watch(5*time.Second, both); !has(got, "dispatch small.1") {
		t.Errorf("the gang's pool is drained, m2 is free, and small waits: %v, %s", got, Explain(b.s, testRun, "small", b.now).Reason)
	}
}

// TestAGangIsNotOvertaken, however long it waits and whether the scheduler looked all the while.
func TestAGangIsNotOvertaken(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(*bench, func()){
		"5 minutes": func(b *bench, live func()) { b.watch(5*time.Minute, live) },
		"an hour":   func(b *bench, live func()) { b.watch(time.Hour, live) },
		"it slept":  func(b *bench, live func()) { b.pass(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			b.offer("m1", "m2", "m3")
			b.say(requested("holder", leases(1, "m1")))
			b.follow()
			b.say(start("holder", 1))
			live := func() { b.beat("linux", "x", 9, "holder.1"); b.beat("aix", "y", 9) }
			live()
			b.follow()
			b.say(requested("gang", leases(3), priority(10)))
			b.follow()
			wait(b, live)
			b.say(requested("small", inPool("aix"), leases(1))) // a pool that is looked at first
			b.watch(5*time.Second, live)
			if strings.Contains(b.leased(), "small") {
				t.Errorf("a small task of lower priority got a place that the gang waits for: %s", b.leased())
			}
		})
	}
}

// TestForOutlivesARestart: how long a place may be held stands in the request, which is a fact.
func TestForOutlivesARestart(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart=", restart), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			b.offer("m1")
			b.say(requested("a", func(r *event.TaskRequested) {
				r.Lease = release.LeaseRequest{Provider: "lab", For: release.Duration(time.Hour)}
			}))
			b.follow()
			b.say(start("a", 1))
			live := func() { b.beat("linux", "x", 1, "a.1") }
			live()
			b.follow()
			b.want(slices.DeleteFunc(b.watch(30*time.Minute, live), func(s string) bool { return s == "lease.renewed" }))
			if restart {
				b.again()
			}
			got := b.watch(31*time.Minute, live)
			if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != "stop a.1" })); n != 1 {
				t.Errorf("after 61m of a lease for 1h it was told to stop %d times, want once: %v", n, got)
			}
		})
	}
}

// TestUrgentInASmallPool: with one slot no more than one task of lower priority goes before an urgent one.
func TestUrgentInASmallPool(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	for i := range 10 {
		b.say(requested(release.TaskID(fmt.Sprint("low", i))))
	}
	b.beat("linux", "x", 1)
	b.want(b.follow(), "dispatch low0.1", "dispatch low1.1")
	b.say(start("low0", 1), requested("urgent", priority(100)))
	b.want(b.follow())
	b.say(finish("low0", 1, release.ClassOK))
	b.want(b.follow(), "dispatch urgent.1")
}

// TestStrays: who runs what ended without it is told to stop, also when the run is forgotten or was never heard of.
func TestStrays(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]time.Duration{"soon": 10 * time.Minute, "its run is forgotten": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			planned := push(1, 0)
			planned.Untested, planned.Targets = true, nil
			b.say(planned, requested("a"))
			b.beat("linux", "x", 1)
			b.follow()
			b.say(start("a", 1))
			b.beat("linux", "x", 1, "a.1")
			b.follow()
			b.watch(5 * time.Second) // x is cut off: a.1 is lost, a.2 is dispatched
			b.say(event.TaskStarted{Task: "a", Attempt: 2, Pool: "linux", Executor: "y"}, finish("a", 2, release.ClassOK), assembled(0))
			b.follow()
			b.watch(time.Second)
			b.pass(away)
			b.store("other", requested("z")) // time goes on in the stream
			b.follow()
			if forgotten := b.s.Forgotten(testRun); forgotten != (away > time.Hour) {
				t.Fatalf("forgotten: %t", forgotten)
			}
			if got := b.watch(5*time.Second, func() { b.beat("linux", "x", 1, "a.1") }); !has(got, "stop a.1") {
				t.Errorf("nobody tells x to stop: %v", got)
			}
		})
	}
	t.Run("its run is in the archive", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, Config{})
		live := func() { b.beat("linux", "x", 1, "a.1") }
		live()
		b.want(b.watch(20*time.Second, live)) // its facts may be on their way
		if got := b.watch(20*time.Second, live); !has(got, "stop a.1") {
			t.Errorf("nobody tells x to stop: %v", got)
		}
	})
}
