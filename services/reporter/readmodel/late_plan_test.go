package readmodel

import (
	"slices"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/store/storetest"
)

// TestALatePlanOpensNothing: a run that was cancelled before it was planned has ended on every page, also when its plan comes
// later; work that is given out in a later round opens it again. Each fact is folded alone and all of them at once.
func TestALatePlanOpensNothing(t *testing.T) {
	t.Parallel()
	for kind, url := range storetest.URLs(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 100} {
				m := openModel(t, url(t))
				told := tellLatePlan()
				foldAll(t, m, told[:5], size)
				expectState(t, m, string(release.Cancelled), true)
				foldAll(t, m, told, size)
				expectState(t, m, StateRunning, false)
			}
		})
	}
}

// TestAPlanTakesPermissionsPlace: a run that waited for permission runs once it is planned.
func TestAPlanTakesPermissionsPlace(t *testing.T) {
	t.Parallel()
	m := openModel(t, storetest.URLs(t)["sqlite"](t))
	change := release.Change{Kind: release.PullRequest, Project: "p"}
	told := numbered(event.RunPermissionRequested{Change: change, Reason: "a stranger"}, event.RunPlanned{Change: change, Builds: 1})
	foldAll(t, m, told[:1], 1)
	expectState(t, m, StateUnpermitted, false)
	foldAll(t, m, told, 1)
	expectState(t, m, StateRunning, false)
}

func tellLatePlan() []event.Event {
	change := release.Change{Kind: release.Push, Project: "p"}
	return numbered(
		event.ChangeReceived{Change: change},
		event.RunCancelRequested{Request: "1", By: "eva"},
		event.RunFinished{Outcome: release.Cancelled, Reason: "the run was cancelled by eva"},
		event.RunPlanned{Change: change, Builds: 1},
		event.TaskRequested{Task: "a", Name: "a", Kind: release.Build, Pool: "linux"},
		event.RunRetryRequested{Request: "2", By: "eva"},
		event.TaskDispatched{Task: "a", Attempt: 1, Pool: "linux"},
	)
}

func numbered(payloads ...event.Payload) (out []event.Event) {
	for i, p := range payloads {
		e := event.Root("4f2a9c1d-late", "/t/1", storyTime(), p)
		e.Seq = uint64(i + 1)
		out = append(out, e)
	}
	return out
}

// expectState asks for the run itself, and for the lists of runs by state: it is in its own and in no other.
func expectState(t *testing.T, m *Model, want string, ended bool) {
	t.Helper()
	run, found, err := m.Run(t.Context(), "4f2a9c1d-late")
	if err != nil || !found || run.State != want || run.Ended() != ended {
		t.Fatalf("the run is %q and ended is %v (%v, %v), want %q and %v", run.State, run.Ended(), found, err, want, ended)
	}
	for _, state := range []string{StateReceived, StateUnpermitted, StateRunning, string(release.Cancelled)} {
		list, _, err := m.Runs(t.Context(), RunsQuery{Limit: 10, State: state})
		listed := slices.ContainsFunc(list, func(r Run) bool { return r.ID == run.ID })
		if err != nil || listed != (state == want) {
			t.Fatalf("among those that are %s: %v (%v), want %v", state, listed, err, state == want)
		}
	}
}
