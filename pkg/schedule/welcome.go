package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// unwelcome says why a task gets no executor and no place: the installation keeps its pool, or the provider of its places,
// from changes that are trusted as little as the run's. It is no wait: no time makes the change another one.
func (s *State) unwelcome(t *task) string {
	if t.run.planned == nil {
		return ""
	}
	trust := t.run.trust()
	if accepts, limited := s.cfg.Accepts[t.spec.pool.name]; limited && !slices.Contains(accepts, trust) {
		return fmt.Sprintf("cannot run: pool %s accepts %s changes only, and this change is %s", t.spec.pool.name, levels(accepts), trust)
	}
	l := t.spec.demand.lease
	if lends, limited := s.cfg.Lends[l.Provider]; limited && l.Wanted() && l.Limit == 0 && !slices.Contains(lends, trust) {
		return fmt.Sprintf("cannot run: provider %s lends its places to %s changes only, and this change is %s", l.Provider, levels(lends), trust)
	}
	return s.unheld(t.spec.pool, trust)
}

// trust is how far the run's change is trusted, as the builder froze it; what nobody said is untrusted.
func (r *run) trust() release.Trust {
	if r.planned == nil {
		return release.TrustUntrusted
	}
	return cmp.Or(r.planned.Trust, release.TrustUntrusted)
}

func levels(of []release.Trust) string {
	if len(of) == 0 {
		return "no"
	}
	names := make([]string, len(of))
	for i, t := range of {
		names[i] = string(t)
	}
	return strings.Join(names, " and ")
}

// unheld says why no executor of a pool takes a change, as they say themselves. A pool whose executors are not known yet, or of
// which one takes it, is left to them: each refuses what it does not accept or cannot hold back.
func (s *State) unheld(p *pool, trust release.Trust) string {
	var first *executor
	for _, x := range s.fleet {
		if x.pool != p || !s.alive(x) {
			continue
		}
		if x.refuses(trust) == "" {
			return ""
		}
		if first == nil || x.name < first.name {
			first = x
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("cannot run: no executor of pool %s takes %s changes; %s says: %s", p.name, trust, first.name, clip(first.refuses(trust)))
}

// refuses says why an executor takes no change that is trusted so far, or "".
func (x *executor) refuses(trust release.Trust) string {
	switch accepts := x.beat.Accepts; {
	case len(accepts) > 0 && !slices.Contains(accepts, trust):
		return fmt.Sprintf("it accepts %s changes only", levels(accepts))
	case trust.Covers(release.TrustTrusted):
		return ""
	}
	return x.beat.Isolation.Refusal
}
