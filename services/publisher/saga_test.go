package publisher

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const sagaRun release.RunID = "abababab-saga"

func fact(p event.Payload) event.Event { return event.Event{Run: sagaRun, ID: p.Key(), Data: p} }

func plannedFact(kind release.ChangeKind, branch string, targets ...event.TargetName) event.RunPlanned {
	return event.RunPlanned{
		Change:  release.Change{Kind: kind, Branch: branch, Ref: "refs/heads/" + branch, Repo: "acme/demo", Commit: release.Commit(strings.Repeat("ab", 20))},
		Plan:    "sha256:plan",
		Release: release.ReleasePolicy{Branch: "master"}, Targets: targets,
	}
}

func openedFact() event.GateOpened {
	return event.GateOpened{Candidate: "sha256:candidate", Blob: "sha256:blob", Plan: "sha256:plan"}
}

// world of the saga: facts in a stream that keeps one per place, requests that workers hear, maybe twice.
type stream struct {
	t      *rapid.T
	facts  []event.Payload
	places map[string]bool
	open   []event.PublicationRequested // heard and not settled
}

func place(p event.Payload) string { return string(p.EventType()) + " " + p.Key() }

func (s *stream) say(p event.Payload) {
	if s.places[place(p)] {
		return
	}
	s.places[place(p)] = true
	s.facts = append(s.facts, p)
	if r, ok := p.(event.PublicationRequested); ok {
		s.open = append(s.open, r)
	}
}

// fold is a decider that started again: it reads the stream from the beginning, some facts twice.
func (s *stream) fold(upTo int) *saga {
	out := newSaga()
	for i, f := range s.facts[:upTo] {
		out.apply(fact(f))
		if i%3 == 0 {
			out.apply(fact(f))
		}
	}
	return out
}

// TestSagaUnderSimulation lets deciders that lag and restart, workers that are slow, fail and answer twice, and people
// who cancel and retry, meet in every order, and holds the laws of the saga at every fact.
func TestSagaUnderSimulation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &stream{t: t, places: map[string]bool{}}
		kinds := []string{"pypi-index", "pypi", "maven", "oci"}
		var targets []event.TargetName
		for i := range rapid.IntRange(1, 5).Draw(t, "targets") {
			targets = append(targets, event.TargetName{Name: fmt.Sprintf("t%d", i), Kind: rapid.SampledFrom(kinds).Draw(t, "kind")})
		}
		failures := rapid.IntRange(0, 2).Draw(t, "failures")
		s.say(plannedFact(release.Push, "master", targets...))
		s.say(openedFact())
		retries := 0
		for turn := 0; turn < 400; turn++ {
			switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
			case action < 4: // a decider whose view may be old
				lag := rapid.IntRange(0, min(3, len(s.facts))).Draw(t, "lag")
				for _, p := range s.fold(len(s.facts) - lag).decide() {
					if lag == 0 && s.places[place(p)] {
						t.Fatalf("said twice: %s", place(p))
					}
					s.say(p)
				}
			case action < 8 && len(s.open) > 0: // a worker settles a request, or answers and crashes before the ack
				i := rapid.IntRange(0, len(s.open)-1).Draw(t, "request")
				r := s.open[i]
				if failures > 0 && rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
					failures--
					s.say(event.PublicationFailed{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round, Reason: "taken"})
				} else {
					s.say(event.PublicationAdvanced{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round})
				}
				if rapid.Bool().Draw(t, "acked") {
					s.open = slices.Delete(s.open, i, i+1)
				}
			case action == 8 && rapid.IntRange(0, 30).Draw(t, "cancels") == 0:
				s.say(event.RunCancelRequested{Request: fmt.Sprint(turn), By: "ann"})
			case action == 9 && rapid.IntRange(0, 9).Draw(t, "retries") == 0:
				retries++
				s.say(event.PublicationRetryRequested{Request: fmt.Sprint(retries), By: "ann"})
			}
			s.laws()
		}
		s.finish()
	})
}

// laws hold at every moment.
func (s *stream) laws() {
	reached := map[string]release.PublicationState{}
	kind := map[string]string{}
	for _, f := range s.facts {
		switch p := f.(type) {
		case event.RunPlanned:
			for _, t := range p.Targets {
				reached[t.Name], kind[t.Name] = release.Planned, t.Kind
			}
		case event.PublicationRequested:
			if p.State != release.Committed {
				continue
			}
			for name, state := range reached {
				if !state.Reached(release.Staged) {
					s.t.Fatalf("%s may commit while %s is %s", p.Target, name, state)
				}
				if rankOf(kind[name]) < rankOf(p.Kind) && state != release.Verified {
					s.t.Fatalf("%s (%s) may commit while %s (%s) is %s", p.Target, p.Kind, name, kind[name], state)
				}
			}
		case event.PublicationAdvanced:
			if p.State.Reached(reached[p.Target]) {
				reached[p.Target] = p.State
			}
		case event.ReleasePublished:
			for name, state := range reached {
				if state != release.Verified {
					s.t.Fatalf("published while %s is %s", name, state)
				}
			}
		}
	}
}

// finish lets everybody who still works come to an end: the saga always says how it ended.
func (s *stream) finish() {
	for range 200 {
		said := len(s.facts)
		for _, r := range s.open {
			s.say(event.PublicationAdvanced{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round})
		}
		s.open = nil
		end := s.fold(len(s.facts))
		for _, p := range end.decide() {
			s.say(p)
		}
		s.laws()
		if len(s.facts) == said {
			if !end.published && !end.failed[end.round] {
				s.t.Fatalf("the saga waits for nobody: %v", end.reasons())
			}
			return
		}
	}
	s.t.Fatal("the saga never ends")
}

func TestFoldOfAnyOrderIsTheSame(t *testing.T) {
	t.Parallel()
	facts := []event.Payload{
		plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"}, event.TargetName{Name: "b", Kind: "pypi"}),
		openedFact(),
		event.PublicationRequested{Target: "a", Kind: "oci", State: release.Probed},
		event.PublicationAdvanced{Target: "a", Kind: "oci", State: release.Probed},
		event.PublicationRequested{Target: "a", Kind: "oci", State: release.Staged},
		event.PublicationFailed{Target: "a", Kind: "oci", State: release.Staged, Reason: "denied"},
		event.PublicationRequested{Target: "b", Kind: "pypi", State: release.Probed},
		event.PublicationAdvanced{Target: "b", Kind: "pypi", State: release.Probed},
	}
	want := foldOf(facts)
	rapid.Check(t, func(t *rapid.T) {
		if got := foldOf(rapid.Permutation(facts).Draw(t, "order")); got != want {
			t.Fatalf("another order decides\n%s\nwant\n%s", got, want)
		}
	})
}

func foldOf(facts []event.Payload) string {
	s := newSaga()
	for _, f := range facts {
		s.apply(fact(f))
	}
	return fmt.Sprint(s.decide())
}

func TestOnlyTheReleaseBranchPublishes(t *testing.T) {
	t.Parallel()
	target := event.TargetName{Name: "a", Kind: "oci"}
	fork := plannedFact(release.Push, "master", target)
	fork.Change.Fork = true
	otherPlan := plannedFact(release.Push, "master", target)
	otherPlan.Plan = "sha256:other"
	tagsOnly := plannedFact(release.Push, "master", target)
	tagsOnly.GateOn = []release.ChangeKind{release.Tag}
	for name, planned := range map[string]event.RunPlanned{
		"pull request": plannedFact(release.PullRequest, "master", target), "another branch": plannedFact(release.Push, "feature", target),
		"a schedule": plannedFact(release.Schedule, "master", target), "a manual run of another branch": plannedFact(release.Manual, "feature", target),
		"a fork": fork, "another plan": otherPlan, "a gate for tags": tagsOnly,
	} {
		s := newSaga()
		s.apply(fact(planned))
		s.apply(fact(openedFact()))
		out := s.decide()
		if failed, ok := out[0].(event.ReleaseFailed); !ok || len(out) != 1 || !strings.Contains(failed.Reasons[0], "nothing was published") {
			t.Errorf("%s: decided %v, want release.failed", name, out)
		}
	}
}

func TestFailureAfterTheFirstCommitSaysWhatEachTargetHas(t *testing.T) {
	t.Parallel()
	s := newSaga()
	s.apply(fact(plannedFact(release.Push, "master",
		event.TargetName{Name: "index", Kind: "pypi-index"}, event.TargetName{Name: "image", Kind: "oci"}, event.TargetName{Name: "pypi", Kind: "pypi"})))
	s.apply(fact(openedFact()))
	until := func(stop func(event.PublicationRequested) bool) []event.Payload {
		for range 50 {
			for _, p := range s.decide() {
				s.apply(fact(p))
				r, ok := p.(event.PublicationRequested)
				if !ok {
					return []event.Payload{p}
				}
				if stop(r) {
					s.apply(fact(event.PublicationFailed{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round, Reason: "tag 1.0 is taken"}))
				} else {
					s.apply(fact(event.PublicationAdvanced{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round}))
				}
			}
		}
		return nil
	}
	out := until(func(r event.PublicationRequested) bool { return r.Target == "image" && r.State == release.Committed })
	failed, ok := out[0].(event.ReleaseFailed)
	want := []string{
		"image: a part may be visible; it cannot become committed: tag 1.0 is taken",
		"index: published and verified",
		"pypi: nothing is visible",
	}
	if !ok || !slices.Equal(failed.Reasons, want) {
		t.Fatalf("got %v, want %q", out, want)
	}
	if more := s.decide(); more != nil {
		t.Fatalf("after the end: %v", more)
	}
	s.apply(fact(event.PublicationRetryRequested{Request: "r1", By: "ann"}))
	out = until(func(event.PublicationRequested) bool { return false })
	if published, ok := out[0].(event.ReleasePublished); !ok || published.Round != 1 || len(published.Targets) != 3 {
		t.Fatalf("after the retry: %v", out)
	}
}

func TestFailureBeforeTheFirstCommitLeavesNothingVisible(t *testing.T) {
	t.Parallel()
	s := newSaga()
	s.apply(fact(plannedFact(release.Push, "master", event.TargetName{Name: "index", Kind: "pypi-index"}, event.TargetName{Name: "pypi", Kind: "pypi"})))
	s.apply(fact(openedFact()))
	for _, p := range s.decide() {
		s.apply(fact(p))
	}
	s.apply(fact(event.PublicationFailed{Target: "pypi", Kind: "pypi", State: release.Probed, Reason: "denied"}))
	out := s.decide()
	if failed, ok := out[0].(event.ReleaseFailed); !ok || s.begun() || !slices.Contains(failed.Reasons, "pypi: nothing is there; it cannot become probed: denied") {
		t.Fatalf("decided %v", out)
	}
}

func TestCancelStopsWhatIsNotVisible(t *testing.T) {
	t.Parallel()
	s := newSaga()
	s.apply(fact(plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"})))
	s.apply(fact(openedFact()))
	s.apply(fact(event.RunCancelRequested{Request: "c", By: "ann", Reason: "wrong version"}))
	if failed, ok := s.decide()[0].(event.ReleaseFailed); !ok || !strings.Contains(failed.Reasons[0], "cancelled by ann") {
		t.Fatalf("decided %v", s.decide())
	}
	s.apply(fact(event.PublicationRequested{Target: "a", Kind: "oci", State: release.Committed}))
	s.apply(fact(event.PublicationAdvanced{Target: "a", Kind: "oci", State: release.Committed}))
	if next, ok := s.decide()[0].(event.PublicationRequested); !ok || next.State != release.Verified {
		t.Fatalf("after a commit decided %v, want to go on", s.decide())
	}
}
