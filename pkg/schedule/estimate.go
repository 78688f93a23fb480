package schedule

import (
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// maxPaces bounds for how many tasks it is remembered how long they take.
const maxPaces = 20_000

// paceKey names a task in all runs of its project.
type paceKey struct{ project, task string }

// learn remembers how long an attempt took that succeeded.
func (s *State) learn(t *task, a *attempt) {
	if !a.ok() || !a.started.set() || !t.known() && !t.run.tends() || a.finished.at < a.started.at {
		return
	}
	k := t.pace()
	if _, known := s.paces[k]; known || len(s.paces) < maxPaces {
		s.paces[k] = a.finished.at.since(a.started.at)
	}
}

// typical is how long the task took when it last succeeded.
func (s *State) typical(t *task) (time.Duration, bool) {
	took, known := s.paces[t.pace()]
	return took, known
}

// pace names a task in all runs of its project; one that tends a place in all that is done to that place.
func (t *task) pace() paceKey {
	if t.run.tends() {
		return paceKey{string(t.run.id), string(t.id)}
	}
	return paceKey{t.run.project(), string(t.id)}
}

// tends reports whether a run is one in which a place is cleaned and checked.
func (r *run) tends() bool { return strings.HasPrefix(string(r.id), release.PlaceRuns) }

// expectedEnd is when an attempt that runs is expected to end; zero when nobody can tell.
func (s *State) expectedEnd(t *task, a *attempt) stamp {
	if took, known := s.typical(t); known && a.started.at.plus(took) > s.now {
		return a.started.at.plus(took)
	}
	return 0
}
