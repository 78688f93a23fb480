package schedule

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestWorldsThatFailedOnce keeps what simulated worlds have taught, each shrunk to its point.
func TestWorldsThatFailedOnce(t *testing.T) {
	t.Parallel()
	for name, world := range map[string]func(b *bench){
		"a lost intent and a clock that steps back: it is made again in Resend, not in an hour": func(b *bench) {
			b.say(push(1, 0), requested("a"))
			b.want(b.decide(), "dispatch a.1")
			b.pass(-time.Hour)
			b.want(b.decide())
			b.pass(3 * time.Second)
			b.want(b.decide(), "dispatch a.1")
		},
		"a retry after a cancellation: an attempt that is cancelled only now belongs to the round before": func(b *bench) {
			b.say(push(1, 0), requested("a"), start("a", 1), event.RunCancelRequested{Request: "1"}, event.RunRetryRequested{Request: "2"})
			b.say(finish("a", 1, release.ClassCancelled))
			b.want(b.follow(), "dispatch a.2")
		},
		"a retry of one task after a cancellation: the others stay cancelled, and so does the run": func(b *bench) {
			b.say(push(2, 0), requested("a"), requested("b"), event.RunCancelRequested{Request: "1"})
			b.want(b.follow(), "conclude a cancel cancelled after 0 in round 0", "conclude b cancel cancelled after 0 in round 0", "end 0 cancel")
			b.say(event.RunRetryRequested{Request: "2", Tasks: []release.TaskID{"b"}})
			b.want(b.follow(), "conclude a cancel cancelled after 0 in round 1", "dispatch b.1")
			b.say(ok("b", 1)...)
			b.want(b.follow(), "close 1", "end 1 cancel")
		},
		"a retry while an intent of the round before is on its way: its late fact concludes nothing": func(b *bench) {
			b.say(push(1, 0), requested("a"), finish("a", 1, release.ClassCommand))
			b.want(b.decide(), "conclude a failure command after 1 in round 0")
			b.say(event.RunRetryRequested{Request: "1"})
			b.want(b.decide(), "dispatch a.2")
			b.say(event.TaskConcluded{Task: "a", Attempts: 1, Round: 0, Outcome: release.Failure, Class: release.ClassCommand})
			b.want(b.decide())
			b.pass(3 * time.Second)
			b.want(b.decide(), "dispatch a.2")
		},
		"withdrawn by a cancellation, given again by a retry: the first one cannot be started": func(b *bench) {
			b.say(push(1, 0), requested("a"))
			b.want(b.follow(), "dispatch a.1")
			b.say(event.RunCancelRequested{Request: "1"})
			b.want(b.follow(), "refuse a.1", "conclude a cancel cancelled after 1 in round 0", "end 0 cancel")
			b.say(event.RunRetryRequested{Request: "2"})
			b.want(b.follow(), "dispatch a.2")
			b.say(start("a", 2), start("a", 1))
			b.beat("linux", "x", 2, "a.2")
			b.want(b.follow())
			b.say(finish("a", 2, release.ClassOK))
			b.want(b.follow())
			if why := Explain(b.s, testRun, "a", b.now); why.Outcome != release.Success {
				b.t.Fatalf("%+v", why)
			}
		},
		"withdrawn by a cancellation, a retry, and the withdrawn attempt fails after all: it belongs to the round before": func(b *bench) {
			b.say(push(1, 0), requested("a"), event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"}, event.RunCancelRequested{Request: "1"})
			b.say(event.TaskConcluded{Task: "a", Attempts: 1, Outcome: release.Cancelled, Class: release.ClassCancelled})
			b.say(event.RunRetryRequested{Request: "2"}, start("a", 1), finish("a", 1, release.ClassCommand))
			b.want(b.follow(), "dispatch a.2")
		},
		"the last retry of a run between two tasks, and a verdict that settles the run: it is decided once": func(b *bench) {
			planned := push(2, 0)
			planned.RetryBudget = 1
			again := retries(release.Retry{Class: release.ClassCommand, Limit: 1})
			b.say(planned, requested("a", again), requested("b", again), finish("a", 1, release.ClassCommand), finish("b", 1, release.ClassCommand))
			b.want(b.follow(), "conclude b failure command after 1 in round 0", "conclude a failure command after 1 in round 0", "close 0", "end 0 failure")
		},
		"an attempt that is being stopped still uses what it uses": func(b *bench) {
			b.store(event.Fleet, event.LimitSet{Request: "1", Of: event.LimitPool, Name: "linux", Resource: "tasks", Amount: 1})
			b.say(push(2, 0), requested("a"), start("a", 1), event.RunCancelRequested{Request: "1"})
			b.beat("linux", "x", 1, "a.1")
			b.want(b.follow(), "stop a.1")
			b.store("other", requested("b"))
			b.want(b.follow())
			b.say(finish("a", 1, release.ClassCancelled))
			b.want(b.follow(), "conclude a cancel cancelled after 1 in round 0", "dispatch b.1")
		},
	} {
		t.Run(name, func(t *testing.T) { world(newBench(t, Config{})) })
	}
}
