package publisher

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

const sagaRun release.RunID = "abababab-saga"

func fact(p event.Payload) event.Event { return event.Event{Run: sagaRun, ID: p.Key(), Data: p} }

// factAt is a fact with its place in the stream.
func factAt(seq int, p event.Payload) event.Event {
	e := fact(p)
	e.Seq = uint64(seq)
	return e
}

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

// stream is the saga's world: facts, one per place, requests that workers hear, maybe twice, and the laws, which are held
// against every fact as it is said.
type stream struct {
	t       *rapid.T
	facts   []event.Payload
	places  map[string]bool
	open    []event.PublicationRequested // heard and not settled
	reached map[string]release.PublicationState
	kinds   map[string]string
	round   int32
	over    bool

	verified map[string]bool
}

// again begins a round, in which everything that is not committed is looked at again.
func (s *stream) again() {
	if s.over {
		return
	}
	s.round++
	for name, state := range s.reached {
		if !state.Reached(release.Committed) {
			s.reached[name] = release.Planned
		}
	}
}

func place(p event.Payload) string { return string(p.EventType()) + " " + p.Key() }

func (s *stream) say(p event.Payload) {
	if s.places[place(p)] {
		return
	}
	s.places[place(p)] = true
	s.facts = append(s.facts, p)
	switch p := p.(type) {
	case event.PublicationRequested:
		s.mayAsk(p)
		s.open = append(s.open, p)
	case event.PublicationAdvanced:
		s.verified[p.Target] = s.verified[p.Target] || p.State == release.Verified
		if (p.Round >= s.round || p.State.Reached(release.Committed)) && p.State.Reached(s.reached[p.Target]) {
			s.reached[p.Target] = p.State
		}
	case event.PublicationRetryRequested:
		s.again()
	case event.ReleasePublished:
		s.over = true
		for name, state := range s.reached {
			if state != release.Verified && !s.verified[name] {
				s.t.Fatalf("published while %s is %s", name, state)
			}
		}
	}
}

// mayAsk holds the rules of commits.
func (s *stream) mayAsk(p event.PublicationRequested) {
	if p.State != release.Committed || p.Round < s.round {
		return // whoever is to make a step of an older round is told that nobody wants it any more
	}
	for name, state := range s.reached {
		if !state.Reached(release.Staged) {
			s.t.Fatalf("%s may commit while %s is %s", p.Target, name, state)
		}
		if rankOf(s.kinds[name]) < rankOf(p.Kind) && state != release.Verified {
			s.t.Fatalf("%s (%s) may commit while %s (%s) is %s", p.Target, p.Kind, name, s.kinds[name], state)
		}
	}
}

// decider is a process that folds the stream at its own pace.
type decider struct {
	*saga
	read int
}

// turn reads on, some facts twice, and says what it decides. One that has read everything says nothing again.
func (d *decider) turn(s *stream, lag int) {
	for ; d.read < len(s.facts)-lag; d.read++ {
		d.apply(factAt(d.read+1, s.facts[d.read]))
		if d.read%3 == 0 {
			d.apply(factAt(d.read+1, s.facts[d.read]))
		}
	}
	current := d.read == len(s.facts)
	for _, p := range d.decide() {
		if current && s.places[place(p)] {
			s.t.Fatalf("said twice: %s", place(p))
		}
		s.say(p)
	}
}

// TestSagaUnderSimulation lets two deciders that lag and restart, workers that are slow, fail and answer twice, and people
// who cancel and retry, meet in every order.
func TestSagaUnderSimulation(t *testing.T) {
	t.Parallel()
	cases := 20 // times rapid's 100
	if os.Getenv("CI") == "true" {
		cases = 100
	}
	property.Check(t, func(t *rapid.T) {
		for range cases {
			simulate(t)
		}
	})
}

func simulate(t *rapid.T) {
	s := &stream{t: t, places: map[string]bool{}, reached: map[string]release.PublicationState{}, verified: map[string]bool{}, kinds: map[string]string{}}
	kinds := []string{"pypi-index", "pypi", "maven", "oci"}
	var targets []event.TargetName
	for i := range rapid.IntRange(1, 4).Draw(t, "targets") {
		name, kind := fmt.Sprintf("t%d", i), rapid.SampledFrom(kinds).Draw(t, "kind")
		targets = append(targets, event.TargetName{Name: name, Kind: kind})
		s.reached[name], s.kinds[name] = release.Planned, kind
	}
	s.say(plannedFact(release.Push, "master", targets...))
	s.say(openedFact())
	deciders := []*decider{{saga: newSaga()}, {saga: newSaga()}}
	failures := rapid.IntRange(0, 2).Draw(t, "failures")
	for turn := range 60 {
		switch draw := rapid.IntRange(0, 999).Draw(t, "turn"); draw % 10 {
		case 0, 1, 2, 3:
			if draw/10%17 == 0 {
				deciders[draw%2] = &decider{saga: newSaga()}
			}
			deciders[draw%2].turn(s, draw/10%3)
		case 4, 5, 6, 7:
			s.work(draw/10, &failures)
		case 8:
			if draw > 990 {
				s.say(event.RunCancelRequested{Request: fmt.Sprint(turn), By: "ann"})
			}
		case 9:
			if draw > 900 {
				s.say(event.PublicationRetryRequested{Request: fmt.Sprint(turn), By: "ann"})
			}
		}
	}
	s.finish()
}

// work lets a worker settle a request, or answer and crash before it acknowledged.
func (s *stream) work(draw int, failures *int) {
	if len(s.open) == 0 {
		return
	}
	i := draw % len(s.open)
	r := s.open[i]
	if *failures > 0 && draw%7 == 0 {
		*failures--
		s.say(event.PublicationFailed{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round, Reason: "taken"})
	} else {
		s.say(event.PublicationAdvanced{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round})
	}
	if draw%3 > 0 {
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// finish lets everybody who still works come to an end: the saga always says how it ended.
func (s *stream) finish() {
	last := &decider{saga: newSaga()}
	for range 200 {
		said := len(s.facts)
		for _, r := range s.open {
			s.say(event.PublicationAdvanced{Target: r.Target, Kind: r.Kind, State: r.State, Round: r.Round})
		}
		s.open = nil
		last.turn(s, 0)
		if len(s.facts) == said {
			if !last.published && !last.failed[last.round] {
				s.t.Fatalf("the saga waits for nobody: %v", last.reasons())
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
	property.Check(t, func(t *rapid.T) {
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
	if failed, ok := out[0].(event.ReleaseFailed); !ok || s.begun() || !slices.Contains(failed.Reasons, "pypi: nothing of this release is there; it cannot become probed: denied") {
		t.Fatalf("decided %v", out)
	}
}

// TestACancellationBeginsNoFurtherCommit: before the first commit nothing becomes visible; after it what was committed is
// verified, and nothing else begins.
func TestACancellationBeginsNoFurtherCommit(t *testing.T) {
	t.Parallel()
	s := newSaga()
	s.apply(factAt(1, plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"}, event.TargetName{Name: "b", Kind: "pypi"})))
	s.apply(factAt(2, openedFact()))
	s.apply(factAt(3, event.RunCancelRequested{Request: "c", By: "ann", Reason: "wrong version"}))
	if failed, ok := s.decide()[0].(event.ReleaseFailed); !ok || !strings.Contains(failed.Reasons[0], "cancelled by ann: wrong version; nothing was visible") {
		t.Fatalf("decided %v", s.decide())
	}
	s.apply(factAt(4, event.PublicationAdvanced{Target: "b", Kind: "pypi", State: release.Staged}))
	s.apply(factAt(5, event.PublicationRequested{Target: "a", Kind: "oci", State: release.Committed}))
	s.apply(factAt(6, event.PublicationAdvanced{Target: "a", Kind: "oci", State: release.Committed}))
	out := s.decide()
	if next, ok := out[0].(event.PublicationRequested); !ok || len(out) != 1 || next.State != release.Verified || next.Target != "a" {
		t.Fatalf("after a commit decided %v, want to verify it and nothing else", out)
	}
	s.apply(factAt(7, out[0]))
	s.apply(factAt(8, event.PublicationAdvanced{Target: "a", Kind: "oci", State: release.Verified}))
	failed, ok := s.decide()[0].(event.ReleaseFailed)
	if want := []string{"the run was cancelled by ann: wrong version", "a: published and verified", "b: nothing is visible"}; !ok || !slices.Equal(failed.Reasons, want) {
		t.Fatalf("decided %v, want %q", s.decide(), want)
	}
	s.apply(factAt(9, failed))
	s.apply(factAt(10, event.PublicationRetryRequested{Request: "r"})) // takes the cancellation back
	if next, ok := s.decide()[0].(event.PublicationRequested); !ok || next.State != release.Probed || next.Target != "b" || next.Round != 1 {
		t.Fatalf("after a retry decided %v, want to look at b again", s.decide())
	}
}

// TestAHoldIsKept, wherever it stands in the stream: the scheduler may have opened the gate on older knowledge.
func TestAHoldIsKept(t *testing.T) {
	t.Parallel()
	staged := event.PublicationAdvanced{Target: "a", Kind: "oci", State: release.Staged}
	for name, c := range map[string]struct {
		facts  []event.Payload
		commit bool
	}{
		"no hold":                           {[]event.Payload{openedFact(), staged}, true},
		"before the gate opened":            {[]event.Payload{event.GateHeld{Request: "1"}, openedFact(), staged}, false},
		"after it":                          {[]event.Payload{openedFact(), event.GateHeld{Request: "1"}, staged}, false},
		"resumed":                           {[]event.Payload{event.GateHeld{Request: "1"}, openedFact(), staged, event.GateResumed{Request: "2"}}, true},
		"resumed before":                    {[]event.Payload{event.GateResumed{Request: "2"}, openedFact(), staged, event.GateHeld{Request: "1"}}, false},
		"before this target":                {[]event.Payload{openedFact(), staged, event.GateHeld{Request: "1", Before: "a"}}, false},
		"before another target":             {[]event.Payload{openedFact(), staged, event.GateHeld{Request: "1", Before: "z"}}, true},
		"cancelled, and tried again before": {[]event.Payload{event.RunCancelRequested{Request: "1"}, event.RunRetryRequested{Request: "2"}, openedFact(), staged}, true},
		"cancelled":                         {[]event.Payload{event.RunCancelRequested{Request: "1"}, openedFact(), staged}, false},
		"a task's retry takes no late cancellation back": {[]event.Payload{openedFact(), staged, event.RunCancelRequested{Request: "1"}, event.RunRetryRequested{Request: "2"}}, false},
		"superseded too late":                            {[]event.Payload{openedFact(), staged, event.RunCancelRequested{Request: "superseded-x"}}, true},
		"rejected":                                       {[]event.Payload{event.CandidateRejected{}, openedFact(), staged}, false},
		"closed":                                         {[]event.Payload{event.GateClosed{}, openedFact(), staged}, false},
	} {
		a := newSagas()
		for i, p := range append([]event.Payload{plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"})}, c.facts...) {
			a.apply(factAt(i+1, p))
		}
		want := event.PublicationRequested{Target: "a", Kind: "oci", State: release.Committed}
		out, _ := a.decide(sagaRun, noonOf(1))
		asked := slices.ContainsFunc(out, func(p event.Payload) bool { return p.Key() == want.Key() })
		may := a.permit(sagaRun, want, noonOf(1))
		if allowed := may.refuse == "" && may.wait == ""; asked != c.commit || allowed != c.commit {
			t.Errorf("%s: a commit is asked for: %t, and may be made: %t (%+v); want %t", name, asked, allowed, may, c.commit)
		}
	}
}

// TestAnApprovalIsOfACandidate: what people approved is what is published.
func TestAnApprovalIsOfACandidate(t *testing.T) {
	t.Parallel()
	planned := plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"})
	planned.Release.Approvals = 2
	other := event.GateApproved{By: "bob", Candidate: "sha256:another"}
	for name, c := range map[string]struct {
		approvals []event.Payload
		want      bool
	}{
		"two people":                  {[]event.Payload{event.GateApproved{By: "ann", Candidate: "sha256:candidate"}, event.GateApproved{By: "bob", Candidate: "sha256:candidate"}}, true},
		"one person twice":            {[]event.Payload{event.GateApproved{By: "ann", Candidate: "sha256:candidate"}, event.GateApproved{By: "ann", Candidate: "sha256:candidate", Note: "really"}}, false},
		"two people of one name":      {[]event.Payload{event.GateApproved{Approver: "oidc:1", By: "ann", Candidate: "sha256:candidate"}, event.GateApproved{Approver: "oidc:2", By: "ann", Candidate: "sha256:candidate"}}, true},
		"one person of two names":     {[]event.Payload{event.GateApproved{Approver: "oidc:1", By: "ann", Candidate: "sha256:candidate"}, event.GateApproved{Approver: "oidc:1", By: "bob", Candidate: "sha256:candidate"}}, false},
		"one of another candidate":    {[]event.Payload{event.GateApproved{By: "ann", Candidate: "sha256:candidate"}, other}, false},
		"one that names nothing":      {[]event.Payload{event.GateApproved{By: "ann", Candidate: "sha256:candidate"}, event.GateApproved{By: "bob"}}, false},
		"three, one of another":       {[]event.Payload{event.GateApproved{By: "ann", Candidate: "sha256:candidate"}, other, event.GateApproved{By: "eve", Candidate: "sha256:candidate"}}, true},
		"none although two must have": {nil, false},
	} {
		s := newSaga()
		for i, p := range append(append([]event.Payload{planned}, c.approvals...), openedFact()) {
			s.apply(factAt(i+1, p))
		}
		if _, failed := s.decide()[0].(event.ReleaseFailed); failed == c.want {
			t.Errorf("%s: decided %v", name, s.decide())
		}
	}
}

// TestAnEnvironmentIsApprovedByItsReviewers: what the gate let through is looked at again.
func TestAnEnvironmentIsApprovedByItsReviewers(t *testing.T) {
	t.Parallel()
	rules := environment.Rules{{Name: "prod", Projects: []string{"one"}, Refs: []string{"refs/heads/master"}, Reviewers: []string{"ada"}, Targets: []string{"a"}}}
	approved := func(reviewer string, candidate release.Digest) event.Payload {
		return event.EnvironmentApproved{Environment: "prod", Reviewer: reviewer, Candidate: candidate}
	}
	for name, c := range map[string]struct {
		approval event.Payload
		change   func(*event.RunPlanned)
		want     bool
	}{
		"a reviewer":              {approved("token:ada", "sha256:candidate"), nil, true},
		"somebody else":           {approved("token:eve", "sha256:candidate"), nil, false},
		"another candidate":       {approved("token:ada", "sha256:another"), nil, false},
		"before the candidate":    {approved("token:ada", ""), nil, false},
		"an approval of the gate": {event.GateApproved{By: "ada", Candidate: "sha256:candidate"}, nil, false},
		"another ref":             {approved("token:ada", "sha256:candidate"), func(p *event.RunPlanned) { p.Change.Ref = "refs/heads/master2" }, false},
		"less trust":              {approved("token:ada", "sha256:candidate"), func(p *event.RunPlanned) { p.Trust = release.TrustTrusted }, false},
	} {
		s := newSaga()
		s.rules = rules
		planned := plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"})
		planned.Change.Project, planned.Change.Ref, planned.Trust = "one", "refs/heads/master", release.TrustRelease
		if c.change != nil {
			c.change(&planned)
		}
		for i, p := range []event.Payload{planned, c.approval, openedFact()} {
			s.apply(factAt(i+1, p))
		}
		out := s.decide()
		if len(out) != 1 {
			t.Fatalf("%s: decided %+v", name, out)
		}
		if failed, is := out[0].(event.ReleaseFailed); is == c.want || is && !strings.Contains(failed.Reasons[0], "environment prod") {
			t.Errorf("%s: decided %+v", name, out)
		}
	}
}

// TestFailureWaitsForACommitThatIsUnderWay keeps the end of a round back until it can say what is so.
func TestFailureWaitsForACommitThatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newSaga()
	s.apply(fact(plannedFact(release.Push, "master", event.TargetName{Name: "a", Kind: "oci"}, event.TargetName{Name: "b", Kind: "oci"})))
	s.apply(fact(openedFact()))
	for _, target := range []string{"a", "b"} {
		s.apply(fact(event.PublicationAdvanced{Target: target, Kind: "oci", State: release.Staged}))
		s.apply(fact(event.PublicationRequested{Target: target, Kind: "oci", State: release.Committed}))
	}
	s.apply(fact(event.PublicationFailed{Target: "a", Kind: "oci", State: release.Committed, Reason: "taken"}))
	if out := s.decide(); out != nil {
		t.Fatalf("while b commits, decided %v", out)
	}
	s.apply(fact(event.PublicationAdvanced{Target: "b", Kind: "oci", State: release.Committed}))
	if next, ok := s.decide()[0].(event.PublicationRequested); !ok || next.Target != "b" || next.State != release.Verified {
		t.Fatalf("after b committed, decided %v", s.decide())
	}
	s.apply(fact(event.PublicationRequested{Target: "b", Kind: "oci", State: release.Verified}))
	s.apply(fact(event.PublicationAdvanced{Target: "b", Kind: "oci", State: release.Verified}))
	if failed, ok := s.decide()[0].(event.ReleaseFailed); !ok || failed.Reasons[1] != "b: published and verified" {
		t.Fatalf("at the end, decided %v", s.decide())
	}
}
