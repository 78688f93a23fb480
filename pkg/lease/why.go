package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Explain says why an attempt that has asked still waits, with every place that would do; false when it does not ask.
func (t *Table) Explain(ref event.AttemptRef, now time.Time) (Wait, bool) {
	c := t.claims[ref]
	if c == nil {
		return Wait{}, false
	}
	w := t.wait(c)
	if w.Never || !c.short {
		return w, true
	}
	w.Ahead, w.Blocked, w.Before, w.Free = 0, nil, nil, 0
	for _, o := range t.queue {
		if o != c && o.short && compareClaims(o, c) < 0 && t.rivals(o, c) {
			w.Ahead++
			w.Before = append(w.Before, o.Ask)
		}
	}
	for _, p := range t.matching(c) {
		if p.now.of(ref) == nil && (!p.available(c.Request.Shared) || !t.fresh(p, c, now)) {
			w.Blocked = append(w.Blocked, t.show(p))
		} else {
			w.Free++
		}
	}
	if len(w.Blocked) > 0 {
		w.blame(c.Request, first(w.Blocked))
	}
	if w.Ahead > 0 {
		w.Reason += fmt.Sprintf("; %d before it", w.Ahead)
	}
	return w, true
}

// first is the place that is expected to be there first.
func first(places []Place) Place {
	return slices.MinFunc(places, func(a, b Place) int {
		switch {
		case a.Until.IsZero() == b.Until.IsZero():
			return a.Until.Compare(b.Until)
		case a.Until.IsZero():
			return 1
		default:
			return -1
		}
	})
}

func (t *Table) rivals(a, b *claim) bool {
	return slices.ContainsFunc(t.matching(b), func(p *place) bool { return slices.Contains(t.matching(a), p) })
}

// wait says in short why a claim cannot be met now.
func (t *Table) wait(c *claim) Wait {
	places, r := t.matching(c), c.Request
	switch {
	case len(places) == 0 && !t.registered(r.Provider):
		return Wait{Since: c.first, Reason: "no place of " + r.Provider + " is registered yet"}
	case len(places) < int(r.Count()):
		return Wait{Never: true, Since: c.first, Reason: never(r, len(places))}
	}
	w := Wait{Since: c.first, Reason: "waits for " + wanted(r)}
	for _, p := range places {
		if p.now.of(c.Holder) == nil && !p.available(r.Shared) {
			w.Blocked = []Place{t.brief(p)}
			w.blame(r, w.Blocked[0])
			return w
		}
	}
	w.Ahead = 1 // what would do is reserved, or is checked for somebody
	return w
}

func (w *Wait) blame(r release.LeaseRequest, p Place) {
	w.Since, w.Until = p.Since, p.Until
	w.Reason = fmt.Sprintf("waits for %s: %s is %s", wanted(r), p.Place, p.State)
	if p.Reason != "" {
		w.Reason += " (" + p.Reason + ")"
	}
}

func wanted(r release.LeaseRequest) string {
	if need := r.Count(); need > 1 {
		return fmt.Sprintf("%d places of %s at once", need, r.Provider)
	}
	return "a place of " + r.Provider
}

// never says why no waiting will help.
func never(r release.LeaseRequest, found int) string {
	kind, of := "places", ""
	if r.Shared {
		kind = "places that can be shared"
	}
	if len(r.Places) > 0 {
		of = fmt.Sprintf(" named %q", r.Places)
	}
	return fmt.Sprintf("cannot lease %d %s of %s%s: it has %d; ask for fewer, or let the installation offer more",
		r.Count(), kind, r.Provider, of, found)
}
