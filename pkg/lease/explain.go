package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Place is what there is to say about a place.
type Place struct {
	Provider string    `json:"provider"`
	Place    string    `json:"place"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Holders  []Holder  `json:"holders,omitempty"`
	Waiting  int       `json:"waiting,omitempty"` // asks that it would do for
	Pool     string    `json:"pool,omitempty"`
	Address  string    `json:"address,omitempty"`
	Capacity int32     `json:"capacity,omitempty"`
	Token    int64     `json:"token"`
	Change   int64     `json:"change"`          // number of the last change
	Clean    bool      `json:"clean,omitempty"` // it is cleaned after each use
}

// Holder is who has a place.
type Holder struct {
	event.AttemptRef
	Token  int64     `json:"token"`
	Shared bool      `json:"shared,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Most   time.Time `json:"most,omitzero"`  // the longest that it is held, whatever happens; zero when nothing bounds that
	Kept   bool      `json:"kept,omitempty"` // its attempt has ended; it is left for a person
}

// State is what a place is in: one of release.PlaceState, or one of these.
type State string

// The states of a place that somebody holds.
const (
	Free                 = State(release.PlaceFree)
	CleanupPending       = State(release.PlaceCleanupPending)
	Quarantined          = State(release.PlaceQuarantined)
	Drained              = State(release.PlaceDrained)
	Leased         State = "held"
	Kept           State = "kept"
	Cleaning       State = "cleaning"
	Checking       State = "checking"
	Removed        State = "removed"
)

// Places tells about every place, by name.
func (t *Table) Places() []Place {
	out := make([]Place, 0, len(t.order))
	for _, p := range t.order {
		if p.now.known {
			out = append(out, t.show(p))
		}
	}
	return out
}

func (t *Table) show(p *place) Place {
	s, v := &p.now, t.brief(p)
	for i := range s.live {
		h := &s.live[i]
		v.Holders = append(v.Holders, Holder{
			AttemptRef: h.holder, Token: h.token, Shared: h.shared, Since: h.at, Until: h.end(), Most: t.longest(h), Kept: h.kept(),
		})
	}
	for _, c := range t.queue {
		if c.short && slices.Contains(t.matching(c), p) {
			v.Waiting++
		}
	}
	return v
}

// brief is show without the lists.
func (t *Table) brief(p *place) Place {
	s := &p.now
	v := Place{
		Provider: p.name.provider, Place: p.name.place, Pool: s.spec.Pool, Address: s.spec.Address,
		Capacity: s.spec.Capacity, Token: s.token, Change: s.change, Since: s.since, Clean: s.spec.Clean,
	}
	v.describe(s)
	return v
}

// longest is when a lease ends at the latest.
func (t *Table) longest(h *hold) time.Time {
	switch limit := t.tenure(h); {
	case h.kept():
		return h.finished.kept
	case limit > 0:
		return t.most(h, limit).Add(t.cfg.Overrun)
	}
	return time.Time{}
}

func (h *hold) end() time.Time {
	if h.kept() {
		return h.finished.kept
	}
	return h.until
}

// describe finds the one state that matters most.
func (v *Place) describe(s *standing) {
	switch {
	case len(s.live) > 0:
		v.held(s)
	case s.spec.Removed:
		v.State, v.Reason = Removed, "the installation no longer offers it"
	case s.drain.on:
		v.State, v.Reason, v.Since = Drained, said(s.drain), s.drain.at
	case s.quarantine.on:
		v.State, v.Reason, v.Since, v.Until = Quarantined, said(s.quarantine), s.quarantine.at, s.until
	case s.dirty != "" && !s.spec.Clean:
		v.State, v.Reason = CleanupPending, s.dirty+"; its provider has no command that cleans it: a person must release it"
	case s.dirty != "":
		v.State, v.Reason = CleanupPending, s.dirty
	default:
		v.State = Free
	}
	if s.complain != "" && len(s.live) == 0 && v.State != Quarantined {
		v.Reason = joined(v.Reason, s.complain)
	}
}

func (v *Place) held(s *standing) {
	h := &s.live[0]
	v.State, v.Until = Leased, h.end()
	v.Reason = "held by " + describe(h.holder)
	switch {
	case h.maintains() && h.holder.Task == TaskClean:
		v.State, v.Reason = Cleaning, s.dirty
	case h.maintains():
		v.State, v.Reason = Checking, "its health is checked"
	case h.kept():
		v.State, v.Reason = Kept, "kept for a person after "+describe(h.holder)
	case len(s.live) > 1:
		v.Reason = fmt.Sprintf("%s and %d more", v.Reason, len(s.live)-1)
	}
	if h.maintains() && !h.started {
		v.Reason += "; waits for an executor of pool " + s.spec.Pool
	}
	if s.drain.on {
		v.Reason = joined(v.Reason, "drained after that: "+said(s.drain))
	}
}

func said(n note) string {
	if n.by == "" {
		return n.reason
	}
	return joined("by "+n.by, n.reason)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
