package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// success is the attempt whose success counts, or nil: the first in the stream (release.Completion), of those whose inputs are
// what their task needs now.
func (t *task) success() *attempt {
	var counting release.Completion
	all := t.attempts()
	for i := range all {
		if all[i].ok() && !all[i].stale {
			counting = counting.Counting(release.Completion{Seq: all[i].finished.seq, Attempt: all[i].n})
		}
	}
	if counting.Seq == 0 {
		return nil
	}
	return t.find(counting.Attempt)
}

// inputs are the artifacts of the tasks that t needs, as their successful attempts left them.
func (t *task) inputs() []event.Produced {
	var out []event.Produced
	for _, n := range t.needs {
		if a := n.success(); a != nil {
			out = append(out, event.Produced{Task: n.id, Artifacts: a.artifacts})
		}
	}
	return out
}

// refresh finds out which successes of a test still count: what a test was not given it has not tested. A success that does
// not count makes the test run again. After the gate has opened the candidate is what it is.
func (s *State) refresh(t *task) {
	if t.past == nil || !t.known() || !AfterCandidate(t.spec.kind) {
		return
	}
	changed, now, known := false, event.Inputs(0), false
	for i := range t.past.attempts {
		a := &t.past.attempts[i]
		if !a.ok() || !a.dispatched.set() {
			continue
		}
		if !known {
			now, known = event.InputsOf(t.inputs()), true
		}
		if stale := a.given != now && t.run.opened == nil; stale != a.stale {
			a.stale, changed = stale, true
		}
	}
	if !changed {
		return
	}
	s.restate(t)
	s.touch(t)
	s.refreshDependents(t)
}

func (s *State) refreshDependents(t *task) {
	for _, d := range t.dependents {
		s.refresh(d)
	}
}
