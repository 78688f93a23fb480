package schedule

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func fetching(t *event.TaskRequested) {
	t.Pool, t.Timeouts.Queue = release.FetchPool, release.Duration(2*time.Hour)
	t.Retry = []release.Retry{{Class: release.ClassInfraTimeout}}
}

// TestWaitForWhatIsFetched: the wait is the attempt's time in the queue, counted from the facts; what is told of it is for
// people; when it is over the class is infra_timeout and the exit code 30, and it is not begun again.
func TestWaitForWhatIsFetched(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(requested("a", fetching), requested("b", needs("a")))
	b.want(b.follow(), "dispatch a.1")
	b.pass(10 * time.Minute)
	if why := Explain(b.s, testRun, "a", b.now); why.Reason != "what it fetches is not there yet, gives up at 2026-03-01T14:00:00Z" {
		t.Errorf("before anything is told: %s, %q", why.State, why.Reason)
	}
	b.say(event.TaskAwaited{Task: "a", Attempt: 1, Asked: 20, Answer: "404 Not Found", Next: b.now.Add(30 * time.Second)})
	b.say(event.TaskAwaited{Task: "a", Attempt: 1, Asked: 18, Answer: "503", Next: b.now})
	want := "what it fetches is not there yet: asked 20 times, last answer 404 Not Found, next at 2026-03-01T12:10:30Z, gives up at 2026-03-01T14:00:00Z"
	if why := Explain(b.s, testRun, "a", b.now); why.Reason != want || why.State != "dispatched" {
		t.Errorf("%s, %q; want %q", why.State, why.Reason, want)
	}
	b.s = New(b.cfg) // A scheduler that starts anew counts from the same fact.
	for _, e := range b.stream {
		b.s.Apply(e)
	}
	b.want(b.decide())
	b.pass(time.Hour + 49*time.Minute)
	b.want(b.decide())
	b.pass(time.Minute)
	intents, _ := Decide(b.s, b.now)
	b.want(short(intents), "refuse a.1")
	b.say(intents[0].Payload)
	intents, _ = Decide(b.s, b.now)
	if len(intents) != 1 {
		t.Fatalf("%v", short(intents))
	}
	end := intents[0].Payload.(event.TaskFinished)
	if end.Class != release.ClassInfraTimeout || end.ExitCode != 30 || end.Outcome != release.Error ||
		end.Reason != "it did not come within 2h0m0s: asked 20 times, last answer 404 Not Found" {
		t.Errorf("%+v", end)
	}
	b.say(end)
	b.want(b.follow(), "conclude a error infra_timeout after 1 in round 0", "conclude b cancel cancelled after 0 in round 0")
}
