package schedule

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestALatePlanStartsNothing: the plan of a run that was cancelled before it was planned starts nothing and ends nothing anew;
// its tasks are concluded.
func TestALatePlanStartsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.beat("linux", "x", 2)
	b.say(event.ChangeReceived{Change: release.Change{Kind: release.Push}}, event.RunCancelRequested{Request: "1", By: "eva"})
	b.want(b.follow(), "end 0 cancel")
	b.say(push(1, 0), requested("a"))
	b.want(b.follow(), "conclude a cancel cancelled after 0 in round 0")
}

// TestNothingToDo: a change that leaves everything out is well when it could not be published, and not otherwise.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	branch := func(p *event.RunPlanned) { p.Change.Branch, p.Change.Ref, p.Skipped = "docs", "refs/heads/docs", 3 }
	for name, c := range map[string]struct {
		change func(*event.RunPlanned)
		want   string
	}{
		"a branch":            {branch, "end 0 success"},
		"the release branch":  {func(p *event.RunPlanned) { p.Skipped = 3 }, "end 0 failure"},
		"an empty definition": {func(p *event.RunPlanned) { branch(p); p.Skipped = 0 }, "end 0 failure"},
	} {
		b := newBench(t, Config{})
		planned := push(0, 0)
		c.change(&planned)
		b.say(planned, assembled(0)) // of nothing: the builder has nothing to wait for
		t.Log(name)
		b.want(b.follow(), "close 0", c.want)
	}
}
