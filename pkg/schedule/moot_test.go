package schedule

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestEarlyFailure: what can no longer change the outcome is not started, and the gate tells why.
func TestEarlyFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1})
	b.say(push(5, 0), requested("a"), requested("b"), requested("c"), requested("d", needs("c")), requested("s", soft))
	b.beat("linux", "x", 1)
	b.want(b.follow(), "dispatch a.1", "dispatch b.1")
	b.say(start("a", 1), start("b", 1))
	b.beat("linux", "x", 1, "a.1", "b.1")
	b.follow()
	b.say(finish("a", 1, release.ClassCommand))
	b.want(b.follow(), "conclude a failure command after 1 in round 0", "conclude c cancel cancelled after 0 in round 0",
		"conclude d cancel cancelled after 0 in round 0", "conclude s cancel cancelled after 0 in round 0")
	if why := Explain(b.s, testRun, "c", b.now); why.Reason != "not started: a failed, and that decides the outcome of the run" {
		t.Fatalf("%+v", why)
	}
	b.say(finish("b", 1, release.ClassOK)) // what had started goes on
	b.want(b.follow(), "close 0", "end 0 failure")
	want := "builds: these builds did not succeed: a: attempt 1 ended as command; command is not retried; 2 more were not started after that"
	if got := firstUnmet(Explain(b.s, testRun, "", b.now).Conditions); got != want {
		t.Fatal(got)
	}
}

// TestWhatSettlesNothing: these failures leave the rest to be done.
func TestWhatSettlesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*event.RunPlanned)
		fails  event.TaskRequested
		class  release.Class
	}{
		"asked to keep going":       {func(p *event.RunPlanned) { p.KeepGoing = true }, requested("a"), release.ClassCommand},
		"the platform's fault":      {nil, requested("a"), release.ClassUnknown},
		"it may fail":               {nil, requested("a", soft), release.ClassCommand},
		"a test that nobody needs":  {nil, requested("a", asTest), release.ClassCommand},
		"it was cancelled":          {nil, requested("a"), release.ClassCancelled},
		"it may still be retried":   {nil, requested("a", retries(release.Retry{Class: release.ClassCommand, Limit: 1})), release.ClassCommand},
		"cleaning up has its point": {func(p *event.RunPlanned) { p.Builds = 1; p.Tests = 1 }, requested("a"), release.ClassCommand},
	} {
		b := newBench(t, Config{})
		planned := push(2, 0)
		if c.change != nil {
			c.change(&planned)
		}
		last := requested("z")
		if strings.HasPrefix(name, "cleaning") {
			last.Kind = release.Cleanup
		}
		b.say(planned, c.fails, last, finish("a", 1, c.class))
		if got := strings.Join(b.follow(), ", "); !strings.Contains(got, "dispatch z.1") {
			t.Errorf("%s: decided %s, want z dispatched", name, got)
		}
	}
}

// TestARequiredTestSettles and the rest of the tests are not started; the gate folds them into one line.
func TestARequiredTestSettles(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1})
	b.say(push(1, 4, "t1", "t2", "t3", "t4"), requested("b"))
	b.say(append(ok("b", 1), assembled(0), requested("t1", asTest), requested("t2", asTest), requested("t3", asTest), requested("t4", asTest))...)
	b.say(start("t1", 1), finish("t1", 1, release.ClassOK), start("t2", 1), finish("t2", 1, release.ClassCommand))
	got := b.follow()
	b.want(runOnly(got), "close 0", "end 0 failure")
	closed := b.stream[len(b.stream)-2].Data.(event.GateClosed)
	want := "tests: 1 of 4 required tests succeeded; 2 were not started after the outcome was decided; test t2: failure: attempt 1 ended as command; command is not retried"
	if closed.Reason != want {
		t.Fatal(closed.Reason)
	}
}

// TestNoRetryOnceTheOutcomeIsSettled: neither is a retry made, nor one that waits.
func TestNoRetryOnceTheOutcomeIsSettled(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(3, 0), requested("a"), requested("b"), requested("c"))
	b.say(finish("b", 1, release.ClassInfra))
	b.want(b.follow(), "delay b.2", "dispatch a.1", "dispatch c.1")
	b.say(start("c", 1))
	b.beat("linux", "x", 1, "c.1")
	b.say(finish("a", 1, release.ClassCommand))
	b.want(b.follow(), "conclude a failure command after 1 in round 0", "conclude b cancel cancelled after 1 in round 0")
	b.say(finish("c", 1, release.ClassInfra))
	b.want(b.follow(), "conclude c error infra after 1 in round 0", "close 0", "end 0 failure")
}

// TestARetryStartsWhatWasNotStarted: whoever retries the task that failed means the run.
func TestARetryStartsWhatWasNotStarted(t *testing.T) {
	t.Parallel()
	for name, tasks := range map[string][]release.TaskID{"all": nil, "the one that failed": {"a"}} {
		b := newBench(t, Config{})
		b.say(push(3, 0), requested("a"), requested("b", needs("a")), requested("c"))
		b.say(finish("a", 1, release.ClassCommand))
		b.follow()
		b.say(event.RunRetryRequested{Request: "1", Tasks: tasks})
		b.want(b.follow(), "dispatch a.2", "dispatch c.1")
		b.say(append(append(ok("a", 2), ok("b", 1)...), ok("c", 1)...)...)
		b.say(assembled(1))
		if got := Explain(b.s, testRun, "c", b.now); got.Outcome != release.Success {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
