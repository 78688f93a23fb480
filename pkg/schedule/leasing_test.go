package schedule

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

func leases(places int32, of ...string) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) {
		r.Lease = release.LeaseRequest{Provider: "lab", Nodes: places, Places: of}
	}
}

func (b *bench) offer(names ...string) {
	for _, n := range names {
		b.store(event.Fleet, event.PlaceRegistered{Provider: "lab", Place: n, Version: "1", Pool: "linux"})
	}
}

// leased lists the places with which attempts were dispatched.
func (b *bench) leased() string {
	var out []string
	for _, e := range b.stream {
		if d, is := e.Data.(event.TaskDispatched); is && len(d.Lease.Places) > 0 {
			at := string(d.Task) + ":"
			for _, p := range d.Lease.Places {
				at += p.Place
			}
			out = append(out, at)
		}
	}
	return strings.Join(out, " ")
}

// finished ends an attempt that cleaned up after itself.
func finished(task release.TaskID) event.TaskFinished {
	f := finish(task, 1, release.ClassOK)
	f.Phases = []event.Phase{{Name: "cleanup"}}
	return f
}

// TestDispatchWithPlaces: an attempt is dispatched once every grant is a fact, with all its places or none; who waits
// for one keeps nobody else waiting.
func TestDispatchWithPlaces(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.offer("m1", "m2", "m3")
	b.say(requested("a2", leases(2)), requested("b3", leases(3)), requested("c1", leases(1)), requested("none"))
	first := b.decide()
	b.want(first, "lease.granted", "lease.granted", "dispatch none.1")
	b.want(b.decide()) // on its way, and not made again
	b.pass(3 * time.Second)
	got := b.follow()
	if b.leased() != "a2:m1m2" {
		t.Fatalf("%v gave %q", got, b.leased())
	}
	why := Explain(b.s, testRun, "b3", b.now)
	if why.State != "ready" || !strings.HasPrefix(why.Reason, "it waits for 3 places of lab at once: m1 is held (held by ") || len(why.Holders) == 0 {
		t.Fatalf("%+v", why)
	}
	b.say(start("a2", 1))
	b.beat("linux", "x", 9, "a2.1", "none.1")
	b.follow()
	if b.leased() != "a2:m1m2" { // any would take m3, which three waits for
		t.Fatalf("leased %q", b.leased())
	}
	b.say(finished("a2"))
	b.follow()
	b.say(start("b3", 1))
	b.beat("linux", "x", 9, "b3.1")
	b.follow()
	b.say(finished("b3"))
	b.follow()
	if b.leased() != "a2:m1m2 b3:m1m2m3 c1:m1" {
		t.Fatalf("leased %q", b.leased())
	}
}

// TestPlacesGoBack when the task that was given them is not to run after all.
func TestPlacesGoBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.offer("m1")
	b.say(requested("a", leases(1)))
	intents, _ := Decide(b.s, b.now)
	b.s.Sent(intents)
	b.say(event.RunCancelRequested{Request: "1"})
	b.store(event.Fleet, intents[0].Payload) // the grant lands after the cancellation
	b.store("other", requested("b", leases(1)))
	b.beat("linux", "x", 9)
	b.watch(90*time.Second, func() { b.beat("linux", "x", 9) })
	if b.leased() != "b:m1" {
		t.Fatalf("leased %q:\n%s", b.leased(), Dump(b.s))
	}
}

// TestAnotherSchedulerWasFaster: a grant whose place in the stream is taken gives nothing.
func TestAnotherSchedulerWasFaster(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.offer("m1", "m2")
	b.say(requested("a", leases(1)))
	intents, _ := Decide(b.s, b.now)
	b.s.Sent(intents)
	taken := intents[0].Payload.(event.LeaseGranted)
	taken.Holder = event.AttemptRef{Run: "other", Task: "z", Attempt: 1}
	b.store(event.Fleet, taken)
	b.watch(5 * time.Second)
	if b.leased() != "a:m2" {
		t.Fatalf("leased %q", b.leased())
	}
}

// TestRestartWithPlaces: a scheduler that starts anew goes on with what was granted.
func TestRestartWithPlaces(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.offer("m1")
	b.say(requested("a", leases(1)), requested("b", leases(1)))
	intents, _ := Decide(b.s, b.now)
	b.store(event.Fleet, intents[0].Payload)
	b.s = New(b.cfg)
	for _, e := range b.stream {
		b.s.Apply(e)
	}
	b.watch(time.Second)
	if b.leased() != "a:m1" {
		t.Fatalf("leased %q", b.leased())
	}
}

// TestUnknownProvider: one that has no places makes them itself, within its budget.
func TestUnknownProvider(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Limits: []Limit{{Of: event.LimitProvider, Name: "lab", Resource: "nodes", Amount: 3}}})
	b.say(requested("a", leases(2)), requested("b", leases(2)), requested("c", leases(1)))
	b.want(b.follow(), "dispatch a.1", "dispatch c.1")
}

// TestPlacesAreCleanedByAttempts: what a holder left dirty is cleaned by an attempt of the provider, and its executor's
// death is noticed as any other's.
func TestPlacesAreCleanedByAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.store(event.Fleet, event.PlaceRegistered{Provider: "lab", Place: "m1", Version: "1", Pool: "linux", Clean: true, Plan: "sha256:00"})
	b.say(requested("a", leases(1)), requested("b", leases(1)))
	b.follow()
	b.say(start("a", 1), finish("a", 1, release.ClassOK)) // without a cleanup phase
	b.watch(time.Second)
	var cleans []event.Event
	for _, e := range b.stream {
		if d, is := e.Data.(event.TaskDispatched); is && d.Task == "clean" {
			cleans = append(cleans, e)
		}
	}
	if len(cleans) != 1 {
		t.Fatalf("%d attempts clean it", len(cleans))
	}
	clean := cleans[0].Data.(event.TaskDispatched)
	b.store(cleans[0].Run, event.TaskStarted{Task: "clean", Attempt: clean.Attempt, Pool: "linux", Executor: "x"})
	b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Slots: 1, Running: []event.AttemptRef{{Run: cleans[0].Run, Task: "clean", Attempt: clean.Attempt}}})
	b.follow()
	if got := b.watch(3 * time.Second); !strings.Contains(strings.Join(got, " "), "finish clean."+key(clean.Attempt)+" lost") {
		t.Fatalf("%v, want its loss noticed", got)
	}
}

func key(n int32) string { return strconv.Itoa(int(n)) }

// TestTendingAPlaceForYears keeps nothing: the run in which a place is cleaned never ends.
func TestTendingAPlaceForYears(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	run := lease.PlaceRun("lab", "m1")
	for n := range int32(1000) {
		b.store(run, event.TaskDispatched{Task: lease.TaskClean, Attempt: n + 1, Pool: "linux"}, start(lease.TaskClean, n+1))
		b.pass(time.Second)
		b.store(run, finish(lease.TaskClean, n+1, release.ClassOK))
	}
	clean := b.s.runs[run].tasks[lease.TaskClean]
	if n := len(clean.past.attempts); n > 64 {
		t.Fatalf("%d attempts of the past are kept", n)
	}
	if took, known := b.s.typical(clean); !known || took != time.Second {
		t.Fatalf("cleaning takes %s (%t)", took, known)
	}
	b.store(run, event.TaskDispatched{Task: lease.TaskClean, Attempt: 1001, Pool: "linux"}, start(lease.TaskClean, 1001))
	b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Slots: 1, Running: []event.AttemptRef{{Run: run, Task: lease.TaskClean, Attempt: 1001}}})
	b.follow()
	if !b.s.living(event.AttemptRef{Run: run, Task: lease.TaskClean, Attempt: 1001}) {
		t.Fatal("what cleans it now is not known")
	}
}
