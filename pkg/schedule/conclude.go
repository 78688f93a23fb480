package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// conclude is the verdict that a task will not succeed.
func (t *task) conclude(class release.Class, reason string) judgement {
	return judgement{phase: concluding, attempt: t.made(), say: event.TaskConcluded{
		Task: t.id, Attempts: t.made(), Round: t.run.round(), Outcome: class.Outcome(), Class: class, Reason: reason,
	}}
}

func (t *task) skipReason() string {
	for _, n := range t.needs {
		if n.status != failed {
			continue
		}
		cause := n.culprit()
		if n.verdict().moot {
			return "skipped: it needs " + string(n.id) + ", which was " + n.verdict().reason
		}
		if cause == n {
			return "skipped: it needs " + string(n.id) + ", which failed: " + n.verdict().reason
		}
		return "skipped: it needs " + string(n.id) + ", which cannot succeed since " + string(cause.id) + " failed: " +
			cause.verdict().reason
	}
	return "skipped: something that it needs failed"
}

// culprit is the failed task because of which t was skipped, or t itself.
func (t *task) culprit() *task {
	for range 10_000 {
		next := t.failedNeed()
		if v := t.verdict(); next == nil || v == nil || v.class != release.ClassCancelled {
			return t
		}
		t = next
	}
	return t
}

func (t *task) failedNeed() *task {
	if t.broken == 0 {
		return nil
	}
	for _, n := range t.needs {
		if n.status == failed {
			return n
		}
	}
	return nil
}

func (r *run) cancelReason() string {
	out := "the run was cancelled"
	if r.cancel.by != "" {
		out += " by " + r.cancel.by
	}
	if r.cancel.reason != "" {
		out += ": " + r.cancel.reason
	}
	return out
}
