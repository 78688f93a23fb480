package publisher

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// saga is the publication of one run: a fold over its facts, and the decision what comes next. It does no I/O. Facts may
// come more than once; where the order of two matters, it is the stream's.
//
// The rules: a target goes planned, probed, staged, committed, verified. No commit is asked for before every target is
// staged, and none before every target of a lower rank is verified: what is hardest to undo goes last, when all else is
// proven. What failed before the first commit leaves nothing visible. What failed later, or was cancelled, starts no further
// commit, brings to an end what was begun, and says exactly what each target has.
type saga struct {
	planned   *event.RunPlanned
	opened    *event.GateOpened
	cause     event.Event // the gate.opened
	targets   map[string]*progress
	round     int32           // counts the retries that a person asked for, from the gate's own round
	retries   map[string]bool // requests seen, to count each once
	failed    map[int32]bool  // rounds that ended in release.failed
	published bool
	orders    orders
	rules     environment.Rules             // protected environments of the installation
	received  map[release.ChangeKind]uint64 // places of the run's changes
	at        uint64                        // the place of its push in the stream: the order of releases; a rerun is as old as its run
}

func newSaga() *saga {
	return &saga{
		targets: map[string]*progress{}, retries: map[string]bool{}, failed: map[int32]bool{}, orders: newOrders(),
		received: map[release.ChangeKind]uint64{},
	}
}

func sagaHears() []event.Type {
	return []event.Type{
		event.TypeChangeReceived, event.TypeRunPlanned, event.TypeRunCancelRequested, event.TypeRunRetryRequested,
		event.TypeCandidateRejected, event.TypeGateOpened, event.TypeGateClosed, event.TypeGateApproved, event.TypeEnvironmentApproved, event.TypeGateHeld,
		event.TypeGateResumed, event.TypePublicationRequested, event.TypePublicationAdvanced, event.TypePublicationDelayed, event.TypePublicationFailed,
		event.TypePublicationRetryRequested, event.TypePublicationUndoRequested, event.TypeReleasePublished, event.TypeReleaseFailed,
	}
}

func sagaSays() []event.Type {
	return []event.Type{event.TypePublicationRequested, event.TypeReleasePublished, event.TypeReleaseFailed}
}

// apply folds one fact.
func (s *saga) apply(e event.Event) {
	s.orders.apply(e, s.cause.Seq)
	switch p := e.Data.(type) {
	case event.ChangeReceived:
		s.receive(e, p)
	case event.RunPlanned:
		s.plan(e, p)
	case event.GateOpened:
		s.open(e, p)
	case event.PublicationRequested:
		s.target(p.Target, p.Kind).request(e, p)
	case event.PublicationAdvanced:
		s.target(p.Target, p.Kind).advance(e, p, s.round)
	case event.PublicationFailed:
		if t := s.target(p.Target, p.Kind); !t.past(e, p.State) {
			t.broken[attempt{p.State, p.Round}] = failure{p.Fault, p.Reason}
		}
	case event.PublicationDelayed:
		s.target(p.Target, p.Kind).wait(p)
	case event.PublicationRetryRequested:
		s.retry(p.Request)
	case event.PublicationUndoRequested:
		s.retry("undo " + p.Request) // it is a round of its own, in which nothing is committed
	case event.ReleasePublished:
		s.published = true
	case event.ReleaseFailed:
		s.failed[p.Round] = true
	}
}

// receive notes where the run's change stands. The same commit may come as a pull request first and as a push later: what
// counts is the change that is published.
func (s *saga) receive(e event.Event, p event.ChangeReceived) {
	if _, known := s.received[p.Change.Kind]; !known {
		s.received[p.Change.Kind] = e.Seq
	}
	if s.planned != nil && p.Change.Kind == s.planned.Change.Kind {
		s.at = s.received[p.Change.Kind]
	}
}

func (s *saga) plan(e event.Event, p event.RunPlanned) {
	if s.planned != nil {
		return
	}
	s.planned, s.at = &p, e.Seq
	if at, known := s.received[p.Change.Kind]; known {
		s.at = at
	}
	for _, t := range p.Targets {
		s.target(t.Name, t.Kind)
	}
}

// open takes the first opening: what is published of a run is one candidate.
func (s *saga) open(e event.Event, p event.GateOpened) {
	if s.opened == nil {
		s.opened, s.cause = &p, e
		s.begin(max(s.round, p.Round))
	}
}

// retry begins a round: every step that is not made is asked for again, whether it failed or waits.
func (s *saga) retry(request string) {
	if s.retries[request] {
		return
	}
	s.retries[request] = true
	if s.opened != nil && !s.published {
		s.begin(s.round + 1)
	}
}

func (s *saga) begin(round int32) {
	s.round = round
	for _, t := range s.targets {
		t.begin(round)
	}
}

func (s *saga) target(name, kind string) *progress {
	t := s.targets[name]
	if t == nil {
		t = newProgress(name, kind)
		s.targets[name] = t
	}
	return t
}

// decide returns what is to be said next; nothing when the saga waits or is over.
func (s *saga) decide() []event.Payload {
	switch {
	case s.over():
		return nil
	case s.forbidden() != "":
		return []event.Payload{event.ReleaseFailed{Round: s.round, Reasons: []string{s.forbidden()}}}
	case s.verified() && s.orders.undone() == "":
		return []event.Payload{event.ReleasePublished{Round: s.round, Candidate: s.opened.Candidate, Targets: s.names()}}
	case s.stopped():
		return s.wind()
	default:
		return s.steps(s.next)
	}
}

// over reports whether there is nothing to decide: not yet, or not any more.
func (s *saga) over() bool {
	return s.opened == nil || s.planned == nil || s.published || s.failed[s.round]
}

// forbidden is law 7, checked here again: only the release branch publishes, and only what people approved.
func (s *saga) forbidden() string {
	ok, reason := s.planned.Release.Allows(s.planned.Change)
	refused, have, want := s.orders.refused[s.opened.Round], s.orders.approvers(s.opened.Candidate), s.planned.Release.Approvals
	switch {
	case !ok:
		return "nothing was published: " + reason
	case len(s.planned.GateOn) > 0 && !slices.Contains(s.planned.GateOn, s.planned.Change.Kind):
		return fmt.Sprintf("nothing was published: the gate is not for a change of kind %s", s.planned.Change.Kind)
	case s.opened.Plan != s.planned.Plan:
		return fmt.Sprintf("nothing was published: the gate opened for plan %s, the run's is %s", s.opened.Plan, s.planned.Plan)
	case refused != "":
		return "nothing was published: " + refused
	case have < want:
		return fmt.Sprintf("nothing was published: %d of %d people have approved candidate %s", have, want, s.opened.Candidate)
	}
	return s.unentered()
}

// unentered says which protected environment the release is not let into, or "".
func (s *saga) unentered() string {
	names := make([]string, 0, len(s.planned.Targets))
	for _, t := range s.planned.Targets {
		names = append(names, t.Name)
	}
	for _, p := range s.rules.OfTargets(s.planned.Change.Project, names) {
		if admitted, why := p.Admits(s.planned.Change, s.planned.Trust); !admitted {
			return "nothing was published: " + why
		}
		if enough, reason := p.Approved(s.orders.reviewers(p.Name, s.opened.Candidate)); !enough {
			return fmt.Sprintf("nothing was published: environment %s has %s of candidate %s", p.Name, reason, s.opened.Candidate)
		}
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
	return s.orders.stopped() != ""
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
		if t.underWay(s.round) || t.lingers {
			return nil
		}
	}
	return []event.Payload{event.ReleaseFailed{Round: s.round, Reasons: s.reasons()}}
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
		out = append(out, event.PublicationRequested{
			Target: name, Kind: t.kind, State: state, Round: s.round, Plan: s.opened.Plan, Blob: s.opened.Blob,
		})
	}
	return out
}

// next is the step of a target when all goes well, or "" while it waits for others.
func (s *saga) next(t *progress) release.PublicationState {
	state := t.reached.Next()
	if state == release.Committed && s.obstacle(t) != "" {
		return ""
	}
	return state
}

// obstacle is why the commit of a target does not begin yet, or "".
func (s *saga) obstacle(t *progress) string {
	behind, why := s.behind(t)
	switch held := s.orders.held(t.name, t.undoes); {
	case behind != "":
		return why
	case held != "":
		return held
	case t.waits != "":
		return "run " + string(t.waits) + " is writing the same name"
	default:
		return ""
	}
}

// behind is the target that another waits for before its commit, or "", and why.
func (s *saga) behind(t *progress) (name, why string) {
	for _, name := range s.sorted() {
		other := s.targets[name]
		switch {
		case other == t:
		case !other.reached.Reached(release.Staged):
			return name, fmt.Sprintf("nothing is committed before everything is staged, and %s is %s", name, other.reached)
		case other.rank < t.rank && other.reached != release.Verified:
			return name, fmt.Sprintf("what is harder to undo is committed later: %s goes first and is %s", name, other.reached)
		}
	}
	return "", ""
}

// ending is the step of a target when another failed: only what is visible is looked after.
func (s *saga) ending(t *progress) release.PublicationState {
	if s.orders.undone() != "" && t.undoes && t.visible() {
		if t.lingers {
			return ""
		}
		return release.Undone
	}
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
	if why := s.orders.stopped(); why != "" {
		if !s.begun() {
			why += "; nothing was visible"
		}
		out = append(out, why)
	}
	for _, name := range s.sorted() {
		out = append(out, name+": "+s.targets[name].describe(s.round))
	}
	return out
}

// rankOf is the order of commits. A kind that nobody knows fails when it is opened, long before its commit.
func rankOf(kind string) int { return kindNamed(kind).Rank }

func kindNamed(name string) Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return Kind{}
}
