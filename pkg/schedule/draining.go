package schedule

import (
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// draining is what an executor said when it was told to end.
type draining struct {
	at       stamp
	deadline stamp
	reason   string
}

// maxDrains bounds what is remembered of executors that are gone.
const maxDrains = 256

// applyDraining takes an executor out of its pool's slots. What it has in hand is judged anew. The deadline is of the
// executor's clock; what counts is how long it left when it was said.
func (s *State) applyDraining(e event.ExecutorDraining, m mark, left time.Duration) {
	if _, known := s.drains[e.Key()]; known {
		return
	}
	if len(s.drains) >= maxDrains {
		for key, d := range s.drains {
			if s.clock.since(max(d.at, d.deadline)) > time.Hour {
				delete(s.drains, key)
			}
		}
	}
	s.drains[e.Key()] = draining{at: m.at, deadline: m.at.plus(max(left, 0)), reason: clip(e.Reason)}
	if x := s.fleet[e.Key()]; x != nil {
		s.hear(x)
		for _, h := range x.inHand() {
			s.touch(h.task)
		}
	}
}

// leaving reports whether an executor takes no more work.
func (s *State) leaving(x *executor) bool {
	_, drains := s.drains[x.key()]
	return drains || x.beat.Draining
}

// leaves says why an executor takes no more work.
func (s *State) leaves(x *executor) string {
	if d, drains := s.drains[x.key()]; drains && x.beat.Reason == "" {
		return d.reason
	}
	return x.beat.Reason
}

// stranded says why an attempt will not end where it runs: its executor ends before, as far as anybody can tell. So its
// work moves at once, and not when the executor is gone. Otherwise it returns when to look again. Who holds places is left
// to its executor: they cannot be cleaned while it uses them.
func (s *State) stranded(t *task, a *attempt) (reason string, again stamp) {
	d, drains := s.drains[a.executor.key()]
	if !drains {
		return "", 0
	}
	if d.deadline > s.now {
		if again := s.endsBy(t, a, d.deadline); again > 0 {
			return "", again
		}
	}
	if patience := d.deadline.plus(s.cfg.StopWithin); t.known() && t.spec.demand.lease.Wanted() && s.now < patience {
		return "", patience
	}
	return "executor " + a.executor.name + " is draining" + because(d.reason) + " and does not end it in time", 0
}

// endsBy reports whether an attempt is expected to have ended at a moment, by what its task took before, or must have, by
// its timeouts: it returns until when that may be believed, or zero.
func (s *State) endsBy(t *task, a *attempt, at stamp) stamp {
	if end := s.expectedEnd(t, a); end > 0 && end <= at {
		return end
	}
	if t.timeouts().Command > 0 && s.bounds(t, a) <= at {
		return at
	}
	return 0
}
