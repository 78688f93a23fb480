package schedule

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func (b *bench) drain(executor string, within time.Duration, reason string) {
	b.store(event.Fleet, event.ExecutorDraining{Pool: "linux", Executor: executor, Reason: reason, Deadline: b.now.Add(within)})
}

// TestDrainingMovesWhatWillNotEnd: what ends in time by its timeouts stays until then; the rest starts elsewhere at once.
func TestDrainingMovesWhatWillNotEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 9})
	short := timeouts(release.Timeouts{Command: seconds(60), Prepare: seconds(10), Cleanup: seconds(10)})
	b.say(requested("short", short), requested("long", timeouts(release.Timeouts{Command: seconds(3600)})), requested("endless"))
	b.beat("linux", "x", 3)
	b.follow()
	b.say(start("short", 1), start("long", 1), start("endless", 1))
	b.beat("linux", "x", 3, "short.1", "long.1", "endless.1")
	b.follow()
	b.drain("x", 2*time.Minute, "spot notice")
	b.want(b.follow(), "finish endless.1 lost", "finish long.1 lost", "delay endless.2", "delay long.2", "dispatch long.2", "dispatch endless.2")
	lost := b.stream[len(b.stream)-6].Data.(event.TaskFinished)
	if lost.Reason != "executor x is draining (spot notice) and does not end it in time" || lost.Executor != "x" {
		t.Fatalf("%+v", lost)
	}
	if p := Survey(b.s)[0]; p.Slots != 0 || !p.Executors[0].Draining {
		t.Fatalf("%+v", p)
	}
	beat := func() { b.beat("linux", "x", 3, "short.1") }
	b.want(b.watch(119*time.Second, beat))
	b.want(b.watch(time.Second, beat), "finish short.1 lost", "delay short.2", "dispatch short.2")
	// What comes after that is refused by the place in the stream.
	if before := len(b.stream); func() int { b.say(finish("short", 1, release.ClassOK)); return len(b.stream) }() != before {
		t.Fatal("a late result was stored")
	}
}

// TestDrainingBelievesWhatTasksTook: a task without a timeout that usually takes a minute may end where it is.
func TestDrainingBelievesWhatTasksTook(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.store("before", requested("a"), start("a", 1))
	b.pass(time.Minute)
	b.store("before", finish("a", 1, release.ClassOK))
	b.say(requested("a"), start("a", 1))
	beat := func() { b.beat("linux", "x", 3, "a.1") }
	beat()
	b.follow()
	b.drain("x", 2*time.Minute, "")
	b.want(b.watch(59*time.Second, beat))
	b.want(b.watch(time.Second, beat), "finish a.1 lost", "delay a.2", "dispatch a.2") // it takes longer: nobody knows how long
}

func TestDrainingKnownBeforeTheExecutor(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.drain("x", time.Minute, "")
	b.say(requested("a"), start("a", 1))
	b.beat("linux", "x", 1, "a.1")
	b.want(b.follow(), "finish a.1 lost", "delay a.2", "dispatch a.2")
	b.beat("linux", "y", 1)
	b.follow()
	if p := Survey(b.s)[0]; p.Slots != 1 {
		t.Fatalf("%+v", p)
	}
}

// TestDrainingLeavesPlacesToTheirHolder: an attempt with places is ended by its executor, and only by the scheduler when
// that does not.
func TestDrainingLeavesPlacesToTheirHolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{StopWithin: 30 * time.Second})
	b.offer("m1")
	b.say(requested("a", leases(1)))
	b.beat("linux", "x", 1)
	b.follow()
	b.say(start("a", 1))
	beat := func() { b.beat("linux", "x", 1, "a.1") }
	beat()
	b.follow()
	b.drain("x", 10*time.Second, "")
	b.want(b.watch(39*time.Second, beat))
	if got := b.watch(time.Second, beat); len(got) == 0 || got[0] != "finish a.1 lost" {
		t.Fatalf("%v, want the attempt given up whose executor does not end it", got)
	}
}

func TestDrainsAreForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	for i := range 3 * maxDrains {
		b.store(event.Fleet, event.ExecutorDraining{Pool: "linux", Executor: string(rune('a'+i%26)) + string(rune('0'+i/26)), Deadline: b.now})
		b.pass(time.Minute)
	}
	if n := len(b.s.drains); n > maxDrains+60 {
		t.Fatalf("%d drains are remembered", n)
	}
}

// TestForwardStep: a clock that is set forward takes nothing from anybody: no attempt is lost or stopped, no task has
// waited too long.
func TestForwardStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1})
	b.say(requested("a", timeouts(release.Timeouts{Command: seconds(600)})), requested("b", timeouts(release.Timeouts{Queue: seconds(600)})))
	beat := func() { b.beat("linux", "x", 1, "a.1") }
	beat()
	b.want(b.follow(), "dispatch a.1", "dispatch b.1")
	b.say(start("a", 1))
	b.want(b.watch(10*time.Second, beat))
	b.pass(5 * time.Hour)
	beat()
	b.want(b.follow())
	b.want(b.watch(580*time.Second, beat))
	b.want(b.watch(15*time.Second, beat), "refuse b.1", "finish b.1 infra_timeout", "delay b.2")
}

func TestBackwardStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1})
	b.say(requested("a", timeouts(release.Timeouts{Command: seconds(600)})), requested("b", timeouts(release.Timeouts{Queue: seconds(60)})))
	beat := func() { b.beat("linux", "x", 1, "a.1") }
	beat()
	b.want(b.follow(), "dispatch a.1", "dispatch b.1")
	b.say(start("a", 1))
	b.want(b.watch(10*time.Second, beat))
	b.pass(-time.Hour)
	beat()
	b.want(b.follow())
	b.want(b.watch(300*time.Second, beat))
	b.say(finish("a", 1, release.ClassOK), start("b", 1), finish("b", 1, release.ClassOK))
	b.want(b.follow())
}
