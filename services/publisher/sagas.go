package publisher

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// sagas are the publications of all runs, and the order among those that give the same names. A name that may move, such
// as the tag latest of an image, belongs to the run that was planned last of all that gave it: a run whose tests only took
// longer does not take it back. So that this can be known, of the runs that give a name one commits at a time.
type sagas struct {
	of         map[release.RunID]*saga
	holder     map[string]holder // by name
	committing map[release.RunID]bool
}

// turn is how long a run waits for the commit of another one. A registry that is away is away for both; what takes longer
// waits for a person, and holds up nobody else's release.
const turn = 15 * time.Minute

// holder is the run that a name belongs to.
type holder struct {
	run release.RunID
	at  uint64
}

func newSagas() *sagas {
	return &sagas{of: map[release.RunID]*saga{}, holder: map[string]holder{}, committing: map[release.RunID]bool{}}
}

// apply folds one fact. Of a run that is published only its age is kept.
func (a *sagas) apply(e event.Event) {
	s := a.of[e.Run]
	if s == nil {
		s = newSaga()
		a.of[e.Run] = s
	}
	s.apply(e)
	switch p := e.Data.(type) {
	case event.RunPlanned:
		if first := a.of[p.Change.RerunOf]; first != nil {
			s.at = first.at
		}
	case event.PublicationAdvanced:
		if p.State == release.Committed {
			a.hold(e.Run, s, p)
		}
	}
	if delete(a.committing, e.Run); s.committing() {
		a.committing[e.Run] = true
	}
	if s.published {
		at := s.at
		*s = *newSaga()
		s.published, s.at = true, at
	}
}

// hold gives the names of a target that was committed to its run, except those of a run that was planned later.
func (a *sagas) hold(run release.RunID, s *saga, p event.PublicationAdvanced) {
	for _, name := range s.target(p.Target, p.Kind).names {
		if a.holder[name].at <= s.at {
			a.holder[name] = holder{run, s.at}
		}
	}
}

// decide returns what is to be said next of a run, and the run that it waits for, if any.
func (a *sagas) decide(run release.RunID, now time.Time) (intents []event.Payload, waits release.RunID) {
	s := a.of[run]
	for _, t := range s.targets {
		t.leave, t.waits = a.taken(run, s.at, t), a.busy(run, t, now)
		waits = cmp.Or(waits, t.waits)
	}
	return s.decide(), waits
}

// taken are the names of a target that belong to a run which was planned later.
func (a *sagas) taken(run release.RunID, at uint64, t *progress) (out []string) {
	for _, name := range t.names {
		if h := a.holder[name]; h.at > at && h.run != run {
			out = append(out, name)
		}
	}
	return out
}

// busy is another run that is giving one of a target's names just now.
func (a *sagas) busy(run release.RunID, t *progress, now time.Time) release.RunID {
	if len(t.names) == 0 || t.visible() {
		return ""
	}
	for other := range a.committing {
		for _, theirs := range a.of[other].targets {
			if other != run && theirs.committing() && now.Sub(theirs.asked) < turn && slices.ContainsFunc(theirs.names, func(n string) bool { return slices.Contains(t.names, n) }) {
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
