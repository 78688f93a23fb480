package scheduler

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/pkg/service"
)

const run release.RunID = "4f2a9c1d-testtest"

func TestACommitGoesThroughTheGate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.executor("x1", nil)
	h.begin(run, 3, 5, nil)
	h.assemble(run, 3)
	opened := h.until(run, event.TypeGateOpened, "0")
	if c := opened.Data.(event.GateOpened).Conditions; len(c) != 7 || opened.Source != "/test-scheduler/s1" {
		t.Fatalf("opened by %s with %+v", opened.Source, c)
	}
	h.say(run, event.ReleasePublished{})
	ended := h.until(run, event.TypeRunFinished, "0")
	if got := ended.Data.(event.RunFinished).Outcome; got != release.Success {
		t.Fatalf("ended as %s", got)
	}
	if n := h.count(event.TypeTaskDispatched); n != 8 {
		t.Fatalf("%d attempts were dispatched, want 8:\n%s", n, h.story())
	}
}

func TestAPullRequestClosesTheGateAndSucceeds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.executor("x1", nil)
	h.begin(run, 1, 1, func(p *plan.Plan) { p.Change.Kind = release.PullRequest })
	h.assemble(run, 1)
	closed := h.until(run, event.TypeGateClosed, "0").Data.(event.GateClosed)
	if !strings.Contains(closed.Reason, "a pull request never publishes") {
		t.Fatalf("closed because %q", closed.Reason)
	}
	if got := h.until(run, event.TypeRunFinished, "0").Data.(event.RunFinished); got.Outcome != release.Success {
		t.Fatalf("ended as %+v", got)
	}
}

// TestWhyAndQueues asks while a run waits: for an executor, then for a person.
func TestWhyAndQueues(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.begin(run, 1, 1, func(p *plan.Plan) { p.Release.Approvals = 1 })
	h.until(run, event.TypeTaskDispatched, "")
	why := h.why(Question{Run: run, Task: "build-0"}, "dispatched")
	if why.Reason != "pool linux has no live executor that takes work" {
		t.Fatalf("%+v", why)
	}
	h.executor("x1", nil)
	h.assemble(run, 1)
	h.untilSuccess(run, "test-0")
	why = h.why(Question{Run: run}, "gate")
	if why.Reason != "approvals: 0 of 1 people have approved" || len(why.Conditions) != 7 {
		t.Fatalf("%+v", why)
	}
	pools, err := bus.Ask[Everything, []schedule.Pool](t.Context(), h.bus, TopicQueues, Everything{})
	if err != nil || len(pools) != 1 || pools[0].Slots != slots || len(pools[0].Executors) != 1 || !pools[0].Executors[0].Alive {
		t.Fatalf("%+v, %v", pools, err)
	}
	found := h.until(run, event.TypeCandidateAssembled, "0").Data.(event.CandidateAssembled)
	h.say(run, event.GateApproved{By: "ann", Candidate: found.Candidate})
	h.until(run, event.TypeGateOpened, "0")
	if _, err := bus.Ask[Question, schedule.Why](t.Context(), h.bus, TopicWhy, Question{Run: "no dots.please"}); err == nil {
		t.Fatal("a name that is no token must be refused")
	}
}

// why asks until the answer is about a state.
func (h *house) why(q Question, state string) schedule.Why {
	h.t.Helper()
	var got schedule.Why
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		var err error
		if got, err = bus.Ask[Question, schedule.Why](h.t.Context(), h.bus, TopicWhy, q); err == nil && got.State == state {
			return got
		}
	}
	h.t.Fatalf("%+v is answered %+v, want state %s", q, got, state)
	return got
}

// TestAnExecutorDies: what it had in hand starts again elsewhere within three seconds of its last heartbeat.
func TestAnExecutorDies(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	stuck := func(ctx context.Context, _ event.AttemptRef) release.Class { <-ctx.Done(); return release.ClassOK }
	_, kill := h.executor("x1", stuck)
	h.begin(run, 2, 0, nil)
	h.until(run, event.TypeTaskStarted, "linux.build-0.1")
	h.until(run, event.TypeTaskStarted, "linux.build-1.1")
	kill()
	dead := time.Now()
	h.executor("x2", nil)
	lost := h.until(run, event.TypeTaskFinished, "linux.build-0.1").Data.(event.TaskFinished)
	if lost.Class != release.ClassLost || lost.Executor != "x1" || !strings.Contains(lost.Reason, "silent") {
		t.Fatalf("%+v", lost)
	}
	h.until(run, event.TypeTaskStarted, "linux.build-0.2")
	if took := time.Since(dead); took > 10*time.Second { // 3s on a quiet machine; see the log of the benchmark
		t.Fatalf("its work started again after %s", took)
	}
	h.untilSuccess(run, "build-1")
}

// TestRestart: another process goes on where the facts stop, at whatever point the first one was killed.
func TestRestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stop := h.scheduler("s1", Config{})
	h.executor("x1", nil)
	h.begin(run, 40, 10, nil)
	h.until(run, event.TypeTaskFinished, "linux.build-7.1")
	for _, name := range []string{"s2", "s3", "s4"} {
		stop()
		stop = h.scheduler(name, Config{})
	}
	h.assemble(run, 40)
	stop()
	h.scheduler("s5", Config{})
	h.until(run, event.TypeGateOpened, "0")
	if n := h.count(event.TypeTaskDispatched); n != 50 {
		t.Fatalf("%d attempts were dispatched, want 50", n)
	}
}

// TestTwoSchedulersAreHarmless: both decide everything, and the stream keeps each decision once.
func TestTwoSchedulersAreHarmless(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.scheduler("s2", Config{})
	var first atomic.Int32
	flaky := func(_ context.Context, ref event.AttemptRef) release.Class {
		if ref.Attempt == 1 && first.Add(1)%3 == 0 {
			return release.ClassLost // goes on at once
		}
		return release.ClassOK
	}
	x1, _ := h.executor("x1", flaky)
	x2, _ := h.executor("x2", flaky)
	const builds, tests = 60, 60
	h.begin(run, builds, tests, nil)
	h.assemble(run, builds)
	h.until(run, event.TypeGateOpened, "0")
	h.say(run, event.ReleasePublished{})
	h.until(run, event.TypeRunFinished, "0")
	for _, x := range []*executor{x1, x2} {
		for ref, n := range x.ran {
			if n != 1 || x == x1 && x2.ran[ref] > 0 {
				t.Fatalf("%v ran %d times on %s", ref, n, x.name)
			}
		}
	}
	if got, want := h.count(event.TypeTaskStarted), builds+tests+h.count(event.TypeTaskDelayed); got != want {
		t.Fatalf("%d attempts were started, want one for each of %d tasks and each retry", got, want)
	}
}

func TestDrainedPoolGetsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.say(event.Fleet, event.PoolDrainRequested{Pool: "linux", Request: "1", By: "ann"})
	h.scheduler("s1", Config{})
	h.executor("x1", nil)
	h.begin(run, 1, 0, nil)
	if why := h.why(Question{Run: run, Task: "build-0"}, "ready"); why.Reason != "pool linux is drained by ann" {
		t.Fatalf("%+v", why)
	}
	h.say(event.Fleet, event.PoolDrainRequested{Pool: "linux", Request: "2", Resume: true})
	h.untilSuccess(run, "build-0")
}

// TestARunOfLongAgo: it is not kept, it is explained all the same, and it can be tried again.
func TestARunOfLongAgo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{Keep: time.Nanosecond})
	h.executor("x1", func(_ context.Context, ref event.AttemptRef) release.Class {
		if ref.Attempt == 1 {
			return release.ClassCommand
		}
		return release.ClassOK
	})
	h.begin(run, 1, 0, nil)
	h.until(run, event.TypeRunFinished, "0")
	h.say("another", event.RunRejected{})
	h.until("another", event.TypeRunFinished, "0")
	if why := h.why(Question{Run: run, Task: "build-0"}, "ended"); why.Outcome != release.Failure {
		t.Fatalf("%+v", why)
	}
	h.say(run, event.RunRetryRequested{Request: "1"})
	h.untilSuccess(run, "build-0")
}

func TestTheTopologyIsTrue(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	deps := service.Deps{Registry: registry}
	s, err := New(Config{}, deps)
	check(t, err)
	if _, err := New(Config{}, deps); err != nil { // a second one of the same process shares the metrics
		t.Fatal(err)
	}
	if len(s.Routes) != 1 || len(s.Loops) != 2 || len(s.Loops[0].Hears) != len(schedule.Hears())+len(heartbeats()) {
		t.Fatalf("%+v", s)
	}
	if _, err := registry.Gather(); err != nil {
		t.Fatal(err)
	}
}
