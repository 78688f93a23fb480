package schedule

import (
	"fmt"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// ledger are retries that share a budget, those of a run or of all runs of a release, by their places in the stream. As many
// of them as the budget has room for are made, the first in the stream first. So it is never exceeded: two schedulers that
// decide in one moment, or one that is restarted while something of it is on its way, may store a retry too many, and nobody
// makes it.
type ledger struct {
	name     string   // whose retries, for people
	retries  []uint64 // places of the task.delayed, in their order
	deciding int32    // retries that are decided and no facts yet
	runs     int      // that share it and are remembered
}

// used counts the retries after a place in the stream.
func (l *ledger) used(since uint64) int32 {
	i, _ := slices.BinarySearch(l.retries, since+1)
	return int32(len(l.retries) - i)
}

// affords reports whether there is a retry left of a budget that counts from a place in the stream.
func (l *ledger) affords(budget int32, since uint64) bool { return l.used(since)+l.deciding < budget }

// excess reports whether a retry is one too many for such a budget.
func (l *ledger) excess(seq uint64, budget int32, since uint64) bool {
	return l.used(since)-l.used(seq) > budget
}

// note adds a retry; false when others that come after it are known already, and may be one too many now.
func (l *ledger) note(seq uint64) bool {
	last := len(l.retries) == 0 || seq > l.retries[len(l.retries)-1]
	l.retries = insert(l.retries, seq)
	return last
}

// usedUp says that there is no retry left.
func (l *ledger) usedUp(budget int32) string {
	return fmt.Sprintf("all %d retries of %s are used up", budget, l.name)
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

// allowance is a ledger with what a run may have of it.
type allowance struct {
	*ledger
	budget int32
	since  uint64 // what was retried before this place in the stream does not count
}

// allowances are the budgets of retries that count for a run: its own begins anew with each round, its release's never.
func (r *run) allowances() (out []allowance) {
	if r.planned == nil {
		return nil
	}
	if most := r.planned.RetryBudget; most > 0 {
		out = append(out, allowance{&r.retried, most, r.reopened()})
	}
	if r.ledger != nil {
		out = append(out, allowance{r.ledger, r.planned.Release.RetryBudget, 0})
	}
	return out
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
	r.ledger.runs++
	for _, seq := range r.retried.retries {
		s.share(r, seq)
	}
}

// delist lets a run go that is forgotten. What its release has used is kept.
func (s *State) delist(r *run) {
	if r.ledger == nil {
		return
	}
	if r.ledger.runs--; r.ledger.runs == 0 && len(r.ledger.retries) == 0 {
		key, _ := releaseOf(r.planned)
		delete(s.ledgers, key)
	}
}

// record notes a retry of a run.
func (s *State) record(r *run, seq uint64) {
	if !r.retried.note(seq) {
		s.touchAll(r)
	}
	s.share(r, seq)
}

// share notes a retry of a run with its release.
func (s *State) share(r *run, seq uint64) {
	if r.ledger == nil || r.ledger.note(seq) {
		return
	}
	for _, o := range s.runs {
		if o.ledger == r.ledger {
			s.touchAll(o)
		}
	}
}

// surplus says which budget an attempt is one too many for that was to be made again in this round; "" when it is not.
func (t *task) surplus(a *attempt) string {
	if !a.delayed.set() || a.delayed.seq <= t.since {
		return ""
	}
	for _, l := range t.run.allowances() {
		if l.excess(a.delayed.seq, l.budget, l.since) {
			return l.usedUp(l.budget)
		}
	}
	return ""
}

// refuse is the verdict on a task whose next attempt is one too many.
func (t *task) refuse(a *attempt, reason string) judgement {
	class, what := release.ClassUnknown, ""
	if before := t.find(a.n - 1); before != nil && before.finished.set() {
		class, what = before.class, fmt.Sprintf("attempt %d ended as %s%s; ", before.n, before.class, because(before.reason))
	}
	return t.conclude(class, what+reason)
}

// exhausted says which budget has no retry left for a task's n-th attempt; "" when there is one. A retry that is decided
// has its own.
func (t *task) exhausted(n int32) string {
	if t.hasRetry(n) {
		return ""
	}
	for _, l := range t.run.allowances() {
		if !l.affords(l.budget, l.since) {
			return l.usedUp(l.budget)
		}
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
	for _, l := range r.allowances() {
		out = append(out, RetriesLeft{Of: l.name, Used: min(l.used(l.since), l.budget), Limit: l.budget})
	}
	return out
}
