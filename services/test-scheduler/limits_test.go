package scheduler

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// TestLimitsWhileTasksWait: a limit keeps all but one task from being dispatched, and stands in the list; once it is
// taken back all of them run.
func TestLimitsWhileTasksWait(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.say(event.Fleet, event.LimitSet{Request: "1", Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 1, By: "ann"})
	h.scheduler("s1", Config{})
	h.begin(run, 12, 0, nil)
	h.until(run, event.TypeTaskDispatched, "linux.build-0.1")
	why := h.why(Question{Run: run, Task: "build-7"}, "ready")
	if why.Reason != "it takes 1 tasks: 1 of 1 that pool linux may use are taken; the limit was set by ann" {
		t.Fatalf("%+v", why)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the requests come in one by one
		limits, err := bus.Ask[Everything, []schedule.Quota](t.Context(), h.bus, TopicLimits, Everything{})
		if err == nil && len(limits) == 1 && limits[0].Used == 1 && limits[0].Waiting == 11 && limits[0].By == "ann" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v, %v", limits, err)
		}
	}
	h.executor("x1", nil)
	h.say(event.Fleet, event.LimitSet{Request: "2", Of: event.LimitPool, Name: "linux", Resource: "tasks", Unset: true})
	for _, task := range h.plan.Tasks {
		h.untilSuccess(run, task.ID)
	}
}

// TestADrainingExecutorsWorkMoves: what it says is enough; nobody waits until it is gone.
func TestADrainingExecutorsWorkMoves(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.executor("x1", func(ctx context.Context, _ event.AttemptRef) release.Class { <-ctx.Done(); return release.ClassOK })
	h.begin(run, 1, 0, nil)
	h.until(run, event.TypeTaskStarted, "linux.build-0.1")
	h.say(event.Fleet, event.ExecutorDraining{Pool: "linux", Executor: "x1", Reason: "spot notice", Deadline: time.Now().Add(time.Hour)})
	lost := h.until(run, event.TypeTaskFinished, "linux.build-0.1").Data.(event.TaskFinished)
	if lost.Class != release.ClassLost || !strings.Contains(lost.Reason, "x1 is draining (spot notice)") {
		t.Fatalf("%+v", lost)
	}
	h.executor("x2", nil)
	h.until(run, event.TypeTaskDispatched, "linux.build-0.2")
}

// TestANewerRunEndsTheOlder of the same branch, when its plan asks for that.
func TestANewerRunEndsTheOlder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.say("old", event.RunPlanned{Supersede: true, Builds: 1, Change: onTopic("1111111111")}, event.TaskRequested{Task: "a", Pool: "linux", Kind: release.Build})
	h.until("old", event.TypeTaskDispatched, "")
	h.say("new", event.RunPlanned{Supersede: true, Builds: 1, Change: onTopic("2222222222")})
	cancelled := h.until("old", event.TypeRunCancelRequested, "").Data.(event.RunCancelRequested)
	if !strings.HasPrefix(cancelled.Reason, "superseded by run new") {
		t.Fatalf("%+v", cancelled)
	}
	if got := h.until("old", event.TypeRunFinished, "0").Data.(event.RunFinished); got.Outcome != release.Cancelled {
		t.Fatalf("%+v", got)
	}
}

func onTopic(commit string) release.Change {
	return release.Change{Kind: release.Push, Repo: "o/r", Ref: "refs/heads/topic", Branch: "topic", Commit: release.Commit(commit)}
}
