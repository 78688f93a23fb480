package schedule

import (
	"time"
)

// maxPaces bounds for how many tasks it is remembered how long they take.
const maxPaces = 20_000

// paceKey names a task in all runs of its project.
type paceKey struct{ project, task string }

// learn remembers how long an attempt took that succeeded.
func (s *State) learn(t *task, a *attempt) {
	if !a.ok() || !a.started.set() || !t.known() || a.finished.at < a.started.at {
		return
	}
	k := paceKey{t.run.project(), string(t.id)}
	if _, known := s.paces[k]; known || len(s.paces) < maxPaces {
		s.paces[k] = a.finished.at.since(a.started.at)
	}
}

// typical is how long the task took when it last succeeded.
func (s *State) typical(t *task) (time.Duration, bool) {
	took, known := s.paces[paceKey{t.run.project(), string(t.id)}]
	return took, known
}

// expectedEnd is when an attempt that runs is expected to end; zero when nobody can tell.
func (s *State) expectedEnd(t *task, a *attempt) stamp {
	if took, known := s.typical(t); known && a.started.at.plus(took) > s.now {
		return a.started.at.plus(took)
	}
	return 0
}
