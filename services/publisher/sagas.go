package publisher

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// sagas are the publications of all runs, and the order among those that write the same names. A name that may move, such
// as the tag latest of an image, belongs to the run that was pushed last of all that gave it: a run whose tests only took
// longer does not take it back. So that this can be known, of the runs that write a name one commits at a time.
type sagas struct {
	of         map[release.RunID]*saga
	holder     map[string][]holder // by name, the newest push last
	committing map[release.RunID]bool
	begun      map[release.RunID]bool // something of it may be visible, and it is not published
	rules      environment.Rules      // protected environments of the installation
}

// turn is how long a run waits for the commit of another one. A registry that is away is away for both; what takes longer
// waits for a person, and holds up nobody else's release.
const turn = 15 * time.Minute

// holder is the run that a name belongs to.
type holder struct {
	run   release.RunID
	at    uint64
	gives release.Digest // what the run makes it stand for
}

func newSagas() *sagas {
	return &sagas{of: map[release.RunID]*saga{}, holder: map[string][]holder{}, committing: map[release.RunID]bool{}, begun: map[release.RunID]bool{}}
}

// apply folds one fact. Of a run that is published only its age is kept.
func (a *sagas) apply(e event.Event) {
	s := a.of[e.Run]
	if s == nil {
		s = newSaga()
		s.rules = a.rules
		a.of[e.Run] = s
	}
	s.apply(e)
	switch p := e.Data.(type) {
	case event.RunPlanned:
		if first := a.of[p.Change.RerunOf]; first != nil {
			s.at = first.at
		}
	case event.PublicationAdvanced:
		switch p.State {
		case release.Committed:
			a.hold(e.Run, s, p)
		case release.Undone:
			a.yield(e.Run, s, p)
		}
	}
	if delete(a.committing, e.Run); s.committing() {
		a.committing[e.Run] = true
	}
	if delete(a.begun, e.Run); s.begun() && !s.published {
		a.begun[e.Run] = true
	}
	if s.published {
		at, round := s.at, s.round
		*s = *newSaga()
		s.published, s.at, s.round = true, at, round
	}
}

// hold gives the names of a target that was committed to its run, except those of a run that was pushed later.
func (a *sagas) hold(run release.RunID, s *saga, p event.PublicationAdvanced) {
	t := s.target(p.Target, p.Kind)
	for _, name := range t.names {
		held := slices.DeleteFunc(a.holder[name], func(h holder) bool { return h.run == run })
		held = append(held, holder{run, s.at, t.gives[name]})
		slices.SortStableFunc(held, func(a, b holder) int { return cmp.Compare(a.at, b.at) })
		a.holder[name] = held[max(0, len(held)-maxHolders):]
	}
}

// maxHolders is how many of those that gave a name are remembered: when one takes it back, the one before it has it.
const maxHolders = 8

// yield takes a run from among those that gave the names of a target: it has taken back what it gave.
func (a *sagas) yield(run release.RunID, s *saga, p event.PublicationAdvanced) {
	for _, name := range s.target(p.Target, p.Kind).names {
		a.holder[name] = slices.DeleteFunc(a.holder[name], func(h holder) bool { return h.run == run })
	}
}

// had is what the names of a target are to stand for when a run takes back what it gave: what the newest of the other releases
// made them stand for, else what they stood for before.
func (a *sagas) had(run release.RunID, t *progress) map[string]release.Digest {
	out := maps.Clone(t.had)
	for name := range out {
		for _, h := range a.holder[name] { // the newest push is the last
			if h.run != run && h.gives != "" {
				out[name] = h.gives
			}
		}
	}
	return out
}

// held is the newest push that gave a name.
func (a *sagas) held(name string) holder {
	if all := a.holder[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return holder{}
}

// decide returns what is to be said next of a run, and the run that it waits for, if any.
func (a *sagas) decide(run release.RunID, now time.Time) (intents []event.Payload, waits release.RunID) {
	s := a.of[run]
	waits = a.waits(run, s, now)
	return s.decide(), waits
}

// waits finds for whom the targets of a run wait.
func (a *sagas) waits(run release.RunID, s *saga, now time.Time) (waits release.RunID) {
	for _, t := range s.targets {
		t.waits = ""
		if !t.visible() {
			t.waits = a.busy(run, t, now, math.MaxUint64)
		}
		waits = cmp.Or(waits, t.waits)
		if t.lingers = s.orders.undone() != "" && t.committing() && now.Sub(t.asked) < turn; t.lingers {
			waits = run
		}
	}
	return waits
}

// permit is what may be done of a step that was asked for, decided when it is made.
type permit struct {
	gone   bool     // nobody wants the step any more
	made   bool     // it has been made: a publisher died before it could acknowledge, or another was quicker
	refuse string   // why it must not begin
	wait   string   // for what it waits
	leave  []string // names that a run has which was pushed later: where they may move they stay with it
}

// permit decides about a step when it is made, by the rules by which it was asked for. Between the two a person may have said
// something, another run may have taken a name, or another publisher may have gone on while this one stood still.
func (a *sagas) permit(run release.RunID, p event.PublicationRequested, now time.Time) permit {
	s := a.of[run]
	switch {
	case s == nil:
		return permit{}
	case s.published || p.Round < s.round:
		return permit{gone: true}
	case s.opened == nil:
		return permit{}
	case s.failed[p.Round]:
		return permit{refuse: "the release has failed; sluice retry goes on"}
	case p.State == release.Undone && s.orders.undone() == "":
		return permit{gone: true}
	}
	t := s.target(p.Target, p.Kind)
	out := permit{leave: a.taken(run, s.at, t), made: t.done[attempt{p.State, p.Round}]}
	if p.State != release.Committed {
		return out
	}
	out.refuse = cmp.Or(s.orders.stopped(), s.forbidden())
	out.wait = s.orders.held(p.Target, t.undoes)
	if behind, why := s.behind(t); behind != "" && out.wait == "" {
		out.wait = why
	}
	ahead := uint64(math.MaxUint64)
	if t.committing() && now.Sub(t.asked) < turn {
		ahead = t.turn // two publishers may have asked for two commits at once: the first in the stream goes first
	}
	if other := a.busy(run, t, now, ahead); out.wait == "" && other != "" {
		out.wait = "run " + string(other) + " is writing the same name"
	}
	return out
}

// taken are the names of a target that belong to a run which was pushed later, or may: its commit was
// asked for.
func (a *sagas) taken(run release.RunID, at uint64, t *progress) (out []string) {
	for _, name := range t.names {
		if h := a.held(name); h.at > at && h.run != run || a.given(name, run, at) {
			out = append(out, name)
		}
	}
	return out
}

// given reports whether a run that was pushed later may have given a name: names never go back, not even from a release that
// failed half way.
func (a *sagas) given(name string, run release.RunID, at uint64) bool {
	for other := range a.begun {
		s := a.of[other]
		if other == run || s.at <= at {
			continue
		}
		for _, theirs := range s.targets {
			if theirs.visible() && slices.Contains(theirs.names, name) {
				return true
			}
		}
	}
	return false
}

// busy is another run that is writing one of a target's names just now, and was asked to before a place in the stream.
func (a *sagas) busy(run release.RunID, t *progress, now time.Time, before uint64) release.RunID {
	if len(t.names) == 0 {
		return ""
	}
	for other := range a.committing {
		for _, theirs := range a.of[other].targets {
			if other != run && theirs.turn < before && theirs.committing() && now.Sub(theirs.asked) < turn && slices.ContainsFunc(theirs.names, func(n string) bool { return slices.Contains(t.names, n) }) {
				return other
			}
		}
	}
	return ""
}

func (s *saga) committing() bool {
	for _, t := range s.targets {
		if t.committing() {
			return true
		}
	}
	return false
}

// moved are the names that a commit moves, and the place of its run's push.
type moved struct {
	at    uint64
	names []string
}

// lost are those of the names that another release has which was pushed later.
func (a *sagas) lost(run release.RunID, t moved, left []string) map[string]release.Digest {
	out := map[string]release.Digest{}
	for _, name := range t.names {
		if h := a.held(name); h.at > t.at && h.run != run && h.gives != "" && !slices.Contains(left, name) {
			out[name] = h.gives
		}
	}
	return out
}
