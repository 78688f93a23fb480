package schedule

import (
	"fmt"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// ledger are the retries of all runs of a release, by their places in the stream. As many of them as a run's budget has
// room for are made, the first in the stream first. So the budget is never exceeded: two schedulers that decide in one
// moment, or one that is restarted while something of it is on its way, may store a retry too many, and nobody makes it.
type ledger struct {
	name     string   // of the release, for people
	retries  []uint64 // places of the task.delayed, in their order
	deciding int32    // retries that are decided and no facts yet
}

// releaseOf is what a run is made for: the tag, or the commit of the branch, that it may publish. A run that may publish
// nothing shares its budget with its reruns: they have its plan.
func releaseOf(p *event.RunPlanned) (key, name string) {
	c := p.Change
	switch name = p.Release.Name(c); {
	case name != "" && c.Kind == release.Tag:
		return c.Repo + " " + c.Ref, "release " + name
	case name != "":
		return c.Repo + " " + c.Ref + " " + string(c.Commit), "release " + name
	}
	return "plan " + string(p.Plan), "the run and its reruns"
}

// enlist lets a run whose plan has a budget for its release share it.
func (s *State) enlist(r *run) {
	if r.planned.Release.RetryBudget <= 0 {
		return
	}
	key, name := releaseOf(r.planned)
	if s.ledgers[key] == nil {
		s.ledgers[key] = &ledger{name: name}
	}
	r.ledger = s.ledgers[key]
	for _, t := range r.list {
		for i := range t.attempts() {
			if a := &t.past.attempts[i]; a.delayed.set() {
				s.record(r, a.delayed.seq)
			}
		}
	}
}

// record notes a retry of a run. One that is heard after a later one moves that one back: it may be one too many now.
func (s *State) record(r *run, seq uint64) {
	l := r.ledger
	if l == nil {
		return
	}
	last := len(l.retries) == 0 || seq > l.retries[len(l.retries)-1]
	if l.retries = insert(l.retries, seq); last {
		return
	}
	for _, o := range s.runs {
		if o.ledger == l {
			s.touchAll(o)
		}
	}
}

// affords reports whether a run's release has a retry left.
func (l *ledger) affords(budget int32) bool { return int32(len(l.retries))+l.deciding < budget }

// excess reports whether a retry is one too many for a budget.
func (l *ledger) excess(seq uint64, budget int32) bool {
	i, _ := slices.BinarySearch(l.retries, seq)
	return i >= int(budget)
}

// surplus reports whether an attempt was to be made again in this round although the release has no retry left for it.
func (t *task) surplus(a *attempt) bool {
	r := t.run
	return r.ledger != nil && a.delayed.set() && a.delayed.seq > t.since && r.ledger.excess(a.delayed.seq, r.planned.Release.RetryBudget)
}

// refuse is the verdict on a task whose next attempt is one too many.
func (t *task) refuse(a *attempt) judgement {
	class, what := release.ClassUnknown, ""
	if before := t.find(a.n - 1); before != nil && before.finished.set() {
		class, what = before.class, fmt.Sprintf("attempt %d ended as %s%s; ", before.n, before.class, because(before.reason))
	}
	return t.conclude(class, what+t.run.usedUp())
}

// usedUp says that the release of a run has no retry left.
func (r *run) usedUp() string {
	return fmt.Sprintf("all %d retries of %s are used up", r.planned.Release.RetryBudget, r.ledger.name)
}

// exhausted says which budget has no retry left for a task's n-th attempt; "" when there is one. A retry that is decided
// has its own.
func (t *task) exhausted(n int32) string {
	r := t.run
	if r.planned == nil || t.hasRetry(n) {
		return ""
	}
	if most := r.planned.RetryBudget; most > 0 && r.counts.delayed+r.delays >= most {
		return fmt.Sprintf("all %d retries of the run are used up", most)
	}
	if r.ledger != nil && !r.ledger.affords(r.planned.Release.RetryBudget) {
		return r.usedUp()
	}
	return ""
}

// hasRetry reports whether it is decided that a task's n-th attempt is made.
func (t *task) hasRetry(n int32) bool {
	if t.want == nil || !t.want.delays {
		return false
	}
	d, ok := t.want.say.(event.TaskDelayed)
	return ok && d.Attempt == n
}

// RetriesLeft is how much of a budget of retries is used.
type RetriesLeft struct {
	Of    string `json:"of"` // "the run", or its release by name
	Used  int32  `json:"used"`
	Limit int32  `json:"limit"`
}

// retriesLeft lists the budgets of retries that count for a run.
func (r *run) retriesLeft() (out []RetriesLeft) {
	if r.planned == nil {
		return nil
	}
	if most := r.planned.RetryBudget; most > 0 {
		out = append(out, RetriesLeft{Of: "the run", Used: min(r.counts.delayed, most), Limit: most})
	}
	if most := r.planned.Release.RetryBudget; r.ledger != nil {
		out = append(out, RetriesLeft{Of: r.ledger.name, Used: min(int32(len(r.ledger.retries)), most), Limit: most})
	}
	return out
}
