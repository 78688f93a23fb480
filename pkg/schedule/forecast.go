package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// forecast is when a task is expected to start, and what that rests on; of a start that nobody can tell, why.
type forecast struct {
	at  stamp // zero when nobody can tell
	why string
}

// What a forecast rests on.
const (
	byHabit  = "by what the tasks before it took when they last succeeded"
	byBounds = "at the latest, by the timeouts of the tasks before it"
	byItself = "it is next"
)

// tenure is a part of something scarce, and when whoever has it gives it back.
type tenure struct {
	size   amount
	end    stamp  // zero when nobody can tell
	latest bool   // that is the last moment for it, not the usual one
	why    string // nobody can tell
}

// turnOf is what a task takes that comes before another.
type turnOf struct {
	need amount
	took pastime
}

// pastime is how long a task takes: as long as when it last succeeded, or no longer than its timeouts let it.
type pastime struct {
	took   time.Duration // zero when nobody can tell
	latest bool
	why    string
}

// foresee plays what is free, what is held until when, and who comes before, up to a task that needs some of it itself.
func (s *State) foresee(free, need amount, held []tenure, before []turnOf) forecast {
	slices.SortStableFunc(held, compareTenures)
	out, now := forecast{why: byItself}, s.now
	for i := range len(before) + 1 {
		next := turnOf{need: need}
		if i < len(before) {
			next = before[i]
		}
		for free < next.need {
			if len(held) == 0 {
				return forecast{why: "there is not as much of it as is asked for"}
			}
			first := held[0]
			if held = held[1:]; first.end == 0 {
				return forecast{why: first.why}
			}
			free, now = free+first.size, max(now, first.end)
			out.rest(first.latest)
		}
		free -= next.need
		if i < len(before) {
			held = hold(held, next.took.tenure(now, next.need))
		}
	}
	out.at = now
	return out
}

// rest notes what the forecast rests on: as soon as one part of it is a bound, all of it is.
func (f *forecast) rest(latest bool) {
	if latest || f.why == byBounds {
		f.why = byBounds
	} else {
		f.why = byHabit
	}
}

func (p pastime) tenure(from stamp, size amount) tenure {
	if p.took <= 0 {
		return tenure{size: size, why: p.why}
	}
	return tenure{size: size, end: from.plus(p.took), latest: p.latest}
}

// hold puts a tenure where it belongs.
func hold(list []tenure, one tenure) []tenure {
	i, _ := slices.BinarySearchFunc(list, one, compareTenures)
	return slices.Insert(list, i, one)
}

// compareTenures orders by the end; what nobody knows the end of comes last.
func compareTenures(a, b tenure) int {
	if (a.end == 0) != (b.end == 0) {
		return cmp.Compare(b.end, a.end)
	}
	return cmp.Compare(a.end, b.end)
}

// pastime is how long a task takes, as far as anybody can tell.
func (s *State) pastime(t *task) pastime {
	if took, known := s.typical(t); known {
		return pastime{took: max(took, 1)}
	}
	if bound := s.longest(t); bound > 0 {
		return pastime{took: bound, latest: true}
	}
	return pastime{why: fmt.Sprintf("%s/%s has not succeeded before, and has no timeout", t.run.id, t.id)}
}

// longest is how long an attempt may take in whole, by its timeouts or by the lease that it asks for; zero when nothing
// bounds it.
func (s *State) longest(t *task) time.Duration {
	bound := time.Duration(0)
	if limits := t.timeouts(); limits.Command > 0 {
		bound = s.bounds(t, &attempt{started: mark{at: 1}}).since(1)
	}
	if t.known() {
		if most := t.spec.demand.lease.For.Std(); most > 0 && (bound == 0 || most < bound) {
			bound = most
		}
	}
	return bound
}

// tenureOf is what a task holds that was given to its pool, and until when.
func (s *State) tenureOf(t *task, size amount) tenure {
	a := t.last()
	if a == nil || !a.running() {
		return s.pastime(t).tenure(s.now, size) // it is about to start
	}
	if end := s.expectedEnd(t, a); end > 0 {
		return tenure{size: size, end: end}
	}
	bound := s.longest(t)
	if bound == 0 {
		why := "has not succeeded before, and has no timeout"
		if _, known := s.typical(t); known {
			why = "takes longer than when it last succeeded, and has no timeout"
		}
		return tenure{size: size, why: fmt.Sprintf("%s/%s %s", t.run.id, t.id, why)}
	}
	end := a.started.at.plus(bound)
	if end <= s.now { // it is being stopped
		end = s.now.plus(s.cfg.Overrun + s.cfg.StopWithin)
	}
	return tenure{size: size, end: end, latest: true}
}

func (s *State) tenures(list []*task, size func(*task) amount) []tenure {
	out := make([]tenure, 0, len(list))
	for _, t := range list {
		out = append(out, s.tenureOf(t, size(t)))
	}
	return out
}

func (s *State) turns(list []*task, need amount) []turnOf {
	out := make([]turnOf, 0, len(list))
	for _, t := range list {
		out = append(out, turnOf{need, s.pastime(t)})
	}
	return out
}

// foreseeSlot is when a slot of a pool is free for a task before which others stand in it.
func (s *State) foreseeSlot(p *pool, before []*task) forecast {
	if p.slots == 0 {
		return forecast{why: "pool " + p.name + " has no live executor that takes work"}
	}
	one := amountOf(1)
	running := s.holding(func(o *task) bool {
		a := o.last()
		return o.spec.pool == p && a != nil && a.running() && a.executor != nil && !s.leaving(a.executor)
	})
	free := max(0, p.slots-int32(len(running)))
	return s.foresee(amount(free)*one, one, s.tenures(running, func(*task) amount { return one }), s.turns(before, one))
}

// given lists the tasks that were given to a pool and that no executor has yet, the first first.
func (s *State) given(p *pool) []*task {
	out := s.holding(func(o *task) bool {
		a := o.last()
		return o.spec.pool == p && a != nil && !a.running() && a.dispatched.set()
	})
	slices.SortFunc(out, func(a, b *task) int { return cmp.Compare(a.last().dispatched.seq, b.last().dispatched.seq) })
	return out
}

// foreseeBudget is when as much of a budget is free as a shape needs of a resource.
func (s *State) foreseeBudget(b *budget, r resource, sh *shape, t *task) forecast {
	if !s.possible(b, sh) {
		return forecast{why: "it never fits into the limit as it is"}
	}
	need, limit := sh.form.amounts[r], s.cap(b, sh, r).amount
	held := s.holding(func(o *task) bool { return slices.Contains(s.lane(o).shape.budgets, b) })
	size := func(o *task) amount { return s.lane(o).shape.form.amounts[r] }
	return s.foresee(limit-b.used[r], need, s.tenures(held, size), s.turns(s.aheadIn(sh, t), need))
}

// refers finds the task of an attempt, if it is known.
func (s *State) refers(ref event.AttemptRef) *task {
	h, a := s.lookup(ref)
	if a == nil {
		return nil
	}
	return h.task
}
