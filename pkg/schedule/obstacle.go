package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
)

// obstacle is the first condition that keeps a task that is ready from being dispatched, who could change that, and when
// that is expected.
type obstacle struct {
	reason   string
	since    stamp
	until    stamp // when it ends by itself
	holders  []Holder
	expected forecast // when the task is expected to start
}

// obstacle names what the next decision will stumble over, in the order in which it looks.
func (s *State) obstacle(t *task) obstacle {
	p, sh := t.spec.pool, s.lane(t).shape
	if t.leasing {
		return obstacle{reason: "its places are being granted", expected: forecast{s.now, byItself}}
	}
	if p.drained() {
		return obstacle{
			reason: "pool " + p.name + " is drained" + by(p.drain), since: p.drain.mark.at,
			expected: forecast{why: "the pool is drained until somebody resumes it"},
		}
	}
	for _, b := range sh.budgets {
		if !s.fits(b, sh) {
			return s.shortage(t, sh, b)
		}
	}
	if sh.asking != nil && sh.blocked == s.places {
		return s.placeless(t, sh)
	}
	return s.turn(t)
}

// turn is the obstacle of who is only to wait for others.
func (s *State) turn(t *task) obstacle {
	p := t.spec.pool
	o := obstacle{reason: fmt.Sprintf("it waits for its turn among %d in pool %s: %d attempts are given to it, at most %d are (%d slots)",
		p.queued, p.name, p.holding, s.window(p), p.slots)}
	o.holders = s.holders(p)
	o.expected = s.foreseeSlot(p, append(s.given(p), s.ahead(t)...))
	return o
}

// shortage is the obstacle of who needs more of a budget than there is left.
func (s *State) shortage(t *task, sh *shape, b *budget) obstacle {
	r, lacks := s.lacks(b, sh, amounts{})
	if !lacks {
		first := b.reserved.head()
		return obstacle{
			reason:   fmt.Sprintf("what %s %s has left is kept for %s/%s, which has waited for longer", b.of, b.name, first.run.id, first.id),
			holders:  []Holder{s.holder(first)},
			expected: forecast{why: "it is not known when that one has had its turn"},
		}
	}
	all := s.holding(func(o *task) bool { return slices.Contains(s.lane(o).shape.budgets, b) })
	o := obstacle{holders: s.named(all), expected: s.foreseeBudget(b, r, sh, t), since: s.limited(b, r)}
	limit := s.cap(b, sh, r).amount
	switch {
	case !s.possible(b, sh):
		o.reason = fmt.Sprintf("it takes %s %s, and %s %s may use %s: it waits until that is raised", sh.form.amounts[r], r, b.of, b.name, limit)
	case b.of == event.LimitGroup:
		o.reason = fmt.Sprintf("group %s is full: %s of its attempts are given out, at most %s are", b.name, b.used[attempts], limit)
	default:
		o.reason = fmt.Sprintf("it takes %s %s: %s of %s that %s %s may use are taken", sh.form.amounts[r], r, b.used[r], limit, b.of, b.name)
	}
	o.reason += s.setter(b, r)
	return o
}

// placeless is the obstacle of who waits for a place, or behind somebody who does.
func (s *State) placeless(t *task, sh *shape) obstacle {
	w, asks := s.leases.Explain(sh.asking.ref(sh.attempt), s.now.time())
	if !asks {
		w = sh.wait
	}
	o := obstacle{reason: strings.Replace("it "+w.Reason, "it no ", "no ", 1), since: stampOf(w.Since), until: stampOf(w.Until)}
	if first := sh.asking; first != t {
		o.reason = fmt.Sprintf("it comes after %s/%s, which %s", first.run.id, first.id, w.Reason)
	}
	for _, p := range w.Blocked {
		for _, h := range p.Holders {
			if len(o.holders) < maxHolders {
				o.holders = append(o.holders, Holder{
					Run: h.Run, Task: h.Task, Attempt: h.Attempt, State: "holds " + p.Place, Since: h.Since, Until: h.Most,
					Ends: s.holderTenure(&p, &h).end.time(),
				})
			}
		}
	}
	o.expected = s.foreseePlaces(t, sh, w)
	return o
}

// setter says who set the limit of a budget, when somebody did.
func (s *State) setter(b *budget, r resource) string {
	if set, is := s.settingOf(b, r); is {
		return "; the limit was set" + by(set.note)
	}
	return ""
}

// limited is since when a limit is as it is; zero when it always was.
func (s *State) limited(b *budget, r resource) stamp {
	set, _ := s.settingOf(b, r)
	return set.mark.at
}

func (s *State) settingOf(b *budget, r resource) (setting, bool) {
	k := limitKey{of: b.of, name: b.name}
	if b.of != event.LimitGroup {
		k.resource = r.String()
	}
	set, is := s.limits.set[k]
	return set, is && !set.unset
}

// holding lists the tasks that hold a place in a window or budget, in a fixed order.
func (s *State) holding(of func(*task) bool) []*task {
	var out []*task
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		for _, t := range s.runs[id].list {
			if t.holding && of(t) {
				out = append(out, t)
			}
		}
	}
	return out
}

func (s *State) named(list []*task) []Holder {
	var out []Holder
	for _, t := range list[:min(len(list), maxHolders)] {
		out = append(out, s.holder(t))
	}
	return out
}

// ahead lists the tasks of its pool that are before one, as far as priority and age tell, in that order.
func (s *State) ahead(t *task) (out []*task) {
	for _, sh := range t.spec.pool.shapes {
		out = append(out, s.aheadIn(sh, t)...)
	}
	slices.SortFunc(out, compareTurns)
	return out
}

// aheadIn lists the same among those that ask for the same.
func (s *State) aheadIn(sh *shape, t *task) (out []*task) {
	for l := range sh.lanes() {
		for _, o := range l.tasks {
			if o.ready && o != t && compareTurns(o, t) < 0 {
				out = append(out, o)
			}
		}
	}
	slices.SortFunc(out, compareTurns)
	return out
}

func compareTurns(a, b *task) int {
	return cmp.Or(cmp.Compare(b.spec.priority, a.spec.priority), cmp.Compare(a.seq, b.seq))
}
