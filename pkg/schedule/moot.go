package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// settled reports whether the run's outcome can no longer change: a build or a required test failed by the product's
// fault, or nothing of the candidate can be published, and whatever else happens the run is a failure. The platform's fault settles nothing: the product may yet turn
// out to be at fault too.
func (r *run) settled() bool {
	return r.planned != nil && !r.planned.KeepGoing && (r.dooms > 0 || len(r.taken[r.round()]) > 0) && r.opened == nil
}

// pointless reports whether there is no point in starting a task. What cleans up has its point whatever happened.
func (t *task) pointless() bool { return t.run.settled() && t.spec.kind != release.Cleanup }

// moots is the verdict on a task that is not started, or not started again, since the outcome is settled.
func (t *task) moots(class release.Class, what string) judgement {
	why := "a target has a name of the candidate with other bytes"
	if t.run.doomed != nil {
		why = string(t.run.doomed.id) + " failed"
	}
	j := t.conclude(class, what+why+", and that decides the outcome of the run")
	say := j.say.(event.TaskConcluded)
	say.Moot = true
	j.say = say
	return j
}

// redoom keeps the count of tasks whose failure decides the outcome. Where that begins or ends, everything that has not
// started is judged anew.
func (s *State) redoom(t *task) {
	now := t.judgeDoom()
	if now == t.dooms {
		return
	}
	t.dooms = now
	r := t.run
	before := r.settled()
	if now {
		r.dooms++
	} else {
		r.dooms--
	}
	r.findDoomed(t)
	if r.settled() != before {
		s.touchAll(r)
	}
}

// findDoomed keeps one of the tasks whose failure decides the outcome, to be named in reasons.
func (r *run) findDoomed(t *task) {
	switch {
	case t.dooms && r.doomed == nil:
		r.doomed = t
	case !t.dooms && r.doomed == t:
		r.doomed = nil
		for _, o := range r.list {
			if o.dooms {
				r.doomed = o
				return
			}
		}
	}
}

func (t *task) judgeDoom() bool {
	if !t.required && (!t.build() || t.spec.softFail) {
		return false
	}
	switch t.status {
	case failed, excused:
		v := t.verdict()
		return v.outcome == release.Failure && !v.moot
	case open: // its verdict may be on its way: until it is stored nothing is begun in vain
		v, concludes := t.concluding()
		return concludes && v.Outcome == release.Failure && !v.Moot
	default:
		return false
	}
}

// concluding is the verdict that is decided and no fact yet.
func (t *task) concluding() (event.TaskConcluded, bool) {
	if t.want == nil {
		return event.TaskConcluded{}, false
	}
	v, is := t.want.say.(event.TaskConcluded)
	return v, is
}

// moot reports whether a task was not started because the outcome was settled in a round, or in one before it.
func (t *task) moot(round int32) bool {
	if t.past == nil {
		return false
	}
	for _, v := range t.past.verdicts {
		if v.moot && v.round <= round {
			return true
		}
	}
	return false
}

// unmoot lets a task that was not started take part in every later round: what settled the outcome is tried again.
func (s *State) unmoot(t *task) {
	for i := range t.run.retries {
		if y := t.run.retries[i]; !y.void && t.moot(int32(i)) {
			s.inherit(t, int32(i+1), y.mark.seq)
		}
	}
}
