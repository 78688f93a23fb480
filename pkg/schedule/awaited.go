package schedule

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// await takes what is told of a wait. Nothing follows from it: whether what is awaited comes in time is the queue
// timeout's to decide, as it is for every attempt that nobody has started.
func (a *attempt) await(p event.TaskAwaited) {
	if a.awaited == nil || p.Asked >= a.awaited.Asked {
		a.awaited = &p
	}
}

func (t *task) fetches() bool { return t.spec.pool.name == release.FetchPool }

// absent ends a wait for what did not come in time.
func (t *task) absent(j judgement) judgement {
	reason := "it did not come within " + t.spec.timeouts.Queue.String()
	if a := t.find(j.attempt); a != nil && a.awaited != nil {
		reason += ": " + told(a.awaited)
	}
	j.say = event.TaskFinished{
		Task: t.id, Attempt: j.attempt, Pool: t.spec.pool.name, Outcome: release.Error, Class: release.ClassInfraTimeout,
		ExitCode: release.ExitAbsent, Reason: reason,
	}
	return j
}

// told is how far a wait is.
func told(p *event.TaskAwaited) string {
	times := "times"
	if p.Asked == 1 {
		times = "time"
	}
	return fmt.Sprintf("asked %d %s, last answer %s", p.Asked, times, clip(p.Answer))
}

func (s *State) explainAwaited(t *task, w *Why) {
	w.Reason = "what it fetches is not there yet"
	a := t.find(w.Attempt)
	if a != nil && a.awaited != nil {
		w.Reason += fmt.Sprintf(": %s, next at %s", told(a.awaited), a.awaited.Next.UTC().Format(time.RFC3339))
	}
	if !w.Until.IsZero() {
		w.Reason += ", gives up at " + w.Until.Format(time.RFC3339)
	}
}
