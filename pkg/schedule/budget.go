package schedule

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
)

// budget is something of which there is only so much: a concurrency group, or what a pool or a provider has of each
// resource. What was decided and is no fact yet counts as used.
type budget struct {
	of       event.LimitOf
	name     string
	limits   [resources]cap // of a pool or provider
	used     amounts
	served   uint64   // attempts that have taken of it
	parked   []*shape // that wait for it
	reserved *shape   // that was passed over long enough: what it needs is kept for it
}

// cap is a limit of one resource, if there is one.
type cap struct {
	set    bool
	amount amount
}

func (s *State) budget(of event.LimitOf, name string) *budget {
	k := limitKey{of: of, name: name}
	b := s.budgets[k]
	if b == nil {
		b = &budget{of: of, name: name}
		s.readLimits(b)
		s.budgets[k] = b
	}
	return b
}

func (s *State) readLimits(b *budget) {
	if b.of == event.LimitGroup {
		return // its limit depends on the definition that asks
	}
	for r := range resources {
		f, is := s.limits.of(limitKey{b.of, b.name, r.String()})
		b.limits[r] = cap{is, amountOf(f)}
	}
}

// cap is how much a shape may have of a budget's resource, together with all others.
func (s *State) cap(b *budget, sh *shape, r resource) cap {
	if b.of == event.LimitProvider && b.name == sh.form.made && r == nodes && !b.limits[r].set {
		return cap{true, amountOf(float64(sh.form.madeLimit))}
	}
	if b.of != event.LimitGroup {
		return b.limits[r]
	}
	if r != attempts {
		return cap{}
	}
	f, is := s.limits.group(b.name, sh.form.groupLimit)
	return cap{is, amountOf(f)}
}

// lacks finds the first resource of which a budget has too little left for one more attempt of a shape; more is what
// is to be kept for somebody else.
func (s *State) lacks(b *budget, sh *shape, more amounts) (resource, bool) {
	for r := range resources {
		need := sh.form.amounts[r]
		if c := s.cap(b, sh, r); need > 0 && c.set && b.used[r]+more[r] > c.amount-need {
			return r, true
		}
	}
	return 0, false
}

// fits reports whether a budget has room for one more attempt of a shape.
func (s *State) fits(b *budget, sh *shape) bool {
	var kept amounts
	if other := b.reserved; other != nil && other != sh && !other.yieldsTo(sh) {
		kept = other.form.amounts
	}
	_, lacks := s.lacks(b, sh, kept)
	return !lacks
}

// possible reports whether a budget could ever have room for a shape.
func (s *State) possible(b *budget, sh *shape) bool {
	for r := range resources {
		if c := s.cap(b, sh, r); c.set && sh.form.amounts[r] > c.amount {
			return false
		}
	}
	return true
}

// exceeds reports whether a task that holds of its budgets has a share in more than there is: a limit was lowered.
func (s *State) exceeds(t *task) bool {
	return t.holding && slices.ContainsFunc(s.lane(t).shape.budgets, func(b *budget) bool {
		return s.exceeded(b, s.lane(t).shape)
	})
}

func (s *State) exceeded(b *budget, sh *shape) bool {
	for r := range resources {
		if c := s.cap(b, sh, r); c.set && sh.form.amounts[r] > 0 && b.used[r] > c.amount {
			return true
		}
	}
	return false
}

// blocker is the first budget that has no room for a shape, or nil. A shape keeps what was reserved for it only as far
// as it comes: so no two wait for what the other keeps.
func (s *State) blocker(sh *shape) *budget {
	var found *budget
	for i, b := range sh.budgets {
		switch {
		case found != nil:
			s.giveUp(b, sh)
		case !s.fits(b, sh):
			found = b
			s.passOver(i, sh)
		}
	}
	return found
}

// passOver counts what a budget has given to others since a shape began to wait for it, and in the end keeps what the
// shape needs. The places of a group are all of one size: there the turns are enough.
func (s *State) passOver(i int, sh *shape) {
	b := sh.budgets[i]
	switch {
	case b.of == event.LimitGroup, !s.possible(b, sh):
		sh.since[i] = 0
		s.giveUp(b, sh)
	case sh.since[i] == 0:
		sh.since[i] = b.served + 1
	case (b.reserved == nil || b.reserved.yieldsTo(sh)) && b.served+1-sh.since[i] >= uint64(s.cfg.PassOver):
		b.reserved = sh
	}
}

// giveUp lets others have what was kept for a shape.
func (s *State) giveUp(b *budget, sh *shape) {
	if b.reserved == sh {
		b.reserved = nil
		s.unpark(b)
	}
}

// park takes a shape out of its pool's choice until the budget changes.
func (s *State) park(sh *shape, b *budget) {
	sh.close()
	sh.blocked = b
	b.parked = append(b.parked, sh)
}

// unpark lets all that wait for a budget try again.
func (s *State) unpark(b *budget) {
	for _, sh := range b.parked {
		sh.blocked = nil
		sh.open()
		s.touchPool(sh.pool)
	}
	clear(b.parked)
	b.parked = b.parked[:0]
}

// reopen lets one shape try again.
func (s *State) reopen(sh *shape) {
	if b := sh.blocked; b != nil {
		sh.blocked = nil
		b.parked = slices.DeleteFunc(b.parked, func(o *shape) bool { return o == sh })
	}
	sh.open()
	s.touchPool(sh.pool)
}

// emptied takes a shape in which nothing waits any more from where it stood.
func (s *State) emptied(sh *shape) {
	s.reopen(sh) // which leaves what is empty alone
	sh.close()
	for i, b := range sh.budgets {
		sh.since[i] = 0
		s.giveUp(b, sh)
	}
}

// use takes of every budget of a shape, or gives back.
func (s *State) use(sh *shape, takes bool) {
	for i, b := range sh.budgets {
		for r, a := range sh.form.amounts {
			if takes {
				b.used[r] += a
			} else {
				b.used[r] -= a
			}
		}
		if takes {
			b.served++
			sh.since[i] = 0
			s.giveUp(b, sh)
			s.over = s.over || s.exceeded(b, sh)
		} else if len(b.parked) > 0 {
			s.unpark(b)
		}
	}
}
