package lease

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/release"
)

// staleAsk is after how long an ask that was not made again keeps nobody from a place any more.
const staleAsk = 10 * time.Minute

// choose finds the places that a claim still needs, or reports that there are too few: all or none.
func (t *Table) choose(c *claim, has int, now time.Time) (chosen []*place, short bool) {
	need := int(c.Request.Count()) - has
	if !t.supplied(c.Request.Provider) {
		return nil, true
	}
	var ready, stale []*place
	for _, p := range t.matching(c) {
		if p.now.of(c.Holder) != nil || !p.available(c.Request.Shared) || t.reserved(p, c, now) {
			continue
		}
		if t.fresh(p, c, now) {
			ready = append(ready, p)
		} else {
			stale = append(stale, p)
		}
	}
	if len(ready)+len(stale) < need {
		return nil, true
	}
	slices.SortStableFunc(ready, func(a, b *place) int { return cmp.Compare(a.load(), b.load()) })
	if len(ready) >= need {
		return ready[:need], false
	}
	for _, p := range stale[:need-len(ready)] {
		p.wanted = true // a check of it comes first
		t.touch(p)
	}
	return nil, true
}

// load orders places that will do: shared ones are filled before others are begun, then the one that was free longest.
func (p *place) load() int64 {
	if len(p.now.live) > 0 {
		return -int64(len(p.now.live)) - 1<<62
	}
	return p.now.since.UnixNano()
}

// supply is whether a provider has anything available at all: most asks that wait need no closer look.
type supply struct {
	epoch uint64
	any   bool
}

func (t *Table) supplied(provider string) bool {
	s := t.supplies[provider]
	if s.epoch != t.epoch {
		s = supply{t.epoch, slices.ContainsFunc(t.of(provider), func(p *place) bool { return p.available(true) })}
		t.supplies[provider] = s
	}
	return s.any
}

// of lists the places of a provider, by name.
func (t *Table) of(provider string) []*place {
	i := t.first(provider)
	end := i
	for end < len(t.order) && t.order[end].name.provider == provider {
		end++
	}
	return t.order[i:end]
}

// first is where the places of a provider begin.
func (t *Table) first(provider string) int {
	i, _ := slices.BinarySearchFunc(t.order, provider, func(p *place, s string) int { return cmp.Compare(p.name.provider, s) })
	return i
}

// matching lists the places that will do for a claim, by name. Claims that name the same places share one list.
func (t *Table) matching(c *claim) []*place {
	if c.offer == t.offer {
		return c.places
	}
	r := c.Request
	list, known := t.matches[nameRequest(r)]
	if !known {
		for _, p := range t.of(r.Provider) {
			if p.offered(r) {
				list = append(list, p)
			}
		}
		t.matches[nameRequest(r)] = list
	}
	c.places, c.offer = list, t.offer
	return list
}

// nameRequest is the same for requests that name the same places.
func nameRequest(r release.LeaseRequest) string {
	return fmt.Sprintf("%s %t %q", r.Provider, r.Shared, r.Places)
}

// offered reports whether a place is one of those that a request names.
func (p *place) offered(r release.LeaseRequest) bool {
	s := &p.now
	return p.name.provider == r.Provider && s.known && !s.spec.Removed && (!r.Shared || s.spec.Capacity > 0) && named(r.Places, p.name.place)
}

func named(globs []string, place string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool {
		ok, err := doublestar.Match(g, place)
		return g == place || ok && err == nil
	})
}

// available reports whether a place could be leased now, but for its health check.
func (p *place) available(shared bool) bool {
	s := &p.now
	if !s.usable() || s.dirty != "" || p.promise.token > s.token {
		return false
	}
	if len(s.live) == 0 {
		return true
	}
	return shared && len(s.live) < int(s.spec.Capacity) && !slices.ContainsFunc(s.live, func(h hold) bool { return !h.shared })
}

// usable reports whether nothing but its holders and its cleaning keeps a place from being leased.
func (s *standing) usable() bool {
	return s.known && !s.spec.Removed && !s.quarantine.on && !s.drain.on
}

// coming reports whether a place will be free without a person's help.
func (s *standing) coming() bool { return s.usable() && (s.dirty == "" || s.spec.Clean) }

// reserved reports whether somebody whose turn is earlier waits for a place. A claim that cannot be met before a person,
// or the end of a quarantine, helps reserves nothing.
func (t *Table) reserved(p *place, c *claim, now time.Time) bool {
	for _, ahead := range t.queue {
		if ahead == c || compareClaims(ahead, c) > 0 {
			return false
		}
		if ahead.short && now.Sub(ahead.asked) < staleAsk && slices.Contains(t.matching(ahead), p) && t.satisfiable(ahead) {
			return true
		}
	}
	return false
}

func (t *Table) satisfiable(c *claim) bool {
	n := 0
	for _, p := range t.matching(c) {
		if p.now.coming() {
			n++
		}
	}
	return n >= int(c.Request.Count())
}

// fresh reports whether a place's last health check counts for a claim: it is recent, or made since the claim waits.
func (t *Table) fresh(p *place, c *claim, now time.Time) bool {
	s := &p.now
	if !s.spec.Health || len(s.live) > 0 { // who joins others trusts the check that they were given
		return true
	}
	age := now.Sub(s.healthy)
	return !s.healthy.IsZero() && (s.checked > c.heard || age < t.cfg.Fresh && age > -t.cfg.Fresh)
}
