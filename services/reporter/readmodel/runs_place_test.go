package readmodel

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestRunsOfPlacesAreFoundByName: how a place is cleaned has logs like any attempt, and is no change that somebody made.
func TestRunsOfPlacesAreFoundByName(t *testing.T) {
	t.Parallel()
	m := openModel(t, "sqlite://"+t.TempDir()+"/rows.db")
	run := release.RunID(release.PlaceRuns + "lab_rack-1")
	e := event.Root(run, "/test-scheduler/1", storyTime(), event.TaskDispatched{Task: "clean", Attempt: 3, Pool: "linux"})
	e.Seq = 1
	foldAll(t, m, []event.Event{e}, 1)
	listed, _, err := m.Runs(t.Context(), RunsQuery{Limit: 10})
	if err != nil || len(listed) != 0 {
		t.Fatalf("%+v, %v", listed, err)
	}
	if _, found, err := m.Run(t.Context(), run); err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
}
