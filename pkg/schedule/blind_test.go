package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// echo lets the scheduler hear a heartbeat of its own, which the stream stamps by a clock that is off by some time.
func (b *bench) echo(off time.Duration) {
	b.beats++
	e := event.Root(event.Fleet, "/test-scheduler/me", b.now, event.SchedulerHeartbeat{Scheduler: "me", Number: int64(b.beats)})
	e.Seq, e.Stored = b.beats, b.now.Add(off)
	b.s.Apply(e)
}

// sighted is a scheduler that hears itself while executor x runs a.1.
func sighted(t *testing.T, cfg Config, options ...func(*event.TaskRequested)) *bench {
	t.Helper()
	cfg.Self = "me"
	b := newBench(t, cfg)
	b.echo(0)
	b.beat("linux", "x", 1)
	b.say(requested("a", options...))
	b.want(b.follow(), "dispatch a.1")
	b.say(start("a", 1))
	b.beat("linux", "x", 1, "a.1")
	b.want(b.follow())
	return b
}

// lostAfter is how long it takes until a.1 is declared lost while something happens each second.
func (b *bench) lostAfter(most time.Duration, each func()) time.Duration {
	for d := time.Second; d <= most; d += time.Second {
		if slices.Contains(b.watch(time.Second, each), "finish a.1 lost") {
			return d
		}
	}
	return 0
}

func TestSilenceCountsWhileTheSchedulerHearsItself(t *testing.T) {
	t.Parallel()
	b := sighted(t, Config{})
	if got := b.lostAfter(time.Minute, func() { b.echo(0) }); got < 2*time.Second || got > 3*time.Second {
		t.Errorf("a silent executor's attempt was declared lost after %s, want 2s", got)
	}
}

func TestABlindSchedulerDeclaresNobodyLost(t *testing.T) {
	t.Parallel()
	b := sighted(t, Config{})
	b.want(b.watch(time.Hour))
	if why := Explain(b.s, testRun, "a", b.now); !strings.Contains(why.Reason, "this scheduler is blind") {
		t.Errorf("why says %q, not that the scheduler is blind", why.Reason)
	}
	if since, blind := b.s.Blind(b.now); !blind || since < 59*time.Minute {
		t.Errorf("blind %t for %s, want true for an hour", blind, since)
	}
	// It hears again, and so do executors, each when its connection is back.
	b.want(b.watch(3*time.Second, func() { b.echo(0) }))
	b.beat("linux", "x", 1, "a.1")
	b.want(b.watch(time.Minute, func() { b.echo(0); b.beat("linux", "x", 1, "a.1") }))
	if _, blind := b.s.Blind(b.now); blind {
		t.Error("it hears itself and counts as blind")
	}
}

func TestAfterBlindnessTheDeadAreFound(t *testing.T) {
	t.Parallel()
	b := sighted(t, Config{})
	b.want(b.watch(time.Minute))
	if got := b.lostAfter(time.Minute, func() { b.echo(0) }); got < 5*time.Second || got > 7*time.Second {
		t.Errorf("an executor that did not come back was declared lost after %s, want 5s", got)
	}
}

// TestHeartbeatsOfOthersAreNoEcho: another scheduler's heartbeats, and old ones of one's own, say nothing about hearing.
func TestHeartbeatsOfOthersAreNoEcho(t *testing.T) {
	t.Parallel()
	b := sighted(t, Config{})
	b.want(b.watch(time.Minute, func() {
		for _, other := range []event.SchedulerHeartbeat{{Scheduler: "you", Number: 1 << 40}, {Scheduler: "me", Number: 1}} {
			e := event.Root(event.Fleet, "/test-scheduler/you", b.now, other)
			e.Stored = b.now
			b.s.Apply(e)
		}
	}))
}

func TestToleranceOfDisconnection(t *testing.T) {
	t.Parallel()
	tolerant := timeouts(release.Timeouts{Disconnect: release.Duration(10 * time.Minute)})
	for name, c := range map[string]struct {
		cfg  Config
		task func(*event.TaskRequested)
		want time.Duration
	}{
		"of the task":                   {Config{}, tolerant, 10 * time.Minute},
		"of the pool":                   {Config{Disconnect: map[string]time.Duration{"linux": 5 * time.Minute}}, func(*event.TaskRequested) {}, 5 * time.Minute},
		"of the task before its pool's": {Config{Disconnect: map[string]time.Duration{"linux": time.Hour}}, tolerant, 10 * time.Minute},
		"of another pool":               {Config{Disconnect: map[string]time.Duration{"gpu": time.Hour}}, func(*event.TaskRequested) {}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sighted(t, c.cfg, c.task)
			echo := func() { b.echo(0) }
			if c.want > time.Minute {
				b.want(b.watch(c.want-10*time.Second, echo))
				if why := Explain(b.s, testRun, "a", b.now); !strings.Contains(why.Reason, "counts as lost after "+c.want.String()) {
					t.Errorf("why says %q", why.Reason)
				}
				b.beat("linux", "x", 1, "a.1") // it comes back in time
			}
			if got := b.lostAfter(2*time.Hour, echo); got < c.want || got > c.want+2*time.Second {
				t.Errorf("lost after %s, want %s", got, c.want)
			}
		})
	}
}
