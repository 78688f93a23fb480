package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// learnt lets tasks of earlier runs have taken some time.
func (b *bench) learnt(took time.Duration, ids ...release.TaskID) {
	for _, id := range ids {
		b.store("before", requested(id), start(id, 1))
	}
	b.pass(took)
	for _, id := range ids {
		b.store("before", finish(id, 1, release.ClassOK))
	}
}

// TestForesee plays what is free, held and asked for before.
func TestForesee(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	s.now = 1000
	in := func(n int) pastime { return pastime{took: time.Duration(n)} }
	at := func(n int, size amount) tenure { return tenure{size: size, end: s.now + stamp(n)} }
	unknown := tenure{size: 1, why: "who knows"}
	for name, c := range map[string]struct {
		free, need amount
		held       []tenure
		before     []turnOf
		at         int // after now; -1 for unknown
		why        string
	}{
		"there is enough":        {1, 1, nil, nil, 0, byItself},
		"the first to end":       {0, 1, []tenure{at(9, 1), at(5, 1)}, nil, 5, byHabit},
		"two of them":            {0, 2, []tenure{at(9, 1), at(5, 1)}, nil, 9, byHabit},
		"one is big enough":      {0, 2, []tenure{at(9, 2), at(5, 1)}, nil, 9, byHabit},
		"behind another":         {0, 1, []tenure{at(5, 1)}, []turnOf{{1, in(7)}}, 12, byHabit},
		"behind two, beside one": {0, 1, []tenure{at(5, 1), at(6, 1)}, []turnOf{{1, in(70)}, {1, in(10)}}, 16, byHabit},
		"a bound makes a bound":  {0, 1, []tenure{{size: 1, end: s.now + 3, latest: true}}, []turnOf{{1, in(2)}}, 5, byBounds},
		"the unknown is last":    {0, 1, []tenure{unknown, at(5, 1)}, nil, 5, byHabit},
		"the unknown is needed":  {0, 2, []tenure{unknown, at(5, 1)}, nil, -1, "who knows"},
		"unknown before":         {0, 1, []tenure{at(5, 1)}, []turnOf{{1, pastime{why: "x has no timeout"}}}, -1, "x has no timeout"},
		"there is never enough":  {0, 3, []tenure{at(5, 1)}, nil, -1, "there is not as much of it as is asked for"},
	} {
		got := s.foresee(c.free, c.need, c.held, c.before)
		want := forecast{s.now + stamp(c.at), c.why}
		if c.at < 0 {
			want.at = 0
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestExpectedPlace: who waits for a place is told who holds it, since when, until when at most, and when it is expected to
// come free: by what the holder took before, else by its timeouts, else by the longest that its lease lasts.
func TestExpectedPlace(t *testing.T) {
	t.Parallel()
	forLong := func(d int) func(*event.TaskRequested) {
		return func(r *event.TaskRequested) { r.Lease.For = seconds(d) }
	}
	for name, c := range map[string]struct {
		learnt  bool
		options []func(*event.TaskRequested)
		in      time.Duration // from the start of the holder
		most    time.Duration
		why     string
	}{
		"by habit":      {true, nil, 10 * time.Minute, 0, byHabit},
		"by timeouts":   {false, []func(*event.TaskRequested){timeouts(release.Timeouts{Command: seconds(60), Prepare: seconds(30), Cleanup: seconds(10), Nodes: seconds(20)})}, 2 * time.Minute, 0, byBounds},
		"by the lease":  {false, []func(*event.TaskRequested){forLong(3600)}, time.Hour, 75 * time.Minute, byBounds},
		"nothing known": {false, nil, 0, 0, inRun("a") + " has not succeeded before, and has no timeout"},
	} {
		b := newBench(t, Config{})
		if c.learnt {
			b.learnt(10*time.Minute, "a")
		}
		b.offer("m1")
		b.say(requested("a", append([]func(*event.TaskRequested){leases(1)}, c.options...)...))
		b.follow()
		since := b.now
		b.say(start("a", 1), requested("b", leases(1)), requested("c", leases(1)))
		b.beat("linux", "x", 9, "a.1")
		b.follow()
		why := Explain(b.s, testRun, "b", b.now)
		want := b.now.Add(c.in)
		if c.in == 0 {
			want = time.Time{}
		}
		if !why.Expected.Equal(want) || why.Expects != c.why || len(why.Holders) != 1 {
			t.Errorf("%s: expected %s (%s), want %s (%s); %+v", name, why.Expected, why.Expects, want, c.why, why.Holders)
			continue
		}
		h := why.Holders[0]
		if h.Task != "a" || !h.Since.Equal(since) || !h.Ends.Equal(want) || (c.most > 0) == h.Until.IsZero() || c.most > 0 && !h.Until.Equal(since.Add(c.most)) {
			t.Errorf("%s: %+v, want it held since %s, to end at %s, and %s at most", name, h, since, want, c.most)
		}
		third := Explain(b.s, testRun, "c", b.now)
		if !third.Expected.IsZero() || !strings.Contains(third.Expects, "has not succeeded before, and has no timeout") {
			t.Errorf("%s: c comes after b, which nobody knows: %+v", name, third)
		}
	}
}

func inRun(task string) string { return string(testRun) + "/" + task }

// TestExpectedPlaceOfAGang waits for two places of which one comes back later, and is cleaned.
func TestExpectedPlaceOfAGang(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.learnt(10*time.Minute, "slow")
	b.learnt(time.Minute, "quick")
	b.offer("m1", "m2")
	b.say(requested("slow", leases(1, "m1")), requested("quick", leases(1, "m2")))
	b.follow()
	b.say(start("slow", 1), start("quick", 1), requested("gang", leases(2)))
	b.beat("linux", "x", 9, "slow.1", "quick.1")
	b.follow()
	if why := Explain(b.s, testRun, "gang", b.now); !why.Expected.Equal(b.now.Add(10*time.Minute)) || why.Expects != byHabit || len(why.Holders) != 2 {
		t.Fatalf("%+v", why)
	}
	b.store(event.Fleet, event.PlaceDrainRequested{Provider: "lab", Place: "m2", Request: "1", By: "ann", Reason: "new disk"})
	b.say(finished("quick"))
	b.beat("linux", "x", 9, "slow.1")
	b.follow()
	if why := Explain(b.s, testRun, "gang", b.now); !why.Expected.IsZero() || !strings.HasPrefix(why.Expects, "lab/m2 is drained") {
		t.Fatalf("%+v", why)
	}
}

// TestExpectedTurn: a task behind many in its pool is told when its slot comes.
func TestExpectedTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1})
	var ids []release.TaskID
	for i := range 6 {
		ids = append(ids, release.TaskID(fmt.Sprint("t", i)))
	}
	b.learnt(time.Minute, ids...)
	b.beat("linux", "x", 2)
	for _, id := range ids {
		b.say(requested(id))
	}
	b.follow() // two slots: four are given
	if why := Explain(b.s, testRun, "t5", b.now); why.State != "ready" || !why.Expected.Equal(b.now.Add(2*time.Minute)) || why.Expects != byHabit {
		t.Fatalf("%+v", why)
	}
	if why := Explain(b.s, testRun, "t2", b.now); why.State != "dispatched" || !why.Expected.Equal(b.now.Add(time.Minute)) {
		t.Fatalf("%+v", why)
	}
	b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: "x", Gone: true})
	b.follow()
	if why := Explain(b.s, testRun, "t5", b.now); !why.Expected.IsZero() || why.Expects != "pool linux has no live executor that takes work" {
		t.Fatalf("%+v", why)
	}
}
