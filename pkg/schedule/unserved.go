package schedule

import (
	"cmp"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// A pool without executors still gets attempts, so that an autoscaler sees a queue, but it holds nothing that others wait
// for: it comes last where pools share a group, a provider or places; nothing is kept for it from pools that have executors; and what it was given is
// withdrawn when somebody who could start at once has waited for Config.Unserved.

// staff changes how many slots a pool has.
func (s *State) staff(p *pool, more int32) {
	served := p.served()
	p.slots += more
	s.touchPool(p)
	if p.served() == served {
		return
	}
	p.deserted = s.now
	s.yield(p)
}

// yield gives up what is kept for a pool, and lets those of its tasks that ask for places ask anew, in their new turn.
func (s *State) yield(p *pool) {
	var list []*shape
	for _, sh := range p.shapes {
		if !sh.empty() {
			list = append(list, sh)
		}
	}
	slices.SortFunc(list, func(a, b *shape) int { return cmp.Compare(a.oldest().seq, b.oldest().seq) })
	for _, sh := range list {
		for i, b := range sh.budgets {
			sh.since[i] = 0
			s.giveUp(b, sh)
		}
		if t := sh.asking; t != nil {
			s.resign(t)
			s.enqueue(t)
		}
	}
}

// yieldsTo reports whether what is kept for a shape is not kept from another.
func (sh *shape) yieldsTo(o *shape) bool { return !sh.pool.served() && o.pool.served() }

// compareServed puts pools that have executors first.
func compareServed(a, b *pool) int {
	if a.served() != b.served() {
		if a.served() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.name, b.name)
}

// judgeUnserved withdraws an attempt that no executor can start while others wait for what it holds. again is when to
// look again.
func (s *State) judgeUnserved(t *task, a *attempt) (say event.Payload, again stamp) {
	p := t.spec.pool
	if p.served() || !t.shares() {
		return nil, 0
	}
	if at := max(a.dispatched.at, p.deserted, s.watching).plus(s.cfg.Unserved); s.now < at {
		return nil, at
	}
	if !s.coveted(t) {
		return nil, s.now.plus(s.cfg.Unserved)
	}
	return event.TaskFinished{
		Task: t.id, Attempt: a.n, Pool: p.name, Outcome: release.Error, Class: release.ClassInfraTimeout, Withdrawn: true,
		Reason: "withdrawn: pool " + p.name + " has no executor, and others wait for what it holds; it is given again in its turn",
	}, 0
}

// shares reports whether a task takes of something that tasks of other pools take of too.
func (t *task) shares() bool {
	return t.spec.demand.group != "" || t.spec.demand.lease.Wanted()
}

// coveted reports whether a task of a pool with executors waits for what a task holds.
func (s *State) coveted(t *task) bool {
	for _, b := range s.lane(t).shape.budgets {
		if slices.ContainsFunc(b.parked, func(sh *shape) bool { return sh.pool != t.spec.pool && sh.pool.served() }) {
			return true
		}
	}
	return s.leases.Coveted(t.ref(t.next()))
}
