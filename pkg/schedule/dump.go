package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Dump writes what is known, and what is derived from it, in one canonical form: two states that were folded from the
// same facts have the same one. The fleet and what was sent are left out, since neither is a fact.
func Dump(s *State) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		p := s.pools[name]
		if p.drain.mark.set() || p.resumed > 0 {
			fmt.Fprintf(&b, "pool %s drain %+v resumed %d\n", name, p.drain, p.resumed)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		s.runs[id].dump(&b)
	}
	for _, key := range slices.Sorted(maps.Keys(s.ledgers)) {
		fmt.Fprintf(&b, "retries of %s %v\n", key, s.ledgers[key].retries)
	}
	return b.String()
}

func (r *run) dump(b *strings.Builder) {
	fmt.Fprintf(b, "run %s cause %s round %d cancelled %t held %t rejected %t published %t %+v\n",
		r.id, r.cause, r.round(), r.cancelled(), r.held(), r.rejected, r.published, r.counts)
	fmt.Fprintf(b, " cancel %+v hold %+v resumed %d unpublished %+v republish %v platform %v approvals %v\n",
		r.cancel, r.hold, r.resumed, r.unpublished, r.republish, r.platform, r.approvals)
	if r.planned != nil {
		fmt.Fprintf(b, " planned %+v\n", *r.planned)
	}
	if r.opened != nil {
		fmt.Fprintf(b, " opened %+v\n", *r.opened)
	}
	fmt.Fprintf(b, " refusals %v taken %v closed %v ends %v\n", r.refusals, r.taken, r.closed, r.ends)
	for _, n := range slices.Sorted(maps.Keys(r.candidates)) {
		fmt.Fprintf(b, " candidate %+v\n", *r.candidates[n])
	}
	fmt.Fprintf(b, " retried %v\n", r.retried.retries)
	for _, y := range r.retries {
		fmt.Fprintf(b, " retry %+v\n", y)
	}
	for _, id := range slices.Sorted(maps.Keys(r.tasks)) {
		r.tasks[id].dump(b)
	}
}

func (t *task) dump(b *strings.Builder) {
	fmt.Fprintf(b, " task %s status %d required %t reset %d since %d waiting %d broken %d\n",
		t.id, t.status, t.required, t.reset, t.since, t.waiting, t.broken)
	if t.known() {
		fmt.Fprintf(b, "  requested %d at %d pool %s %s priority %d soft %t plan %s %v %v\n", t.seq, t.requested, t.spec.pool.name,
			t.spec.kind, t.spec.priority, t.spec.softFail, t.spec.plan, t.spec.timeouts, t.spec.retry)
	}
	for _, n := range t.needs {
		fmt.Fprintf(b, "  needs %s\n", n.id)
	}
	if t.past == nil {
		return
	}
	for i := range t.past.attempts {
		a := &t.past.attempts[i]
		fmt.Fprintf(b, "  attempt %d dispatched %v started %v on %s finished %v as %s %q stop %v delayed %v until %d artifacts %d given %x stale %t refused %v\n",
			a.n, a.dispatched, a.started, a.where(), a.finished, a.class, a.reason, a.stop, a.delayed, a.until, len(a.artifacts), a.given, a.stale, a.refused)
		if a.awaited != nil {
			fmt.Fprintf(b, "   awaited %+v\n", *a.awaited)
		}
	}
	for _, v := range t.past.verdicts {
		fmt.Fprintf(b, "  verdict %+v\n", v)
	}
}

func (a *attempt) where() string {
	if a.executor == nil {
		return "nobody"
	}
	return a.executor.key()
}
