package publisher

import (
	"fmt"
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
	reached    release.PublicationState // in the round that counts
	done       map[attempt]bool
	requested  map[attempt]bool
	broken     map[attempt]failure

	asked time.Time     // when the newest commit was
	turn  uint64        // the place of that request: of several that write a name, the first in the stream goes first
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
		name: name, kind: kind, rank: rankOf(kind), reached: release.Planned,
		done: map[attempt]bool{}, requested: map[attempt]bool{}, broken: map[attempt]failure{},
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
	t.requested[attempt{p.State, p.Round}] = true
	if p.State == release.Committed && !e.Time.Before(t.asked) {
		t.asked, t.turn = e.Time, e.Seq
	}
}

func (t *progress) advance(p event.PublicationAdvanced, round int32) {
	t.done[attempt{p.State, p.Round}] = true
	if p.Round == round || p.State.Reached(release.Committed) {
		t.reach(p.State)
	}
	if p.State == release.Probed {
		t.names = append([]string(nil), p.Shared...)
	}
}

// failure is why the target does not go on in a round. A step that was made after all has not failed.
func (t *progress) failure(round int32) (release.PublicationState, failure, bool) {
	for a, why := range t.broken {
		if a.round == round && !t.reached.Reached(a.state) {
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
	return false
}

// describe says what the target has.
func (t *progress) describe(round int32) string {
	what := map[release.PublicationState]string{
		release.Planned: "nothing of this release is there", release.Probed: "nothing is visible", release.Staged: "nothing is visible",
		release.Committed: "visible, not verified", release.Verified: "published and verified",
	}[t.reached]
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
