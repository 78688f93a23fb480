package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestKindsOfBackoff looks at the waits before the retries of one task.
func TestKindsOfBackoff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy release.Retry
		want   string
	}{
		"fixed":       {release.Retry{Wait: seconds(7), Max: seconds(60), Backoff: release.Fixed}, "7s 7s 7s"},
		"exponential": {release.Retry{Wait: seconds(7), Max: seconds(20), Backoff: release.Exponential}, "7s 14s 20s"},
		"the default": {release.Retry{Wait: seconds(7)}, "7s 14s 28s"},
		"no range":    {release.Retry{Wait: seconds(7), Backoff: release.Random}, "7s 7s 7s"},
		"a range":     {release.Retry{Wait: seconds(1800), Max: seconds(5400), Backoff: release.Random}, "1h8m26.208s 32m12.469s 49m1.461s"},
	} {
		c.policy.Class, c.policy.Limit = release.ClassCommand, 3
		b := newBench(t, Config{})
		b.say(requested("a", retries(c.policy)))
		var got []string
		for n := int32(1); n <= 3; n++ {
			b.say(start("a", n), finish("a", n, release.ClassCommand))
			b.want(b.decide(), fmt.Sprintf("delay a.%d", n+1))
			d := b.s.wantOf("a").(event.TaskDelayed)
			got = append(got, d.Until.Sub(b.now).String())
			b.say(d)
			b.pass(2 * time.Hour)
			b.want(b.decide(), fmt.Sprintf("dispatch a.%d", n+1))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestRandomWaits lie in their range, differ between attempts, and are the same whoever asks.
func TestRandomWaits(t *testing.T) {
	t.Parallel()
	policy := release.Retry{Wait: seconds(1800), Max: seconds(5400), Backoff: release.Random}
	seen, low, high := map[time.Duration]bool{}, 0, 0
	for i := range 1000 {
		one := &task{id: release.TaskID(fmt.Sprint("t", i)), run: newRun("r")}
		got := one.wait(policy, 1, 1)
		if got < 30*time.Minute || got > 90*time.Minute || got != one.wait(policy, 3, 1) {
			t.Fatalf("%s, want the same from 30m to 90m", got)
		}
		seen[got] = true
		if got < 40*time.Minute {
			low++
		} else if got > 80*time.Minute {
			high++
		}
	}
	if len(seen) < 990 || low < 100 || high < 100 {
		t.Fatalf("%d different waits, %d low, %d high", len(seen), low, high)
	}
}

// TestRetryBudget: all tasks of a run share it, those that fail in one moment too; a retry that a person asks for begins
// anew.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	planned := push(5, 0)
	planned.RetryBudget = 2
	b.say(planned)
	for i := range 5 {
		b.say(requested(release.TaskID(fmt.Sprint("t", i))))
	}
	b.say(finish("t0", 1, release.ClassLost), finish("t1", 1, release.ClassLost), finish("t2", 1, release.ClassLost))
	first, _ := Decide(b.s, b.now)
	b.want(short(first)[:3], "delay t0.2", "delay t1.2", "conclude t2 error lost after 1 in round 0")
	again, _ := Decide(b.s, b.now)
	b.want(short(again)[:3], short(first)[:3]...)
	b.follow()
	b.say(finish("t3", 1, release.ClassInfra))
	b.want(b.follow(), "conclude t3 error infra after 1 in round 0")
	if why := Explain(b.s, testRun, "t3", b.now); why.Reason != "attempt 1 ended as infra; all 2 retries of the run are used up" {
		t.Fatalf("%+v", why)
	}
	b.say(event.RunRetryRequested{Request: "1", Tasks: []release.TaskID{"t3"}}, finish("t3", 2, release.ClassInfra))
	b.want(b.follow()[1:2], "delay t3.3")
}

// TestPassedOnRetryIsNotHidden: the task says so, and so does the gate.
func TestPassedOnRetryIsNotHidden(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(without(pushed(nil), event.TypeTaskFinished, "linux.t1")...)
	flaked := finish("t1", 1, release.ClassInfra)
	flaked.Reason = "disk full"
	b.say(flaked, start("t1", 2), finish("t1", 2, release.ClassOK))
	why := Explain(b.s, testRun, "t1", b.now)
	if !why.Retried || why.Reason != "attempt 2 succeeded on a retry: attempt 1 ended as infra (disk full)" {
		t.Fatalf("%+v", why)
	}
	if other := Explain(b.s, testRun, "t2", b.now); other.Retried {
		t.Fatalf("%+v", other)
	}
	for _, c := range Explain(b.s, testRun, "", b.now).Conditions {
		if c.Name == "tests" && c.Reason != "2 of 2 required tests succeeded; 1 passed on a retry: t1" {
			t.Fatal(c.Reason)
		}
	}
}

// TestExpectedStart is honest: known where the attempts before have an expected end, and unknown otherwise.
func TestExpectedStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1, Limits: []Limit{{Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 1}}})
	b.store("before", requested("a"), start("a", 1))
	b.pass(10 * time.Minute)
	b.store("before", finish("a", 1, release.ClassOK))
	b.say(requested("a"), requested("b"), requested("c"))
	b.want(b.follow(), "dispatch a.1")
	b.say(start("a", 1))
	b.beat("linux", "x", 1, "a.1")
	b.follow()
	b.pass(time.Second)
	if why := Explain(b.s, testRun, "b", b.now); !why.Expected.Equal(b.now.Add(10*time.Minute-time.Second)) || len(why.Holders) != 1 {
		t.Fatalf("%+v", why)
	}
	if why := Explain(b.s, testRun, "c", b.now); !why.Expected.IsZero() {
		t.Fatalf("%+v: nobody knows how long b will take", why)
	}
	if why := Explain(b.s, testRun, "b", b.now.Add(time.Hour)); !why.Expected.IsZero() {
		t.Fatalf("%+v: a takes longer than it did", why)
	}
}
