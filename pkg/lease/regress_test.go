package lease_test

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestAGrantOfADirtyPlaceGivesNothing is a world that failed once: somebody who shared a place left it dirty, and a scheduler
// that had not heard of it gave a second seat of it away.
func TestAGrantOfADirtyPlaceGivesNothing(t *testing.T) {
	t.Parallel()
	table, seq := lease.New(simConfig), uint64(0)
	say := func(run release.RunID, p event.Payload) {
		seq++
		e := event.Root(run, "/test", noon, p)
		e.Seq, e.Stored = seq, noon
		table.Apply(e)
	}
	first, second := event.AttemptRef{Run: "r", Task: "a", Attempt: 1}, event.AttemptRef{Run: "r", Task: "b", Attempt: 1}
	say(event.Fleet, event.PlaceRegistered{Provider: "lab", Place: "p", Version: "1", Pool: "linux", Capacity: 2, Clean: true})
	say(event.Fleet, event.LeaseGranted{Provider: "lab", Place: "p", Token: 1, Holder: first, Shared: true, Until: noon.Add(time.Minute)})
	held := release.Lease{Provider: "lab", Places: []release.Held{{Place: "p", Token: 1}}}
	say("r", event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux", Lease: held})
	say("r", event.TaskStarted{Task: "a", Attempt: 1, Pool: "linux", Executor: "x"})
	say("r", event.TaskFinished{Task: "a", Attempt: 1, Pool: "linux", Class: release.ClassCancelled, Outcome: release.Cancelled})
	say(event.Fleet, event.LeaseEnded{Provider: "lab", Place: "p", Token: 1, Holder: first, State: release.PlaceCleanupPending})
	say(event.Fleet, event.LeaseGranted{Provider: "lab", Place: "p", Token: 2, Holder: second, Shared: true, Until: noon.Add(time.Minute)})
	ask := lease.Ask{Holder: second, Request: release.LeaseRequest{Provider: "lab", Shared: true}, Since: noon}
	if a := table.Grant(ask, noon); a.Held {
		t.Fatalf("a dirty place is held: %+v", a)
	}
	if p := table.Places()[0]; p.State != lease.CleanupPending || p.Token != 2 {
		t.Fatalf("%+v", p)
	}
	intents, _ := table.Decide(noon, func(event.AttemptRef) bool { return false })
	if len(intents) != 1 || intents[0].Payload.(event.LeaseGranted).Holder.Task != lease.TaskClean || intents[0].Payload.(event.LeaseGranted).Token != 3 {
		t.Fatalf("it is not cleaned: %+v", intents)
	}
}
