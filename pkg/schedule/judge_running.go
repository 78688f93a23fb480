package schedule

import (
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// judgeRunning looks at an attempt that an executor has: is it lost, is it to be stopped, did it not stop.
func (s *State) judgeRunning(t *task, a *attempt) judgement {
	j := judgement{phase: running, attempt: a.n, since: a.started.at}
	if reason := s.lost(t, a); reason != "" {
		return s.give(t, a, j, release.ClassLost, reason)
	}
	reason, again := s.stranded(t, a)
	if reason != "" {
		return s.give(t, a, j, release.ClassLost, reason)
	}
	o := s.order(t, a)
	if o.reason == "" {
		j.wake = earlier(s.overrunAt(t, a), again)
		return j
	}
	j.phase = stopping
	if !a.stop.set() {
		j.say = event.TaskCancelRequested{Task: t.id, Attempt: a.n, Pool: a.executor.pool.name, Reason: o.reason}
		return j
	}
	j.since, j.wake = a.stop.at, max(a.stop.at, 1).plus(o.patience)
	if s.now >= j.wake {
		return s.give(t, a, j, o.class, "it did not stop within "+o.patience.String()+" of being told to: "+o.reason)
	}
	return j
}

// give ends an attempt in its executor's place.
func (s *State) give(t *task, a *attempt, j judgement, class release.Class, reason string) judgement {
	j.say = event.TaskFinished{
		Task: t.id, Attempt: a.n, Pool: a.executor.pool.name, Executor: a.executor.name, Outcome: class.Outcome(),
		Class: class, Reason: reason,
	}
	return j
}

// order is that an attempt has to stop: why, how long it gets, and what it counts as if it does not obey.
type order struct {
	reason   string
	patience time.Duration
	class    release.Class
}

func (s *State) order(t *task, a *attempt) order {
	willing := order{patience: s.bound(t.timeouts().Cleanup) + s.cfg.StopWithin, class: release.ClassCancelled}
	switch {
	case t.run.cancelled():
		willing.reason = t.run.cancelReason()
	case t.last().n > a.n:
		willing.reason = "another attempt has taken its place"
	case t.known() && t.status != open || a.n <= t.before():
		willing.reason = "the task was concluded without it"
	case s.overrun(t, a):
		took := s.overrunAt(t, a).since(a.started.at)
		return order{"it has run for more than " + took.String(), s.cfg.StopWithin, release.ClassLost}
	case a.stop.set():
		willing.reason = "it was told to"
	}
	return willing
}

// overrunAt is when an attempt must have ended by its own timeouts, with something on top; zero when its command has no
// bound. Its executor sees to these timeouts; this is for one that lives and does not.
func (s *State) overrunAt(t *task, a *attempt) stamp {
	if t.timeouts().Command <= 0 {
		return 0
	}
	return s.bounds(t, a).plus(s.cfg.Overrun).plus(s.missed(a.started.at))
}

// bounds is when an attempt has ended by its own timeouts, of which its command has one.
func (s *State) bounds(t *task, a *attempt) stamp {
	limits := t.timeouts()
	end := max(a.started.at, 1).plus(limits.Command.Std()).plus(s.bound(limits.Prepare)).plus(s.bound(limits.Cleanup))
	if t.known() && t.spec.demand.lease.Wanted() {
		end = end.plus(s.bound(limits.Nodes))
	}
	return end
}

func (s *State) overrun(t *task, a *attempt) bool {
	at := s.overrunAt(t, a)
	return at != 0 && s.now >= at
}

// bound is a phase's timeout, or what is allowed to one that has none.
func (s *State) bound(d release.Duration) time.Duration {
	if d > 0 {
		return d.Std()
	}
	return s.cfg.Phase
}

func (t *task) timeouts() release.Timeouts {
	if t.known() {
		return t.spec.timeouts
	}
	return release.Timeouts{}
}
