package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestDispatchWaitsForNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts []event.Payload
		want  string // dispatched
	}{
		"nothing needed":          {[]event.Payload{requested("a")}, "dispatch a.1"},
		"need open":               {[]event.Payload{requested("b", needs("a"))}, ""},
		"need requested":          {[]event.Payload{requested("a"), requested("b", needs("a"))}, "dispatch a.1"},
		"need requested later":    {[]event.Payload{requested("b", needs("a")), requested("a")}, "dispatch a.1"},
		"need succeeded":          {append(ok("a", 1), requested("a"), requested("b", needs("a"))), "dispatch b.1"},
		"one of two succeeded":    {append(ok("a", 1), requested("a"), requested("b"), requested("c", needs("a", "b"))), "dispatch b.1"},
		"soft need failed":        {[]event.Payload{requested("a", soft), event.TaskConcluded{Task: "a", Outcome: release.Failure}, requested("b", needs("a"))}, "dispatch b.1"},
		"same need twice":         {append(ok("a", 1), requested("b", needs("a", "a")), requested("a")), "dispatch b.1"},
		"success without a class": {[]event.Payload{requested("a"), start("a", 1), event.TaskFinished{Task: "a", Attempt: 1, Pool: "linux", Outcome: release.Success}, requested("b", needs("a"))}, "conclude a error unknown after 1 in round 0"},
		"class without a success": {[]event.Payload{requested("a"), start("a", 1), event.TaskFinished{Task: "a", Attempt: 1, Pool: "linux", Class: release.ClassOK}, requested("b", needs("a"))}, "conclude a error unknown after 1 in round 0"},
	} {
		b := newBench(t, Config{})
		b.say(c.facts...)
		if got := strings.Join(b.decide(), ", "); got != c.want {
			t.Errorf("%s: decided %q, want %q", name, got, c.want)
		}
	}
}

func TestInputsAreWhatTheNeedsProduced(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a"), requested("s", soft), requested("b", needs("a", "s")))
	b.say(finish("a", 1, release.ClassLost), event.TaskDelayed{Task: "a", Attempt: 2, Until: b.now})
	b.say(finish("a", 2, release.ClassOK), event.TaskConcluded{Task: "s", Outcome: release.Failure})
	intents, _ := Decide(b.s, b.now)
	got := intents[0].Payload.(event.TaskDispatched)
	if len(got.Inputs) != 1 || got.Inputs[0].Task != "a" || got.Inputs[0].Artifacts[0].Name != "a.whl" {
		t.Fatalf("inputs %+v, want a.whl of a and nothing of the soft failure", got.Inputs)
	}
}

// TestSkipped: who needs what failed is concluded, with the name of what failed first.
func TestSkipped(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("lock"), requested("wheel", needs("lock")), requested("image", needs("wheel")))
	failed := finish("lock", 1, release.ClassCommand)
	failed.Reason = "exit status 1"
	b.say(start("lock", 1), failed)
	b.want(b.follow(), "conclude lock failure command after 1 in round 0",
		"conclude wheel cancel cancelled after 0 in round 0", "conclude image cancel cancelled after 0 in round 0")
	for task, want := range map[release.TaskID]string{
		"lock":  "attempt 1 ended as command (exit status 1); command is not retried",
		"wheel": "skipped: it needs lock, which failed: attempt 1 ended as command (exit status 1); command is not retried",
		"image": "skipped: it needs wheel, which cannot succeed since lock failed: attempt 1 ended as command (exit status 1); command is not retried",
	} {
		if got := Explain(b.s, testRun, task, b.now); got.Reason != want || got.State != "ended" {
			t.Errorf("%s: %s, %q; want %q", task, got.State, got.Reason, want)
		}
	}
}

func TestNeedThatNobodyRequestsIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a", needs("ghost")))
	b.want(b.follow())
	b.say(push(1, 0))
	b.want(b.follow(), "conclude a error config after 0 in round 0", "close 0", "end 0 error")
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots []int32 // of executors
		want  int
	}{
		"no executor: the look-ahead": {nil, 8},
		"one slot: twice":             {[]int32{1}, 2},
		"many slots: twice":           {[]int32{4, 6}, 20},
		"a lie":                       {[]int32{-5}, 8},
	} {
		b := newBench(t, Config{})
		for i, n := range c.slots {
			b.beat("linux", fmt.Sprint("x", i), n)
		}
		for i := range 40 {
			b.say(requested(release.TaskID(fmt.Sprint("t", i))))
		}
		if got := len(b.follow()); got != c.want {
			t.Errorf("%s: %d dispatched, want %d", name, got, c.want)
		}
		b.say(ok("t0", 1)...)
		if got := b.follow(); len(got) != 1 {
			t.Errorf("%s: after one end %v follow, want one more", name, got)
		}
	}
}

func TestWindowCountsWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 2})
	b.say(requested("a"), requested("b"), requested("c"))
	b.want(b.decide(), "dispatch a.1", "dispatch b.1")
	b.want(b.decide())
}

func TestOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 100})
	for i := range 4 {
		b.store("big", requested(release.TaskID(fmt.Sprint("big", i))))
	}
	b.store("big", requested("urgent", priority(5)))
	b.store("small", requested("small0"), requested("small1"), requested("later", priority(-1)))
	b.want(b.decide(), "dispatch urgent.1", "dispatch small0.1", "dispatch big0.1", "dispatch small1.1", "dispatch big1.1",
		"dispatch big2.1", "dispatch big3.1", "dispatch later.1")
}

func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.store(event.Fleet, event.PoolDrainRequested{Pool: "linux", Request: "1", By: "ann", Reason: "new kernel"})
	b.say(requested("a"))
	b.want(b.decide())
	if why := Explain(b.s, testRun, "a", b.now); why.State != "ready" || why.Reason != "pool linux is drained by ann (new kernel)" {
		t.Fatalf("%+v", why)
	}
	b.store(event.Fleet, event.PoolDrainRequested{Pool: "linux", Request: "2", Resume: true})
	b.want(b.decide(), "dispatch a.1")
}

// TestDrainTakesBackWhatIsNotSent: what was decided and not sent is not to be sent when the pool is drained meanwhile.
func TestDrainTakesBackWhatIsNotSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a"))
	if first, _ := Decide(b.s, b.now); len(first) != 1 {
		t.Fatal("not dispatched")
	}
	b.store(event.Fleet, event.PoolDrainRequested{Pool: "linux", Request: "1"})
	b.want(b.decide())
}

func TestDecideAnswersTheSameUntilSent(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 2})
	b.say(requested("a"), requested("b"), requested("c"), requested("d"), finish("d", 1, release.ClassLost))
	first, _ := Decide(b.s, b.now)
	again, _ := Decide(b.s, b.now)
	b.want(short(again), short(first)...)
	b.want(short(first), "delay d.2", "dispatch a.1", "dispatch b.1")
	b.s.Sent(again)
	b.want(b.decide())
}

// TestResend: an intent that does not become a fact is made again, at its place, and not before its time.
func TestResend(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Resend: 3 * time.Second, Lookahead: 1})
	b.say(requested("a"), requested("b"), event.RunRejected{})
	b.want(b.decide(), "dispatch a.1", "end 0 failure")
	b.pass(2900 * time.Millisecond)
	b.want(b.decide())
	b.pass(200 * time.Millisecond)
	b.want(b.decide(), "dispatch a.1", "end 0 failure")
	b.pass(time.Second)
	_, next := Decide(b.s, b.now)
	if want := b.now.Add(2 * time.Second); !next.Equal(want) {
		t.Fatalf("to be asked again at %s, want %s", next, want)
	}
}

func TestDuplicatesChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(1, 1, "t"), requested("a"), event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"})
	b.say(ok("a", 1)...)
	want := Dump(b.s)
	for _, e := range b.stream {
		b.s.Apply(e)
	}
	if got := Dump(b.s); got != want {
		t.Fatalf("after hearing all twice:\n%s\nwant:\n%s", got, want)
	}
}
