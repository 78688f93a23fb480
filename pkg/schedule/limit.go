package schedule

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
)

// Limit is a limit or a weight that the installation gives. One that somebody sets counts instead, until it is unset.
type Limit struct {
	Of       event.LimitOf `yaml:"of"`       // group, pool, provider, weight-project, weight-owner
	Name     string        `yaml:"name"`     // of the group (PROJECT/GROUP, or GROUP in every project), pool, provider, project or owner
	Resource string        `yaml:"resource"` // of a pool or provider: cpu, gpu, memory, nodes, tasks
	Amount   float64       `yaml:"amount"`
}

// limitKey says what a limit is of.
type limitKey struct {
	of       event.LimitOf
	name     string
	resource string
}

// setting is the latest limit.set of its kind.
type setting struct {
	note
	amount float64
	unset  bool
}

// limits are what was set, over what the installation says.
type limits struct {
	installed map[limitKey]float64
	set       map[limitKey]setting
}

func newLimits(installed []Limit) limits {
	l := limits{installed: map[limitKey]float64{}, set: map[limitKey]setting{}}
	for _, i := range installed {
		l.installed[limitKey{i.Of, i.Name, i.Resource}] = max(0, i.Amount)
	}
	return l
}

// of returns a limit, if there is one.
func (l limits) of(k limitKey) (float64, bool) {
	if s, is := l.set[k]; is && !s.unset {
		return s.amount, true
	}
	f, is := l.installed[k]
	return f, is
}

// group returns the limit of a group: its own, else the one of its name in every project, else its definition's; 0 for
// none comes as false.
func (l limits) group(name string, defined int32) (float64, bool) {
	if f, is := l.of(limitKey{of: event.LimitGroup, name: name}); is {
		return f, true
	}
	if _, bare, scoped := strings.Cut(name, "/"); scoped {
		if f, is := l.of(limitKey{of: event.LimitGroup, name: bare}); is {
			return f, true
		}
	}
	return float64(defined), defined > 0
}

// weight is the share of a project or an owner beside others; 1 when nobody says otherwise.
func (l limits) weight(of event.LimitOf, name string) float64 {
	if f, is := l.of(limitKey{of: of, name: name}); is {
		return f
	}
	return 1
}

// applyLimit takes a limit.set. Everything that waits meets the new limits at the next decision.
func (s *State) applyLimit(e event.LimitSet, m mark) {
	k := limitKey{e.Of, e.Name, e.Resource}
	if e.Of != event.LimitPool && e.Of != event.LimitProvider {
		k.resource = ""
	}
	before, known := s.limits.set[k]
	if known && before.mark.seq >= m.seq {
		return
	}
	s.limits.set[k] = setting{note: note{mark: m, by: e.By, reason: clip(e.Reason)}, amount: max(0, e.Amount), unset: e.Unset}
	s.relimit()
}

// relimit lets every queue and every account meet the limits as they are now.
func (s *State) relimit() {
	for _, b := range s.budgets {
		s.readLimits(b)
	}
	for _, b := range s.budgets {
		s.unpark(b)
	}
	for _, p := range s.pools {
		p.reweigh(s.limits)
		s.touchPool(p)
	}
	s.touchUnsent()
}

// touchUnsent marks the tasks of which something was decided and not sent: it may be wrong by now.
func (s *State) touchUnsent() {
	for _, w := range s.wants {
		if w.task != nil {
			s.touch(w.task)
		}
	}
}
