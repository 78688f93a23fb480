package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// bury keeps an attempt from beginning whose end is about to be said. Its message may still wait in a queue, and executors
// ask nobody before they start: so the place of its start is claimed first. Whoever is first there, the stream says once and
// for all whether the attempt runs.
func (t *task) bury(j judgement) judgement {
	switch say := j.say.(type) {
	case event.TaskFinished:
		if a := t.find(say.Attempt); a != nil && a.idle() || a == nil && t.want.dispatches(say.Attempt) && t.want.sent != 0 {
			j.say = event.TaskStarted{Task: t.id, Attempt: say.Attempt, Pool: say.Pool, Refused: or(say.Reason, "it has ended"), Class: say.Class, Withdrawn: say.Withdrawn}
		}
	case event.TaskConcluded:
		if n := t.startable(); n > 0 {
			j.say = event.TaskStarted{Task: t.id, Attempt: n, Pool: t.spec.pool.name, Refused: or(say.Reason, "the task has ended")}
		}
	}
	return j
}

// startable is the first attempt that an executor may still start, or 0.
func (t *task) startable() int32 {
	all := t.attempts()
	for i := range all {
		if all[i].idle() {
			return all[i].n
		}
	}
	if n := t.next(); t.want.dispatches(n) && t.want.sent != 0 {
		return n // it is on its way to the stream
	}
	return 0
}

// buried reports whether an attempt has ended without a start, and nothing says so yet.
func (a *attempt) buried() bool { return a.refused.set() && a.class != "" && !a.finished.set() }

// unburied says the end of an attempt that nobody can start any more.
func (t *task) unburied(a *attempt) judgement {
	say := event.TaskFinished{
		Task: t.id, Attempt: a.n, Pool: t.spec.pool.name, Outcome: a.class.Outcome(), Class: a.class, Reason: a.reason,
		Withdrawn: a.withdrawn,
	}
	if t.fetches() {
		say.ExitCode = release.ExitAbsent
	}
	return judgement{phase: concluding, attempt: a.n, since: a.refused.at, say: say}
}
