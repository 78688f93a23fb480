package schedule

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// phase is where a task stands.
type phase string

const (
	unknown    phase = "unknown"    // named, but not requested
	waiting    phase = "waiting"    // for tasks that it needs
	delayed    phase = "delayed"    // for the back-off of a retry
	unapproved phase = "unapproved" // for reviewers of its environment
	ready      phase = "ready"      // for its turn in its pool
	dispatched phase = "dispatched" // for an executor of its pool
	running    phase = "running"    // on an executor
	stopping   phase = "stopping"   // told to stop, not ended yet
	concluding phase = "concluding" // a verdict on it is about to be stored
	ended      phase = "ended"
)

// judgement is what is to be done about a task now, and why nothing more.
type judgement struct {
	phase   phase
	attempt int32         // that it is about
	say     event.Payload // what is to become a fact; nil when it waits
	wake    stamp         // when time alone changes the judgement
	since   stamp         // of the phase
	need    *task         // with waiting: the first that is not done
}

// judge is the one place that decides about a task. Explain asks it too.
func (s *State) judge(t *task) judgement {
	leftover := s.judgeLeftovers(t)
	if leftover.say != nil {
		return leftover
	}
	j := s.judgeTask(t)
	j.wake = earlier(j.wake, leftover.wake)
	return t.bury(j)
}

func (s *State) judgeTask(t *task) judgement {
	a := t.last()
	switch {
	case a != nil && a.running():
		return s.judgeRunning(t, a)
	case !t.known():
		return judgement{phase: unknown}
	case t.status != open:
		return t.judgeEnded()
	case a != nil && a.buried():
		return t.unburied(a)
	case t.run.cancelled():
		return t.conclude(release.ClassCancelled, t.run.cancelReason())
	case a != nil && t.counts(a):
		return s.judgeFinished(t, a)
	case t.broken > 0:
		return t.conclude(release.ClassCancelled, t.skipReason())
	case t.pointless():
		return t.moots(release.ClassCancelled, "not started: ")
	case s.barred(t) != "":
		return t.conclude(release.ClassConfig, s.barred(t))
	case t.waiting > 0:
		return t.judgeWaiting()
	default:
		return s.judgeNext(t, a)
	}
}

// judgeEnded repeats a verdict in a round that did not reset its task, so that nobody needs to know which tasks a round
// resets: in each, every task succeeds or is concluded.
func (t *task) judgeEnded() judgement {
	j := judgement{phase: ended, since: t.ended()}
	round := t.run.round()
	if t.status == succeeded || t.run.opened != nil || t.concluded(round) {
		return j
	}
	v := t.verdict()
	j.say = event.TaskConcluded{
		Task: t.id, Attempts: v.attempts, Round: round, Outcome: v.outcome, Class: v.class, Reason: v.reason, Moot: v.moot,
	}
	return j
}

// concluded reports whether a verdict was stored for a round.
func (t *task) concluded(round int32) bool {
	return slices.ContainsFunc(t.past.verdicts, func(v verdict) bool { return v.round == round })
}

// judgeLeftovers looks at attempts that a later one has replaced and that run all the same.
func (s *State) judgeLeftovers(t *task) judgement {
	var out judgement
	all := t.attempts()
	for i := range max(0, len(all)-1) {
		if !all[i].running() {
			continue
		}
		j := s.judgeRunning(t, &all[i])
		if j.say != nil {
			return j
		}
		out.wake = earlier(out.wake, j.wake)
	}
	return out
}

func (t *task) judgeWaiting() judgement {
	j := judgement{phase: waiting, since: t.requested}
	for _, n := range t.needs {
		if n.status.done() {
			continue
		}
		if !n.known() && t.run.complete() {
			return t.conclude(release.ClassConfig, "cannot run: it needs "+string(n.id)+", which the plan does not request")
		}
		if j.need == nil {
			j.need = n
		}
	}
	return j
}

// judgeNext looks at the attempt that comes next: it waits for its back-off, its turn, or an executor.
func (s *State) judgeNext(t *task, a *attempt) judgement {
	j := judgement{phase: ready, attempt: t.next(), since: max(t.readySince(), s.enteredAt(t))}
	if why := s.unwelcome(t); why != "" && (a == nil || a.n != j.attempt || !a.dispatched.set()) {
		return t.conclude(release.ClassConfig, why)
	}
	if a != nil && a.n == j.attempt {
		switch reason := t.surplus(a); {
		case a.dispatched.set():
			j.phase = dispatched
		case reason != "":
			return t.refuse(a, reason)
		case s.now < t.notBefore(a) && !s.stepped(a, t.notBefore(a)):
			j.phase, j.since, j.wake = delayed, a.delayed.at, t.notBefore(a)
			return j
		}
	}
	if j.phase == ready && s.unentered(t) != "" {
		j.phase, j.since = unapproved, t.readySince()
		return j
	}
	if limit := t.spec.timeouts.Queue.Std(); limit > 0 {
		j.wake = max(j.since, 1).plus(limit)
		if !t.fetches() { // whoever fetches looks on while no scheduler does
			j.wake = j.wake.plus(s.missed(j.since))
		}
		if s.now >= j.wake {
			return s.unstarted(t, j)
		}
	}
	if j.phase == dispatched {
		j.since = a.dispatched.at
		say, again := s.judgeUnserved(t, a)
		j.say, j.wake = say, earlier(j.wake, again)
	}
	return j
}

// unstarted ends an attempt that nobody started in time, whether it was given to the pool or not.
func (s *State) unstarted(t *task, j judgement) judgement {
	if t.fetches() {
		return t.absent(j)
	}
	why := "no executor of pool " + t.spec.pool.name + " started it"
	if j.phase == ready {
		why = s.obstacle(t).reason
	}
	j.say = event.TaskFinished{
		Task: t.id, Attempt: j.attempt, Pool: t.spec.pool.name, Outcome: release.Error, Class: release.ClassInfraTimeout,
		Reason: "not started within " + t.spec.timeouts.Queue.String() + ": " + why,
	}
	return j
}

// next is the number of the attempt that comes next, or that waits for an executor. What an earlier round gave to the
// pool and nobody started is not waited for: its executors may have heard that it was not wanted.
func (t *task) next() int32 {
	a := t.last()
	switch {
	case a == nil:
		return 1
	case a.finished.set(), a.refused.set(), a.dispatched.set() && a.n <= t.before():
		return a.n + 1
	default:
		return a.n
	}
}

// readySince is when the last thing came to pass that the task had to wait for.
func (t *task) readySince() stamp {
	at := t.requested
	for _, n := range t.needs {
		at = max(at, n.ended())
	}
	if t.reset > 0 {
		at = max(at, t.run.retries[t.reset-1].mark.at)
	}
	if a := t.last(); a != nil && a.n == t.next() {
		at = max(at, t.notBefore(a))
	}
	return at
}

// made is the number of attempts that the task had.
func (t *task) made() int32 {
	all := t.attempts()
	for i := len(all) - 1; i >= 0; i-- {
		if a := &all[i]; a.dispatched.set() || a.started.set() || a.finished.set() {
			return a.n
		}
	}
	return 0
}
