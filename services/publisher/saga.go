package publisher

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// saga is the publication of one run: a fold over its facts, and the decision what comes next. It does no I/O. Facts may
// come more than once; where the order of two matters, it is the stream's.
//
// The rules: a target goes planned, probed, staged, committed, verified. No commit is asked for before every target is
// staged, and none before every target of a lower rank is verified: what is hardest to undo goes last, when all else is
// proven. What failed before the first commit leaves nothing visible. What failed later starts no further commit, brings
// to an end what was begun, and says exactly what each target has.
type saga struct {
	planned   *event.RunPlanned
	opened    *event.GateOpened
	cause     event.Event // the gate.opened
	targets   map[string]*progress
	round     int32           // counts the retries that a person asked for, from the gate's own round
	retries   map[string]bool // requests seen, to count each once
	failed    map[int32]bool  // rounds that ended in release.failed
	published bool
	cancelled string // who cancelled the run in this round, and why
	at        uint64 // where its plan stands in the stream; of a rerun, where that of the run does that it makes again
}

// progress is how far one target has come.
type progress struct {
	kind      string
	rank      int
	reached   release.PublicationState
	requested map[attempt]bool
	broken    map[attempt]string // why

	asked time.Time     // when the newest commit was
	names []string      // that it gives, where they may move
	waits release.RunID // for this run, which is giving one of these names
	leave []string      // those that a run has which was planned later
}

// attempt is one try at a step.
type attempt struct {
	state release.PublicationState
	round int32
}

func newSaga() *saga {
	return &saga{targets: map[string]*progress{}, retries: map[string]bool{}, failed: map[int32]bool{}}
}

func sagaHears() []event.Type {
	return []event.Type{
		event.TypeRunPlanned, event.TypeRunCancelRequested, event.TypeGateOpened, event.TypePublicationRequested,
		event.TypePublicationAdvanced, event.TypePublicationFailed, event.TypePublicationRetryRequested,
		event.TypeReleasePublished, event.TypeReleaseFailed,
	}
}

func sagaSays() []event.Type {
	return []event.Type{event.TypePublicationRequested, event.TypeReleasePublished, event.TypeReleaseFailed}
}

// apply folds one fact.
func (s *saga) apply(e event.Event) {
	switch p := e.Data.(type) {
	case event.RunPlanned:
		s.plan(e, p)
	case event.GateOpened:
		s.open(e, p)
	case event.RunCancelRequested:
		s.cancelled = fmt.Sprintf("the run was cancelled by %s before anything was visible: %s", p.By, p.Reason)
	case event.PublicationRequested:
		s.target(p.Target, p.Kind).request(e.Time, p)
	case event.PublicationAdvanced:
		s.target(p.Target, p.Kind).advance(p)
	case event.PublicationFailed:
		s.target(p.Target, p.Kind).broken[attempt{p.State, p.Round}] = p.Reason
	case event.PublicationRetryRequested:
		s.retry(p.Request)
	case event.ReleasePublished:
		s.published = true
	case event.ReleaseFailed:
		s.failed[p.Round] = true
	}
}

func (s *saga) plan(e event.Event, p event.RunPlanned) {
	if s.planned != nil {
		return
	}
	s.planned, s.at = &p, e.Seq
	for _, t := range p.Targets {
		s.target(t.Name, t.Kind)
	}
}

// open takes the first opening: what is published of a run is one candidate.
func (s *saga) open(e event.Event, p event.GateOpened) {
	if s.opened == nil {
		s.opened, s.cause, s.round = &p, e, max(s.round, p.Round)
	}
}

// retry begins a round, if there is something to retry.
func (s *saga) retry(request string) {
	if s.retries[request] {
		return
	}
	s.retries[request] = true
	if s.failed[s.round] && !s.published {
		s.round++
		s.cancelled = ""
	}
}

func (s *saga) target(name, kind string) *progress {
	t := s.targets[name]
	if t == nil {
		t = &progress{kind: kind, rank: rankOf(kind), reached: release.Planned, requested: map[attempt]bool{}, broken: map[attempt]string{}}
		s.targets[name] = t
	}
	return t
}

func (t *progress) request(at time.Time, p event.PublicationRequested) {
	t.requested[attempt{p.State, p.Round}] = true
	if p.State == release.Committed && at.After(t.asked) {
		t.asked = at
	}
}

func (t *progress) advance(p event.PublicationAdvanced) {
	if p.State.Reached(t.reached) {
		t.reached = p.State
	}
	if p.State == release.Probed && moves(t.kind) {
		t.names = nil
		for _, f := range p.Files {
			t.names = append(t.names, f.Name)
		}
	}
}

// failure is why a target does not go on in a round. A step that was made after all has not failed.
func (t *progress) failure(round int32) (release.PublicationState, string, bool) {
	for a, reason := range t.broken {
		if a.round == round && !t.reached.Reached(a.state) {
			return a.state, reason, true
		}
	}
	return "", "", false
}

// visible reports whether users may see something of the target: a commit that was asked for may have happened.
func (t *progress) visible() bool {
	for a := range t.requested {
		if a.state == release.Committed {
			return true
		}
	}
	return t.reached.Reached(release.Committed)
}

// decide returns what is to be said next; nothing when the saga waits or is over.
func (s *saga) decide() []event.Payload {
	switch {
	case s.opened == nil || s.planned == nil || s.published || s.failed[s.round]:
		return nil
	case s.forbidden() != "":
		return []event.Payload{event.ReleaseFailed{Round: s.round, Reasons: []string{s.forbidden()}}}
	case s.verified():
		return []event.Payload{event.ReleasePublished{Round: s.round, Candidate: s.opened.Candidate, Targets: s.names()}}
	case s.stopped():
		return s.wind()
	default:
		return s.steps(s.next)
	}
}

// forbidden is law 7, checked here again: only the release branch publishes.
func (s *saga) forbidden() string {
	ok, reason := s.planned.Release.Allows(s.planned.Change)
	switch {
	case !ok:
		return "nothing was published: " + reason
	case len(s.planned.GateOn) > 0 && !slices.Contains(s.planned.GateOn, s.planned.Change.Kind):
		return fmt.Sprintf("nothing was published: the gate is not for a change of kind %s", s.planned.Change.Kind)
	case s.opened.Plan != s.planned.Plan:
		return fmt.Sprintf("nothing was published: the gate opened for plan %s, the run's is %s", s.opened.Plan, s.planned.Plan)
	}
	return ""
}

func (s *saga) verified() bool {
	for _, t := range s.targets {
		if t.reached != release.Verified {
			return false
		}
	}
	return true
}

// stopped reports whether no further commit may begin.
func (s *saga) stopped() bool {
	for _, t := range s.targets {
		if _, _, failed := t.failure(s.round); failed {
			return true
		}
	}
	return s.cancelled != "" && !s.begun()
}

// begun reports whether anything may be visible.
func (s *saga) begun() bool {
	for _, t := range s.targets {
		if t.visible() {
			return true
		}
	}
	return false
}

// wind ends a round that failed. What was committed is still verified, and a commit that is under way comes to its end,
// so that the reasons say what is so.
func (s *saga) wind() []event.Payload {
	if out := s.steps(s.ending); len(out) > 0 {
		return out
	}
	for _, t := range s.targets {
		if t.underWay(s.round) {
			return nil
		}
	}
	return []event.Payload{event.ReleaseFailed{Round: s.round, Reasons: s.reasons()}}
}

// underWay reports whether a step that users can see is asked for and not answered.
func (t *progress) underWay(round int32) bool {
	_, _, failed := t.failure(round)
	for _, state := range []release.PublicationState{release.Committed, release.Verified} {
		if t.requested[attempt{state, round}] && !t.reached.Reached(state) && !failed {
			return true
		}
	}
	return false
}

// steps asks for the step that each target is to make now, unless it is asked for already.
func (s *saga) steps(next func(*progress) release.PublicationState) []event.Payload {
	var out []event.Payload
	for _, name := range s.sorted() {
		t := s.targets[name]
		state := next(t)
		if _, _, failed := t.failure(s.round); state == "" || failed || t.requested[attempt{state, s.round}] {
			continue
		}
		asked := event.PublicationRequested{
			Target: name, Kind: t.kind, State: state, Round: s.round, Plan: s.opened.Plan, Blob: s.opened.Blob,
		}
		if state == release.Committed {
			asked.Leave = t.leave
		}
		out = append(out, asked)
	}
	return out
}

// next is the step of a target when all goes well, or "" while it waits for others.
func (s *saga) next(t *progress) release.PublicationState {
	state := t.reached.Next()
	if state == release.Committed && !s.mayCommit(t) {
		return ""
	}
	return state
}

func (s *saga) mayCommit(t *progress) bool {
	if t.waits != "" {
		return false
	}
	for _, other := range s.targets {
		if !other.reached.Reached(release.Staged) {
			return false
		}
		if other.rank < t.rank && other.reached != release.Verified {
			return false
		}
	}
	return true
}

// ending is the step of a target when another failed: only what is visible is looked after.
func (s *saga) ending(t *progress) release.PublicationState {
	if t.reached == release.Committed {
		return release.Verified
	}
	return ""
}

func (s *saga) sorted() []string { return slices.Sorted(maps.Keys(s.targets)) }

func (s *saga) names() []event.TargetName {
	var out []event.TargetName
	for _, name := range s.sorted() {
		out = append(out, event.TargetName{Name: name, Kind: s.targets[name].kind})
	}
	return out
}

// reasons say of every target what it has.
func (s *saga) reasons() []string {
	var out []string
	if s.cancelled != "" && !s.begun() {
		out = append(out, s.cancelled)
	}
	for _, name := range s.sorted() {
		out = append(out, name+": "+s.targets[name].describe(s.round))
	}
	return out
}

func (t *progress) describe(round int32) string {
	what := map[release.PublicationState]string{
		release.Planned: "nothing is there", release.Probed: "nothing is visible", release.Staged: "nothing is visible",
		release.Committed: "visible, not verified", release.Verified: "published and verified",
	}[t.reached]
	state, reason, failed := t.failure(round)
	if !failed {
		return what
	}
	if state == release.Committed {
		what = "a part may be visible"
	}
	return fmt.Sprintf("%s; it cannot become %s: %s", what, state, strings.TrimSpace(reason))
}

// rankOf is the order of commits. A kind that nobody knows fails when it is opened, long before its commit.
func rankOf(kind string) int { return kindNamed(kind).Rank }

// moves reports whether names of a kind may move from one release to the next.
func moves(kind string) bool { return kindNamed(kind).Moves }

func kindNamed(name string) Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return Kind{}
}
