package lease

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// judgePlace looks at a place itself: must it be cleaned, checked, put in quarantine or taken out of it.
func (j *judgement) judgePlace() {
	s := &j.p.now
	if !s.known || s.spec.Removed || s.drain.on || len(s.live) > 0 || j.p.promise.token > s.token {
		return
	}
	switch {
	case s.quarantine.on:
		j.judgeQuarantine()
	case int(s.bad) >= j.t.cfg.Failures:
		j.quarantine(fmt.Sprintf("%d failures in a row; the last: %s", s.bad, s.complain))
	case s.dirty != "" && s.spec.Clean:
		j.maintain(TaskClean)
	case s.dirty != "":
	case s.spec.Health && (s.healthy.IsZero() || j.p.wanted):
		j.maintain(TaskHealth)
	}
}

// judgeQuarantine tries a place whose quarantine is over until it has succeeded often enough, or fails again.
func (j *judgement) judgeQuarantine() {
	s := &j.p.now
	until := j.t.due(j.p, span{number: s.change, quarantine: true}, s.until, j.t.cfg.Quarantine, j.now)
	switch {
	case !j.at(until):
	case s.bad > 0:
		j.quarantine("it failed again: " + s.complain)
	case s.dirty != "" && !s.spec.Clean:
		j.change(event.PlaceChanged{State: release.PlaceCleanupPending, Reason: s.dirty})
	case s.dirty != "":
		j.maintain(TaskClean)
	case s.spec.Health && int(s.good) < j.t.cfg.Successes:
		j.maintain(TaskHealth)
	default:
		j.change(event.PlaceChanged{State: release.PlaceFree, Reason: fmt.Sprintf("%d successes in a row", s.good)})
	}
}

func (j *judgement) quarantine(why string) {
	j.change(event.PlaceChanged{
		State: release.PlaceQuarantined, Until: j.now.Add(j.t.cfg.Quarantine).UTC(), Reason: why,
	})
}

func (j *judgement) change(c event.PlaceChanged) {
	c.Provider, c.Place, c.Change = j.p.name.provider, j.p.name.place, j.p.now.change+1
	j.fleet(c)
}

// maintain leases the place to an attempt of its provider's plan, once the last failure is long enough ago.
func (j *judgement) maintain(task release.TaskID) {
	s := &j.p.now
	if wait := j.t.backoff(s.tries); !j.now.Before(s.failed) && !j.at(s.failed.Add(wait)) {
		return
	}
	token := s.token + 1
	j.fleet(event.LeaseGranted{
		Provider: j.p.name.provider, Place: j.p.name.place, Token: token, Until: j.now.Add(j.t.cfg.Unstarted).UTC(),
		Holder: event.AttemptRef{Run: PlaceRun(j.p.name.provider, j.p.name.place), Task: task, Attempt: int32(token)},
		Reason: joined(string(task), s.dirty),
	})
}

func (t *Table) backoff(tries int32) time.Duration {
	if tries == 0 {
		return 0
	}
	wait := t.cfg.Wait
	for ; tries > 1 && wait < t.cfg.MaxWait; tries-- {
		wait *= 2
	}
	return min(wait, t.cfg.MaxWait)
}

// judgeMaintenance looks at a lease under which a place is cleaned or checked.
func (j *judgement) judgeMaintenance(h *hold) {
	s := &j.p.now
	switch {
	case !h.dispatched:
		j.say = append(j.say, Intent{Run: h.holder.Run, Payload: event.TaskDispatched{
			Task: h.holder.Task, Attempt: h.holder.Attempt, Pool: s.spec.Pool, Plan: release.Digest(s.spec.Plan),
			Reason: joined(string(h.holder.Task)+" "+j.p.name.String(), s.dirty),
			Lease: release.Lease{
				Provider: j.p.name.provider, Until: h.until,
				Places: []release.Held{{Place: j.p.name.place, Token: h.token, Address: s.spec.Address}},
			},
		}})
	case !h.started:
		if j.at(j.due(h, h.until, j.t.cfg.Unstarted)) {
			j.end(h, "no executor of pool "+s.spec.Pool+" took it within "+j.t.cfg.Unstarted.String())
		}
	default:
		j.judgeTenure(h)
	}
}
