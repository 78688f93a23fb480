package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// Quota is one limit or weight as it is now, and what is made of it.
type Quota struct {
	Of       event.LimitOf `json:"of"`
	Name     string        `json:"name"`
	Resource string        `json:"resource,omitempty"` // of a pool or provider
	Limited  bool          `json:"limited"`            // without a limit only what is used is of interest
	Amount   float64       `json:"amount"`             // the limit, or the weight
	Used     float64       `json:"used"`
	Waiting  int           `json:"waiting"`        // tasks that it keeps from starting
	From     string        `json:"from,omitempty"` // who says so: "set", "installation" or "definition"
	By       string        `json:"by,omitempty"`   // who set it
	Reason   string        `json:"reason,omitempty"`
	Since    time.Time     `json:"since,omitzero"`
}

// Quotas lists every limit and weight that is set, and every concurrency group that is in use.
func Quotas(s *State) []Quota {
	known := map[limitKey]bool{}
	for k := range s.limits.installed {
		known[k] = true
	}
	for k, set := range s.limits.set {
		if !set.unset {
			known[k] = true
		}
	}
	for k, b := range s.budgets {
		if b.of == event.LimitGroup && (b.used[attempts] > 0 || b.waiting() > 0) {
			known[k] = true
		}
	}
	out := make([]Quota, 0, len(known))
	for k := range known {
		out = append(out, s.quota(k))
	}
	slices.SortFunc(out, func(a, b Quota) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Resource, b.Resource))
	})
	return out
}

func (s *State) quota(k limitKey) Quota {
	q := Quota{Of: k.of, Name: k.name, Resource: k.resource}
	q.Amount, q.Limited = s.limits.of(k)
	switch set, is := s.limits.set[k]; {
	case is && !set.unset:
		q.From, q.By, q.Reason, q.Since = "set", set.by, set.reason, set.mark.at.time()
	case q.Limited:
		q.From = "installation"
	}
	if b := s.budgets[limitKey{of: k.of, name: k.name}]; b != nil {
		s.measure(&q, b)
	}
	return q
}

// measure adds what is used of a budget. A group's limit may be its definition's: the lowest that waits or runs counts.
func (s *State) measure(q *Quota, b *budget) {
	r, known := resourceNamed(q.Resource)
	if b.of == event.LimitGroup {
		r, known = attempts, true
		if defined := b.defined(s.pools); !q.Limited && defined > 0 {
			q.Limited, q.Amount, q.From = true, float64(defined), "definition"
		}
	}
	if known {
		q.Used, q.Waiting = b.used[r].float(), b.waiting()
	}
}

// waiting counts the tasks that wait for a budget.
func (b *budget) waiting() int {
	n := 0
	for _, sh := range b.parked {
		for l := range sh.lanes() {
			n += len(l.tasks)
		}
	}
	return n
}

// defined is the limit of a group that definitions give.
func (b *budget) defined(pools map[string]*pool) int32 {
	var least int32
	for _, p := range pools {
		for f := range p.shapes {
			if f.group == b.name && f.groupLimit > 0 && (least == 0 || f.groupLimit < least) {
				least = f.groupLimit
			}
		}
	}
	return least
}
