package schedule

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// A scheduler says a heartbeat of its own and hears it through the bus. While that does not come back it is blind, and the
// silence of executors says nothing about them: it counts only as far as the scheduler has heard itself.

// echo is what came back of a scheduler's own heartbeats.
type echo struct {
	fresh  bool  // one came since the last decision
	number int64 // of the newest
	heard  stamp // of the decision that first knew of it
}

// hearScheduler takes a scheduler's heartbeat. Whoever's it is, somebody decides.
func (s *State) hearScheduler(beat event.SchedulerHeartbeat, e event.Event) {
	at := stampOf(e.Stored)
	s.attended = max(s.attended, at)
	if beat.Scheduler != s.cfg.Self || beat.Number <= s.echo.number {
		return
	}
	s.echo.fresh, s.echo.number = true, beat.Number
	s.time.beats.note(stampOf(e.Time), at)
}

// listen notes that the scheduler hears itself, and reports whether it does again after a while in which it did not.
func (s *State) listen(now stamp) (again bool) {
	if s.cfg.Self == "" || !s.echo.fresh {
		return false
	}
	again = s.echo.heard == 0 || now.since(s.echo.heard) >= s.cfg.LostAfter
	s.echo.fresh, s.echo.heard = false, now
	return again
}

// hearing is the moment up to which silence is silence: everything that was said before it was heard.
func (s *State) hearing() stamp {
	if s.cfg.Self == "" {
		return s.now
	}
	return s.echo.heard
}

// Blind reports for how long a scheduler has not heard itself through the bus, when that is too long to tell who lives.
func (s *State) Blind(now time.Time) (time.Duration, bool) {
	if s.cfg.Self == "" {
		return 0, false
	}
	since := max(stampOf(now), 1).since(s.time.own(max(s.echo.heard, s.began)))
	return max(since, 0), s.echo.heard == 0 || since >= s.cfg.LostAfter
}

// disconnect is how long nobody needs to vouch for a running attempt before it counts as lost: as its task says, or its
// pool's configuration. An executor that was not heard since the scheduler hears again has time to come back.
func (s *State) disconnect(t *task, x *executor) time.Duration {
	out := s.silentAfter(x)
	if t.timeouts().Disconnect > 0 {
		return max(out, t.timeouts().Disconnect.Std())
	}
	return max(out, s.cfg.Disconnect[x.pool.name])
}

// silentAfter is how long an executor may say nothing.
func (s *State) silentAfter(x *executor) time.Duration {
	if x.awaited {
		return max(s.cfg.LostAfter, s.cfg.Return)
	}
	return s.cfg.LostAfter
}

// silence says, for people, what is not heard of a running attempt; "" when it is heard.
func (s *State) silence(t *task) string {
	a := t.last()
	if a == nil || a.executor == nil {
		return ""
	}
	if s.cfg.Self != "" && s.now.since(s.echo.heard) >= s.cfg.LostAfter {
		return "; this scheduler is blind: it has not heard itself through the bus for " +
			s.now.since(max(s.echo.heard, s.began)).Round(time.Second).String() + ", and declares nobody lost"
	}
	at := a.executor.running[held{t, a.n}]
	quiet := s.hearing().since(at)
	if at == 0 || quiet < s.cfg.LostAfter {
		return ""
	}
	return fmt.Sprintf("; it has said nothing of it for %s, and the attempt counts as lost after %s",
		quiet.Round(time.Second), s.disconnect(t, a.executor))
}
