package schedule

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 2})
	b.say(push(4, 0), requested("run"), requested("given"), requested("queued"), requested("waits", needs("run")))
	b.want(b.follow(), "dispatch run.1", "dispatch given.1")
	b.say(start("run", 1))
	b.beat("linux", "x", 1, "run.1")
	b.follow()
	b.say(event.RunCancelRequested{Request: "1", By: "ann", Reason: "wrong commit"})
	b.want(b.follow(), "stop run.1", "refuse given.1", "conclude queued cancel cancelled after 0 in round 0",
		"conclude waits cancel cancelled after 0 in round 0", "conclude given cancel cancelled after 1 in round 0")
	if why := Explain(b.s, testRun, "", b.now); why.State != "cancelling" || why.Reason != "the run was cancelled by ann: wrong commit; 1 tasks have not ended" {
		t.Fatalf("%+v", why)
	}
	b.say(start("given", 1)) // an executor that finds the message later cannot claim the start
	b.want(b.follow())
	b.say(finish("run", 1, release.ClassCancelled))
	b.want(b.follow(), "conclude run cancel cancelled after 1 in round 0", "end 0 cancel")
}

// TestCancelledAttemptThatDoesNotStop is given up, and not as something to retry.
func TestCancelledAttemptThatDoesNotStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(1, 0), requested("a", timeouts(release.Timeouts{Cleanup: seconds(10)})), start("a", 1), event.RunCancelRequested{Request: "1"})
	var got []string
	for range 100 {
		b.beat("linux", "x", 1, "a.1")
		got = append(got, b.follow()...)
		b.pass(500 * time.Millisecond)
	}
	b.want(got, "stop a.1", "finish a.1 cancelled", "conclude a cancel cancelled after 1 in round 0", "end 0 cancel")
	if at := b.stream[len(b.stream)-1].Stored; !at.Equal(noon().Add(40 * time.Second)) {
		t.Fatalf("ended at %s, want cleanup's 10s and 30s after the order", at)
	}
}

func TestNothingIsDispatchedAfterACancellation(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(1, 0), event.RunCancelRequested{Request: "1"}, requested("a"))
	b.want(b.follow(), "conclude a cancel cancelled after 0 in round 0", "end 0 cancel")
}

// failedRun is a bench whose run ended: a succeeded, b failed, c was skipped because of b.
func failedRun(t testing.TB) *bench {
	b := newBench(t, Config{})
	b.say(push(3, 1, "t"), requested("a"), requested("b"), requested("c", needs("a", "b")))
	b.say(append(ok("a", 1), start("b", 1), finish("b", 1, release.ClassCommand))...)
	b.want(b.follow(), "conclude b failure command after 1 in round 0", "conclude c cancel cancelled after 0 in round 0",
		"close 0", "end 0 failure")
	return b
}

func TestRetryResetsWhatDidNotSucceed(t *testing.T) {
	t.Parallel()
	b := failedRun(t)
	b.say(event.RunRetryRequested{Request: "1"})
	b.want(b.follow(), "dispatch b.2")
	b.say(ok("b", 2)...)
	b.want(b.follow(), "dispatch c.1")
	b.say(append(ok("c", 1), assembled(1), requested("t", asTest))...)
	b.want(b.follow(), "dispatch t.1")
	b.say(ok("t", 1)...)
	b.want(b.follow(), "open 1")
	b.say(event.ReleasePublished{Round: 1})
	b.want(b.follow(), "end 1 success")
}

func TestRetryOfATaskResetsWhatWasSkippedBecauseOfIt(t *testing.T) {
	t.Parallel()
	b := failedRun(t)
	b.say(event.RunRetryRequested{Request: "1", Tasks: []release.TaskID{"b"}})
	b.want(b.follow(), "dispatch b.2")
	b.say(ok("b", 2)...)
	b.want(b.follow(), "dispatch c.1")
}

// TestRetryOfAnotherTask: what is not reset keeps its verdict, told again for the round.
func TestRetryOfAnotherTask(t *testing.T) {
	t.Parallel()
	b := failedRun(t)
	b.say(event.RunRetryRequested{Request: "1", Tasks: []release.TaskID{"c"}})
	b.want(b.follow(), "conclude b failure command after 1 in round 1", "conclude c cancel cancelled after 0 in round 1",
		"close 1", "end 1 failure")
}

func TestRetryOfASuccessChangesNothing(t *testing.T) {
	t.Parallel()
	b := failedRun(t)
	b.say(event.RunRetryRequested{Request: "1", Tasks: []release.TaskID{"a"}})
	got := b.follow()
	for _, d := range got {
		if d == "dispatch a.2" {
			t.Fatal("a success was made again")
		}
	}
}

func TestRetryGivesTheBudgetAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(1, 0), requested("a", retries(release.Retry{Class: release.ClassInfra, Limit: 1})))
	b.say(finish("a", 1, release.ClassInfra))
	b.follow()
	b.say(finish("a", 2, release.ClassInfra))
	b.want(b.follow(), "conclude a error infra after 2 in round 0", "close 0", "end 0 error")
	b.say(event.RunRetryRequested{Request: "1"})
	b.want(b.follow(), "dispatch a.3")
	b.say(finish("a", 3, release.ClassInfra))
	b.want(b.follow(), "delay a.4", "dispatch a.4")
	b.say(finish("a", 4, release.ClassInfra))
	b.want(b.follow(), "conclude a error infra after 4 in round 1", "close 1", "end 1 error")
}

// TestRetryCutsABackOffShort: who asks for a retry does not want to wait.
func TestRetryCutsABackOffShort(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(1, 0), requested("a"), finish("a", 1, release.ClassInfra))
	b.want(b.follow(), "delay a.2")
	b.say(event.RunRetryRequested{Request: "1"})
	b.want(b.follow(), "dispatch a.2")
}

func TestRetryTakesACancellationBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(push(2, 0), requested("a"), requested("b"), start("a", 1), event.RunCancelRequested{Request: "1"})
	b.beat("linux", "x", 1, "a.1")
	b.want(b.follow(), "stop a.1", "conclude b cancel cancelled after 0 in round 0")
	b.say(event.RunRetryRequested{Request: "2"})
	b.want(b.follow(), "dispatch b.1")
	b.say(finish("a", 1, release.ClassCancelled)) // the earlier round's doing
	b.want(b.follow(), "dispatch a.2")
}

func TestNothingIsResetOnceTheGateHasOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(pushed(func(p *event.RunPlanned) { p.Tests = 3 })...)
	b.say(requested("x", asTest), finish("x", 1, release.ClassCommand))
	b.want(b.follow(), "conclude x failure command after 1 in round 0", "open 0")
	b.say(event.RunRetryRequested{Request: "1"})
	b.want(b.follow())
	b.say(event.ReleasePublished{})
	b.want(b.follow(), "end 1 success")
}

func TestForgottenRunsAreRecalled(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Keep: time.Minute})
	b.say(push(1, 0), requested("a"), finish("a", 1, release.ClassCommand))
	b.follow()
	b.pass(2 * time.Minute)
	b.store("other", requested("z"))
	if len(b.s.runs) != 1 || Explain(b.s, testRun, "a", b.now).Reason != "it ended long ago" {
		t.Fatalf("%d runs are kept", len(b.s.runs))
	}
	b.follow()
	b.say(event.RunRetryRequested{Request: "1"})
	b.want(b.follow())
	for _, id := range b.s.Recalls() {
		for _, e := range b.stream {
			if e.Run == id {
				b.s.Apply(e)
			}
		}
	}
	b.want(b.follow(), "dispatch a.2")
}
