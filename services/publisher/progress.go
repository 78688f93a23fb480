package publisher

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// progress is how far one target has come.
type progress struct {
	name, kind string
	rank       int
	undoes     bool                     // its commit can be undone
	reached    release.PublicationState // in the round that counts
	done       map[attempt]bool
	requested  map[attempt]bool
	broken     map[attempt]failure

	asked   time.Time                 // when the newest commit was
	turn    uint64                    // the place of that request: of several that write a name, the first in the stream goes first
	had     map[string]release.Digest // what its names stood for before this release was committed; empty is nothing
	gives   map[string]release.Digest // what this release makes them stand for
	lingers bool                      // a commit that was asked for may still be made, and is waited for before it is undone
	moved   time.Time                 // when it last went a step, or was asked to
	delay   *event.PublicationDelayed // the newest
	undone  uint64                    // the place where what was visible was taken back, or 0

	names []string      // that it writes, of which one release writes each at a time
	waits release.RunID // for this run, which is writing one of these names
}

// attempt is one try at a step.
type attempt struct {
	state release.PublicationState
	round int32
}

// failure is why a step cannot be made.
type failure struct {
	fault  string // kind of the error, or notBegun
	reason string
}

// notBegun is the fault of a commit that was asked for and forbidden before it began: nothing of it happened.
const notBegun = "not_begun"

func newProgress(name, kind string) *progress {
	return &progress{
		name: name, kind: kind, rank: rankOf(kind), undoes: kindNamed(kind).Undoes, reached: release.Planned,
		had: map[string]release.Digest{}, gives: map[string]release.Digest{}, done: map[attempt]bool{}, requested: map[attempt]bool{}, broken: map[attempt]failure{},
	}
}

// begin finds how far the target is in a round. What was committed stays so; what was probed or staged in an earlier round is
// looked at again: days may lie between, and somebody else may have taken the name.
func (t *progress) begin(round int32) {
	t.reached = release.Planned
	for a := range t.done {
		if a.round == round || a.state.Reached(release.Committed) {
			t.reach(a.state)
		}
	}
}

func (t *progress) reach(state release.PublicationState) {
	if state.Reached(t.reached) {
		t.reached = state
	}
}

func (t *progress) request(e event.Event, p event.PublicationRequested) {
	if t.past(e, p.State) {
		return
	}
	t.requested[attempt{p.State, p.Round}], t.moved = true, e.Time
	if p.State == release.Committed && !e.Time.Before(t.asked) {
		t.asked, t.turn = e.Time, e.Seq
	}
}

func (t *progress) advance(e event.Event, p event.PublicationAdvanced, round int32) {
	if p.State == release.Undone {
		t.undo(e, p.Round)
		return
	}
	if t.past(e, p.State) {
		return
	}
	t.moved = e.Time
	t.done[attempt{p.State, p.Round}] = true
	if p.Round == round || p.State.Reached(release.Committed) {
		t.reach(p.State)
	}
	if p.State == release.Probed {
		t.probed(p)
	}
}

// probed notes what the target's names stand for, as long as that cannot be this release's own doing.
func (t *progress) probed(p event.PublicationAdvanced) {
	t.names = append([]string(nil), p.Shared...)
	for _, f := range p.Files {
		t.gives[f.Name] = f.Digest
	}
	if t.visible() {
		return
	}
	for _, f := range p.Files {
		if t.had[f.Name] = f.Before; f.Present {
			t.had[f.Name] = f.Digest
		}
	}
}

// undo forgets the commits up to a round: what they made visible has been taken back.
func (t *progress) undo(e event.Event, round int32) {
	past := func(a attempt) bool { return a.round <= round && a.state.Reached(release.Committed) }
	if done := (attempt{release.Undone, round}); !t.done[done] {
		maps.DeleteFunc(t.done, func(a attempt, _ bool) bool { return past(a) })
		maps.DeleteFunc(t.requested, func(a attempt, _ bool) bool { return past(a) })
		maps.DeleteFunc(t.broken, func(a attempt, _ failure) bool { return past(a) })
		t.done[done], t.undone = true, e.Seq
		t.begin(round)
	}
}

// past reports whether a fact tells of a commit that has been taken back since.
func (t *progress) past(e event.Event, state release.PublicationState) bool {
	return e.Seq < t.undone && state.Reached(release.Committed)
}

// failure is why the target does not go on in a round. A step that was made after all has not failed.
func (t *progress) failure(round int32) (release.PublicationState, failure, bool) {
	for a, why := range t.broken {
		made := t.reached.Reached(a.state)
		if a.state == release.Undone {
			made = t.done[a]
		}
		if a.round == round && !made {
			return a.state, why, true
		}
	}
	return "", failure{}, false
}

// visible reports whether users may see something of the target: a commit that was asked for may have happened.
func (t *progress) visible() bool {
	for a := range t.requested {
		if a.state == release.Committed && t.broken[a].fault != notBegun {
			return true
		}
	}
	return t.reached.Reached(release.Committed)
}

// committing reports whether a commit was asked for that has neither happened nor failed.
func (t *progress) committing() bool {
	for a := range t.requested {
		_, failed := t.broken[a]
		if a.state == release.Committed && !failed && !t.reached.Reached(release.Committed) {
			return true
		}
	}
	return false
}

// underWay reports whether a step that users can see is asked for and not answered.
func (t *progress) underWay(round int32) bool {
	_, _, failed := t.failure(round)
	for _, state := range []release.PublicationState{release.Committed, release.Verified} {
		if t.requested[attempt{state, round}] && !t.reached.Reached(state) && !failed {
			return true
		}
	}
	undo := attempt{release.Undone, round}
	_, broken := t.broken[undo]
	return t.requested[undo] && !t.done[undo] && !broken
}

// describe says what the target has.
func (t *progress) describe(round int32) string {
	what := map[release.PublicationState]string{
		release.Planned: "nothing of this release is there", release.Probed: "nothing is visible", release.Staged: "nothing is visible",
		release.Committed: "visible, not verified", release.Verified: "published and verified",
	}[t.reached]
	if t.undone > 0 && !t.visible() {
		what = "what was visible has been taken back"
	}
	if !t.reached.Reached(release.Committed) && t.visible() {
		what = "a part may be visible"
	}
	state, why, failed := t.failure(round)
	if !failed {
		return what
	}
	if why.fault == string(fault.Conflict) && what != "a part may be visible" {
		what = "something else is there under its name"
	}
	return fmt.Sprintf("%s; it cannot become %s: %s", what, state, strings.TrimSpace(why.reason))
}
