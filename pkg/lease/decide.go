package lease

import (
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Intent is something that is to be said, of a run or of event.Fleet.
type Intent struct {
	Run     release.RunID
	Payload event.Payload
	wish    *wish
}

// wish is an intent until it has become a fact.
type wish struct {
	Intent
	id   string
	sent time.Time
}

// Living reports whether an executor's heartbeats name an attempt.
type Living func(event.AttemptRef) bool

// Decide says what follows from what is known, and when to ask again although nothing new was heard; it wants to be asked
// at least twice a minute. Asked again, it answers the same until Sent has been told, or the intents are facts.
func (t *Table) Decide(now time.Time, living Living) (intents []Intent, next time.Time) {
	t.look(now)
	t.Lapse(now)
	for _, p := range t.promises {
		next = earlier(next, p.promise.at.Add(t.cfg.Resend))
	}
	for _, p := range t.order {
		if p.touched || !p.wake.IsZero() && !now.Before(p.wake) {
			t.settle(p, now, living)
		}
		next = earlier(next, p.wake)
		for _, w := range p.wishes {
			if since := now.Sub(w.sent); !w.sent.IsZero() && since >= 0 && since < t.cfg.Resend {
				next = earlier(next, w.sent.Add(t.cfg.Resend))
				continue
			}
			intents = append(intents, Intent{w.Run, w.Payload, w})
		}
	}
	if !next.IsZero() {
		next = earlier(next, now.Add(gap/2))
	}
	return intents, next
}

// Sent tells that intents are on their way. Each is made again when it is no fact after Config.Resend.
func (t *Table) Sent(intents []Intent, now time.Time) {
	for _, i := range intents {
		if i.wish != nil {
			i.wish.sent = now
		}
	}
}

func (t *Table) touch(p *place) { p.touched = true }

// settle makes a place's wishes and alarm what the judgement on it says.
func (t *Table) settle(p *place, now time.Time, living Living) {
	p.touched = false
	j := &judgement{t: t, p: p, now: now, living: living}
	j.judge()
	p.forget()
	before := p.wishes
	p.wishes, p.wake = nil, j.wake
	for _, i := range j.say {
		w := &wish{Intent: i, id: identify(i.Run, i.Payload)}
		if k := slices.IndexFunc(before, func(o *wish) bool { return o.id == w.id }); k >= 0 {
			w.sent = before[k].sent
		}
		p.wishes = append(p.wishes, w)
	}
}

// judgement is what is to be done about one place now.
type judgement struct {
	t      *Table
	p      *place
	now    time.Time
	living Living
	say    []Intent
	wake   time.Time // when time alone changes it
}

// at reports whether a moment has come, and sets the alarm for it otherwise.
func (j *judgement) at(when time.Time) bool {
	if j.now.Before(when) {
		j.wake = earlier(j.wake, when)
		return false
	}
	return true
}

func (j *judgement) fleet(p event.Payload) {
	j.say = append(j.say, Intent{Run: event.Fleet, Payload: p})
}

// judge is the one place that decides about a place.
func (j *judgement) judge() {
	if len(j.p.now.live) > 0 {
		j.p.wanted = false
	}
	for i := range j.p.now.live {
		j.judgeHold(&j.p.now.live[i])
	}
	j.judgePlace()
}

// judgeHold looks at one lease: is it to be renewed, or has it ended.
func (j *judgement) judgeHold(h *hold) {
	switch {
	case h.finished != nil:
		if !h.kept() || j.at(j.keptUntil(h)) {
			j.end(h, "")
		}
	case h.maintains():
		j.judgeMaintenance(h)
	case !h.dispatched:
		if why := j.undone(h); why != "" {
			j.end(h, why)
		}
	case j.exceeded(h):
	default:
		j.judgeTenure(h)
	}
}

// due is when a lease ends that was to end at a stated time, after most from now on.
func (j *judgement) due(h *hold, end time.Time, most time.Duration) time.Time {
	return j.t.due(j.p, span{number: h.token}, end, most, j.now)
}

func (j *judgement) keptUntil(h *hold) time.Time {
	return j.due(h, h.finished.kept, max(h.finished.kept.Sub(h.finished.at), 0))
}

// judgeTenure renews a lease whose holder lives, or waits for an executor, and ends that of one that fell silent.
func (j *judgement) judgeTenure(h *hold) {
	due := j.due(h, h.until, j.t.cfg.Term)
	if !j.at(due.Add(-j.t.cfg.Term / 2)) {
		return
	}
	if !h.started || j.living(h.holder) {
		until := j.now.Add(j.t.cfg.Term)
		if limit := j.t.tenure(h); limit > 0 {
			until = earlier(until, j.t.most(h, limit))
		}
		j.renew(h, until)
		return
	}
	if j.at(due) {
		j.end(h, "nobody has heard of "+describe(h.holder)+" for as long as a lease lasts")
	} else {
		j.wake = earlier(j.wake, j.now.Add(gap/4)) // it may be heard again
	}
}

// renew keeps a lease for longer, unless that changes nothing.
func (j *judgement) renew(h *hold, until time.Time) {
	if until.Equal(h.until) {
		return
	}
	j.fleet(event.LeaseRenewed{
		Provider: j.p.name.provider, Place: j.p.name.place, Token: h.token, Number: h.number + 1, Until: until.UTC(),
	})
}

// exceeded stops a holder that has had its place for as long as it asked for. The lease ends with the attempt; it ends
// without it only when that does not obey.
func (j *judgement) exceeded(h *hold) bool {
	limit := j.t.tenure(h)
	if limit <= 0 || !j.at(j.due(h, j.t.most(h, limit), limit)) {
		return false
	}
	why := "it has held " + j.p.name.String() + " for " + limit.String() + ", as long as it asked for"
	if !h.told {
		j.say = append(j.say, Intent{Run: h.holder.Run, Payload: event.TaskCancelRequested{
			Task: h.holder.Task, Attempt: h.holder.Attempt, Pool: h.pool, Reason: why,
		}})
	}
	end := j.due(h, j.t.most(h, limit).Add(j.t.cfg.Overrun), j.t.cfg.Overrun)
	if j.at(end) {
		j.end(h, why+", and did not stop")
	}
	return true
}

// most is when a lease has been held for as long as may be, by the clock that granted it.
func (t *Table) most(h *hold, limit time.Duration) time.Time {
	return h.first.Add(limit - min(limit, t.cfg.Term))
}

// undone says why a lease is given back under which nothing was dispatched; "" while it may still be.
func (j *judgement) undone(h *hold) string {
	c := j.t.claims[h.holder]
	switch {
	case c != nil && c.short && c.had > 0 && c.had == len(j.t.held(h.holder)):
		return "its holder needs more places than it was granted"
	case !j.at(j.t.wakes()):
	case c == nil && j.at(j.due(h, h.at.Add(j.t.cfg.Grace), j.t.cfg.Grace)):
		return "nothing was dispatched under it, and nobody asks for it"
	case c != nil && j.at(j.due(h, h.at.Add(j.t.cfg.Undone), j.t.cfg.Undone)):
		return "nothing was dispatched under it"
	}
	return ""
}

// end ends a lease. What that leaves is what the fold will find.
func (j *judgement) end(h *hold, why string) {
	s := &j.p.now
	e := event.LeaseEnded{
		Provider: j.p.name.provider, Place: j.p.name.place, Token: h.token, Holder: h.holder, State: release.PlaceFree, Reason: why,
	}
	dirty := s.leaves(h)
	if dirty == "" {
		dirty = s.dirty
	}
	if dirty != "" {
		e.State = release.PlaceCleanupPending
	}
	if e.Reason == "" {
		e.Reason = h.ending(dirty)
	}
	j.fleet(e)
}

func (h *hold) ending(dirty string) string {
	switch {
	case h.maintains():
		return joined(string(h.holder.Task)+" ended as "+string(h.finished.class), h.finished.reason)
	case dirty != "":
		return dirty
	default:
		return describe(h.holder) + " has finished and cleaned up"
	}
}
