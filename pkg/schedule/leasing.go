package schedule

import (
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// leasing is a task whose places are being granted: once every grant is a fact it is dispatched. It counts as dispatched
// already, so that its places do not wait for a turn.
type leasing struct {
	attempt int32
	grants  []*want
}

// Leases is the table of places that dispatch asks; it hears what this State hears.
func (s *State) Leases() *lease.Table { return s.leases }

func (t *task) ref(n int32) event.AttemptRef {
	return event.AttemptRef{Run: t.run.id, Task: t.id, Attempt: n}
}

// asks asks for the places of a task's next attempt.
func (s *State) asks(t *task) lease.Answer {
	return s.leases.Grant(lease.Ask{
		Holder: t.ref(t.next()), Request: t.spec.demand.lease, Priority: t.spec.priority, Since: t.readySince().time(),
		Unserved: !t.spec.pool.served(),
	}, s.now.time())
}

// keepAsking tells the table which asks still stand. One that waits is made again only when something about places changes;
// one that nobody makes any more must keep nobody waiting.
func (s *State) keepAsking() {
	if since := s.now.since(s.askedAll); s.askedAll != 0 && since >= 0 && since < askAgain {
		return
	}
	s.askedAll = s.now
	for _, p := range s.pools {
		for _, sh := range p.shapes {
			if sh.asking != nil {
				s.leases.Still(sh.asking.ref(sh.attempt), s.now.time())
			}
		}
	}
}

// askAgain is how often the table is told. It forgets what it was not told for ten minutes.
const askAgain = time.Minute

// lease lets the first task of a shape ask for its places. One that must wait keeps its shape waiting, and nobody else.
func (s *State) lease(sh *shape, oldest bool) {
	if sh.asking == nil {
		t := s.take(sh, oldest)
		t.ready, t.queued = true, true // it waits as before, in front of its lane
		t.spec.pool.queued++
		sh.asking, sh.attempt = t, t.next()
	}
	t := sh.asking
	answer := s.asks(t)
	if !answer.Held && len(answer.Grants) == 0 {
		sh.wait = answer.Wait
		s.park(sh, s.places)
		return
	}
	s.unask(sh)
	s.dequeue(t)
	sh.open()
	if answer.Held {
		s.dispatch(t)
		return
	}
	s.hold(t, true)
	g := &leasing{attempt: t.next()}
	s.leasing[t] = g
	t.leasing = true
	s.grant(t, g, answer.Grants)
}

// unask takes the asking task out of its shape, before its claim is met or dropped.
func (s *State) unask(sh *shape) {
	t := sh.asking
	sh.asking, t.queued = nil, false
	if sh.empty() {
		s.emptied(sh)
	}
}

// grant asks for grants to be stored.
func (s *State) grant(t *task, g *leasing, grants []event.LeaseGranted) {
	for _, w := range g.grants {
		w.drop()
	}
	g.grants = g.grants[:0]
	for _, say := range grants {
		w := &want{run: t.run, fleet: true, say: say}
		g.grants = append(g.grants, w)
		s.wants = append(s.wants, w)
	}
}

// settleLeases looks at the tasks whose places are being granted, and lets those that wait for one ask again when
// something about places changed.
func (s *State) settleLeases() {
	s.keepAsking()
	s.leases.Lapse(s.now.time()) // before the revision is read: what lapses in an ask below would wake nobody
	if r := s.leases.Revision(); r != s.revision {
		s.revision = r
		s.unpark(s.places)
	}
	for _, t := range sortedTasks(s.leasing) {
		g := s.leasing[t]
		switch answer := s.asks(t); {
		case answer.Held:
			s.unlease(t)
			s.dispatch(t)
		case len(answer.Grants) > 0:
			s.grant(t, g, answer.Grants)
		case !answer.Granting:
			s.unlease(t) // another was faster
			s.hold(t, false)
			s.enqueue(t)
		}
	}
}

// unlease forgets that a task's places are being granted.
func (s *State) unlease(t *task) {
	if g := s.leasing[t]; g != nil {
		for _, w := range g.grants {
			w.drop()
		}
		delete(s.leasing, t)
		t.leasing = false
	}
}

// resign gives up what a task asked for: it is not to be dispatched now.
func (s *State) resign(t *task) {
	if !t.known() || !t.spec.demand.lease.Wanted() {
		return
	}
	if g := s.leasing[t]; g != nil {
		s.leases.Drop(t.ref(g.attempt))
		s.unlease(t)
	}
	if sh := s.lane(t).shape; sh.asking == t {
		s.leases.Drop(t.ref(sh.attempt))
		s.unask(sh)
		s.reopen(sh)
	}
}

// leasesFor reports whether the places of a task's n-th attempt are being granted. What was granted for another is given
// back.
func (s *State) leasesFor(t *task, n int32) bool {
	g := s.leasing[t]
	if g != nil && g.attempt != n || s.lane(t).shape.asking == t && s.lane(t).shape.attempt != n {
		s.resign(t)
		s.hold(t, false)
		return false
	}
	return g != nil
}

// granted is the lease of a task's next attempt, and whether it has every place that it wants.
func (s *State) granted(t *task) (release.Lease, bool) {
	if !t.spec.demand.lease.Wanted() {
		return release.Lease{}, true
	}
	answer := s.asks(t)
	return answer.Lease, answer.Held
}

// tend decides about the places themselves: renewals, ends, cleaning, checks.
func (s *State) tend() (intents []Intent, next stamp) {
	said, at := s.leases.Decide(s.now.time(), s.living)
	for i := range said {
		intents = append(intents, Intent{Cause: event.Event{Run: said[i].Run}, Payload: said[i].Payload, place: &said[i]})
	}
	if len(s.leasing) > 0 {
		at = soonest(at, s.now.plus(s.cfg.Resend).time())
	}
	return intents, stampOf(at)
}

// living reports whether an executor's heartbeats name an attempt.
func (s *State) living(ref event.AttemptRef) bool {
	h, a := s.lookup(ref)
	return a != nil && a.executor != nil && !s.adrift(a.executor, h, a.executor.running[h])
}

func soonest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
