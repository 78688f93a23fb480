package schedule

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestOnlyTheOwnerSpeaksOfAnAttempt: a pool that says how an attempt of another pool ended is not believed, whether it says
// so before or after the truth, and whatever order the facts come in.
func TestOnlyTheOwnerSpeaksOfAnAttempt(t *testing.T) {
	t.Parallel()
	lie := event.TaskFinished{Task: "a", Attempt: 1, Pool: "gpu", Class: release.ClassOK, Outcome: release.Success}
	for name, facts := range map[string][]event.Payload{
		"after the start":     {requested("a"), start("a", 1), lie},
		"before the start":    {requested("a"), lie, start("a", 1)},
		"before the request":  {lie, requested("a"), start("a", 1)},
		"start of its own":    {requested("a"), event.TaskStarted{Task: "a", Attempt: 1, Pool: "gpu", Executor: "g"}, lie, start("a", 1)},
		"request to stop":     {requested("a"), start("a", 1), event.TaskCancelRequested{Task: "a", Attempt: 1, Pool: "gpu"}},
		"all before anything": {start("a", 1), lie, requested("a")},
	} {
		b := newBench(t, Config{})
		b.say(push(1, 0))
		b.say(facts...)
		if why := Explain(b.s, testRun, "a", b.now); why.State != "running" {
			t.Errorf("%s: the task is %s (%s), want it running", name, why.State, why.Reason)
		}
		doubts := b.s.Doubts()
		if len(doubts) == 0 || doubts[0].Pool != "gpu" || doubts[0].Owner != "linux" || doubts[0].Task != "a" {
			t.Errorf("%s: reported %+v, want pool gpu and owner linux", name, doubts)
		}
		b.say(finish("a", 1, release.ClassInfra))
		if a := b.s.runs[testRun].tasks["a"].find(1); a.class != release.ClassInfra {
			t.Errorf("%s: the owner's word does not count: %+v", name, a)
		}
	}
}
