package schedule

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// foreseePlaces is when a task has the places that it asks for: those that are held come back one by one, and who asked
// before it takes of them first.
func (s *State) foreseePlaces(t *task, sh *shape, w lease.Wait) forecast {
	if w.Never {
		return forecast{why: "no place that there is will ever do"}
	}
	one := amountOf(1)
	held := make([]tenure, 0, len(w.Blocked))
	for i := range w.Blocked {
		one := s.placeTenure(&w.Blocked[i], t.spec.demand.lease.Shared)
		held = append(held, one)
	}
	var before []turnOf
	for _, ask := range w.Before {
		turn := turnOf{need: one * amount(ask.Request.Count()), took: pastime{why: string(ask.Holder.Run) + "/" + string(ask.Holder.Task) + " is not known"}}
		if o := s.runs[ask.Holder.Run]; o != nil && o.tasks[ask.Holder.Task] != nil {
			turn.took = s.pastime(o.tasks[ask.Holder.Task])
		}
		before = append(before, turn)
	}
	need := one * amount(t.spec.demand.lease.Count())
	if sh.asking != t {
		before = append(before, turnOf{need, s.pastime(sh.asking)})
	}
	before = append(before, s.turns(s.aheadIn(sh, t), need)...)
	return s.foresee(one*amount(w.Free), need, held, before)
}

// placeTenure is until when a place cannot be had.
func (s *State) placeTenure(p *lease.Place, shared bool) tenure {
	out := tenure{size: amountOf(1)}
	name := p.Provider + "/" + p.Place
	switch {
	case len(p.Holders) > 0:
		out = s.heldPlace(p, shared)
	case p.State == lease.Quarantined && !p.Until.IsZero():
		out.end = stampOf(p.Until)
	case p.State == lease.CleanupPending && p.Clean:
		return s.cleaned(p, tenure{size: out.size, end: s.now})
	case p.State == lease.Free: // it is kept for who asked before, or checked for somebody
		out.end = s.now
	default:
		out.why = name + " is " + string(p.State) + because(p.Reason)
	}
	if out.end != 0 && out.end < s.now {
		out.end = s.now
	}
	return out
}

// heldPlace is until when a place is held: by all of its holders, or where it is shared until the first of them goes.
func (s *State) heldPlace(p *lease.Place, shared bool) tenure {
	var found *tenure
	for i := range p.Holders {
		one := s.holderTenure(p, &p.Holders[i])
		if c := 0; found != nil {
			if c = compareTenures(one, *found); (c < 0) != shared {
				continue
			}
		}
		found = &one
	}
	return *found
}

// holderTenure is until when one holder has a place. One that is used is cleaned before anybody else has it.
func (s *State) holderTenure(p *lease.Place, h *lease.Holder) tenure {
	out := tenure{size: amountOf(1), why: p.Provider + "/" + p.Place + " is " + string(p.State) + because(p.Reason)}
	switch t := s.refers(h.AttemptRef); {
	case h.Kept:
		out.end = stampOf(h.Until)
	case t != nil && strings.HasPrefix(string(h.Run), release.PlaceRuns):
		if took, known := s.typical(t); known {
			out.end = max(stampOf(h.Since).plus(took), s.now)
		}
		return out
	case t != nil && t.last() != nil && t.last().n == h.Attempt && t.known():
		out = s.tenureOf(t, out.size)
	}
	if most := stampOf(h.Most); most != 0 && (out.end == 0 || most < out.end && out.latest) {
		out.end, out.latest = most, true
	}
	return s.cleaned(p, out)
}

// cleaned adds to a tenure what it takes to clean the place, as far as that is known.
func (s *State) cleaned(p *lease.Place, out tenure) tenure {
	if !p.Clean || out.end == 0 {
		return out
	}
	if r := s.runs[lease.PlaceRun(p.Provider, p.Place)]; r != nil && r.tasks[lease.TaskClean] != nil {
		if took, known := s.typical(r.tasks[lease.TaskClean]); known {
			out.end = out.end.plus(took)
		}
	}
	return out
}
