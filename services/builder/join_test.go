package builder

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

const run release.RunID = "4f2a9c1d-test"

func fact(p event.Payload) event.Event {
	return event.Event{ID: "cause", Seq: 1, Type: p.EventType(), Run: run, Key: p.Key(), Data: p}
}

func built(task release.TaskID) event.Payload {
	return event.TaskFinished{Task: task, Attempt: 1, Pool: "linux", Outcome: release.Success, Class: release.ClassOK, Artifacts: []release.Artifact{
		{Name: string(task) + ".whl", Task: task, Digest: release.DigestOf([]byte(task))},
	}}
}

// twoBuilds are the facts of a run whose two builds succeed; its one test has no say in the candidate.
func twoBuilds() []event.Payload {
	return []event.Payload{
		event.RunPlanned{Builds: 2, Tests: 1},
		event.TaskRequested{Task: "a", Pool: "linux", Kind: release.Build, Name: "a"},
		event.TaskRequested{Task: "b", Pool: "linux", Kind: release.Build, Name: "b"},
		event.TaskFinished{Task: "a", Pool: "linux", Attempt: 1, Outcome: release.Error, Class: release.ClassLost},
		event.TaskFinished{Task: "a", Pool: "linux", Attempt: 2, Outcome: release.Success, Class: release.ClassOK, Artifacts: []release.Artifact{{Name: "a.whl", Task: "a"}}},
		built("b"),
	}
}

func TestReadyOnceInAnyOrder(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		facts := rapid.Permutation(append(twoBuilds(), twoBuilds()...)).Draw(t, "facts")
		runs, ready := joins{}, 0
		for _, p := range facts {
			runs.apply(fact(p))
			for _, c := range runs.ready() {
				ready++
				if len(c.artifacts) != 2 || len(c.failures) != 0 {
					t.Fatalf("ready with %+v", c)
				}
				runs.apply(fact(event.CandidateAssembled{Round: c.round}))
			}
		}
		if ready != 1 {
			t.Fatalf("ready %d times, want once", ready)
		}
	})
}

func TestReadyEnds(t *testing.T) {
	t.Parallel()
	gaveUp := func(round int32) event.Payload {
		return event.TaskConcluded{Task: "b", Round: round, Outcome: release.Failure, Reason: "exit status 1"}
	}
	base := twoBuilds()[:5] // without the success of b
	for name, c := range map[string]struct {
		more []event.Payload
		want string
	}{
		"still running":             {nil, "not ready"},
		"one gave up":               {[]event.Payload{gaveUp(0)}, "round 0: 1 artifacts, [b: failure: exit status 1]"},
		"a retry reopens":           {[]event.Payload{gaveUp(0), event.RunRetryRequested{Request: "r"}}, "not ready"},
		"a retry told twice is one": {[]event.Payload{gaveUp(0), event.RunRetryRequested{Request: "r"}, event.RunRetryRequested{Request: "r"}, gaveUp(1)}, "round 1: 1 artifacts, [b: failure: exit status 1]"},
		"succeeded on retry":        {[]event.Payload{gaveUp(0), event.CandidateRejected{}, event.RunRetryRequested{Request: "r"}, built("b")}, "round 1: 2 artifacts, []"},
		"decided":                   {[]event.Payload{gaveUp(0), event.CandidateRejected{}}, "not ready"},
		"soft failure":              {[]event.Payload{event.TaskRequested{Task: "b", Pool: "linux", Kind: release.Build, SoftFail: true}, gaveUp(0)}, "round 0: 1 artifacts, []"},
	} {
		runs := joins{}
		for _, p := range append(base[:len(base):len(base)], c.more...) {
			runs.apply(fact(p))
		}
		got := "not ready"
		if r := runs.ready(); len(r) == 1 {
			got = fmt.Sprintf("round %d: %d artifacts, %v", r[0].round, len(r[0].artifacts), r[0].failures)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestAnotherPoolDoesNotComplete: what a pool says of a task of another pool gives no candidate, in whatever order it comes.
func TestAnotherPoolDoesNotComplete(t *testing.T) {
	t.Parallel()
	lie := event.TaskFinished{Task: "a", Attempt: 1, Pool: "gpu", Outcome: release.Success, Class: release.ClassOK}
	for name, facts := range map[string][]event.Payload{
		"after the request":  {event.RunPlanned{Builds: 1}, event.TaskRequested{Task: "a", Pool: "linux", Kind: release.Build}, lie},
		"before the request": {event.RunPlanned{Builds: 1}, lie, event.TaskRequested{Task: "a", Pool: "linux", Kind: release.Build}},
	} {
		j := joins{}
		for i, p := range facts {
			e := fact(p)
			e.Seq = uint64(i + 1)
			j.apply(e)
		}
		if ready := j.ready(); len(ready) != 0 {
			t.Errorf("%s: %+v is complete", name, ready)
		}
	}
}
