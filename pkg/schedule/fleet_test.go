package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// started is a bench on which executor x has a.1 in hand and the watch has begun.
func started(t testing.TB) *bench {
	b := newBench(t, Config{})
	b.say(requested("a"), event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"}, start("a", 1))
	b.beat("linux", "x", 1, "a.1")
	b.want(b.follow())
	return b
}

// each lets time pass in steps that a live scheduler makes.
func (b *bench) each(steps int, do func()) []string {
	var out []string
	for range steps {
		b.pass(500 * time.Millisecond)
		do()
		out = append(out, b.follow()...)
	}
	return out
}

func TestLost(t *testing.T) {
	t.Parallel()
	lost := []string{"finish a.1 lost", "delay a.2", "dispatch a.2"}
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		b := started(t)
		b.want(b.each(3, func() {}))
		b.want(b.each(1, func() {}), lost...)
	})
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		b := started(t)
		b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Gone: true})
		b.want(b.follow(), lost...)
	})
	t.Run("not in hand", func(t *testing.T) {
		t.Parallel()
		b := started(t)
		b.want(b.each(3, func() { b.beat("linux", "x", 1) }))
		b.want(b.each(1, func() { b.beat("linux", "x", 1) }), lost...)
	})
	t.Run("alive", func(t *testing.T) {
		t.Parallel()
		b := started(t)
		b.want(b.each(40, func() { b.beat("linux", "x", 1, "a.1") }))
	})
	t.Run("another beats", func(t *testing.T) {
		t.Parallel()
		b := started(t)
		b.want(b.each(4, func() { b.beat("linux", "y", 1, "a.1") }), lost...)
	})
	t.Run("never heard", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, Config{})
		b.say(requested("a"), event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"}, start("a", 1))
		b.pass(time.Hour) // the scheduler was away; its watch begins with its first decision
		b.want(b.follow())
		b.want(b.each(3, func() {}))
		b.want(b.each(1, func() {}), lost...)
	})
}

// TestSleepIsNoSilence: when the scheduler slept, or its clock stepped, nobody is lost because of it.
func TestSleepIsNoSilence(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{"asleep": time.Hour, "back": -time.Hour} {
		b := started(t)
		b.pass(step)
		b.want(b.follow())
		b.want(b.each(3, func() {}))
		if got := b.each(1, func() {}); len(got) != 3 {
			t.Errorf("%s: %v follows real silence, want the loss and its retry", name, got)
		}
	}
}

func TestLateResultOfALostAttemptChangesNothing(t *testing.T) {
	t.Parallel()
	b := started(t)
	b.each(4, func() {})
	b.say(finish("a", 1, release.ClassOK)) // its place is taken
	if why := Explain(b.s, testRun, "a", b.now); why.State != "dispatched" || why.Attempt != 2 {
		t.Fatalf("%+v", why)
	}
	if r := b.s.runs[testRun].tasks["a"].find(1).reason; !strings.Contains(r, "executor x has been silent for 2s") {
		t.Fatalf("lost because %q", r)
	}
}

func TestSlotsFollowTheFleet(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	slots := func(want int) {
		t.Helper()
		b.follow()
		if got := Survey(b.s); len(got) != 1 || got[0].Slots != want {
			t.Fatalf("%+v, want %d slots", got, want)
		}
	}
	b.beat("linux", "x", 3)
	b.beat("linux", "y", 4)
	slots(7)
	b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Slots: 3, Draining: true, Reason: "disk"})
	slots(4)
	b.each(4, func() { b.beat("linux", "y", 4) })
	slots(4)
	if got := Survey(b.s)[0].Executors; len(got) != 1 || got[0].Name != "y" {
		t.Fatalf("%+v, want y alone: x has been silent and holds nothing", got)
	}
	b.beat("linux", "x", 3)
	slots(7)
	b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: "y", Slots: 4, Gone: true})
	slots(3)
}

// TestAnOldHeartbeatIsNoNews: heartbeats may come late or twice, and their stream may begin anew.
func TestAnOldHeartbeatIsNoNews(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	beat := func(seq uint64, after time.Duration, slots int32) {
		e := event.Root(event.Fleet, "/x", b.now, event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Slots: slots})
		e.Seq, e.Stored = seq, noon().Add(after)
		b.s.Apply(e)
	}
	for _, c := range []struct {
		seq   uint64
		after time.Duration
		slots int32
		want  int
	}{{5, time.Second, 2, 2}, {4, 0, 9, 2}, {5, time.Second, 9, 2}, {1, time.Minute, 3, 3}, {2, 0, 4, 4}} {
		beat(c.seq, c.after, c.slots)
		b.follow()
		if got := Survey(b.s)[0].Slots; got != c.want {
			t.Fatalf("after %+v: %d slots", c, got)
		}
	}
}
