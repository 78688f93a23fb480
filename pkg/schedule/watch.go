package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// observe begins a decision. Silence is measured only while this scheduler watches: after its start, a sleep, a step of its
// clock, or a time in which it did not hear itself, the measure begins anew.
func (s *State) observe(now stamp) {
	back := now < s.now
	asleep := s.now == 0 || back || now.since(s.now) > s.cfg.LostAfter
	again := s.listen(now)
	switch {
	case s.now == 0:
		s.begin(now)
	case s.asked != 0 && now.since(s.asked) > s.cfg.LostAfter:
		s.overslept(s.asked, now)
	}
	s.now = now
	if back {
		s.touchEverything() // alarms were set for a future that is farther away now
	}
	if asleep || again {
		s.watchAnew(again)
	}
}

// begin notes the time in which no scheduler looked before this one.
func (s *State) begin(now stamp) {
	s.began = now
	if now.since(s.attended) > s.cfg.LostAfter {
		s.overslept(s.attended, now)
	}
}

// watchAnew begins the measure of silence anew.
func (s *State) watchAnew(again bool) {
	s.watching = s.now
	for _, x := range s.members() {
		x.seen, x.awaited = s.now, x.awaited || again
		for h := range x.running {
			x.running[h] = s.now
		}
		s.hear(x)
	}
}

func (s *State) touchEverything() {
	for _, id := range slices.Sorted(maps.Keys(s.runs)) {
		s.touchAll(s.runs[id])
	}
}

// attendAll looks at the executors that were heard, or woken by a timer.
func (s *State) attendAll() {
	for _, x := range s.heard {
		x.waits = false
		s.attend(x)
	}
	clear(s.heard)
	s.heard = s.heard[:0]
}

// members lists the fleet in a fixed order.
func (s *State) members() []*executor {
	out := make([]*executor, 0, len(s.fleet))
	for _, x := range s.fleet {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *executor) int {
		return cmp.Or(cmp.Compare(a.pool.name, b.pool.name), cmp.Compare(a.name, b.name))
	})
	return out
}

func (s *State) attend(x *executor) {
	if x.left {
		return
	}
	if x.fresh || x.seen == 0 {
		x.seen = s.now
	}
	if x.fresh {
		x.fresh, x.awaited = false, false
		s.compare(x)
	}
	for h, at := range x.running {
		if at == 0 {
			x.running[h] = s.now
		}
	}
	s.review(x)
}

// compare holds what an executor says that it runs against what it should run.
func (s *State) compare(x *executor) {
	strays := map[event.AttemptRef]*stray(nil)
	for _, ref := range x.beat.Running {
		h, a := s.lookup(ref)
		if _, right := x.running[h]; a != nil && right {
			x.running[h] = s.now
		} else if a == nil || a.finished.set() {
			set(&strays, ref, s.strayed(x, ref, a))
		}
	}
	for ref, old := range x.strays {
		if strays[ref] == nil {
			old.want.drop()
		}
	}
	x.strays = strays
}

func (s *State) lookup(ref event.AttemptRef) (held, *attempt) {
	r := s.runs[ref.Run]
	if r == nil || r.tasks[ref.Task] == nil {
		return held{}, nil
	}
	t := r.tasks[ref.Task]
	return held{t, ref.Attempt}, t.find(ref.Attempt)
}

// strayed tells an executor to stop what has ended without it, once it has had time to hear of the end. Of a run that is
// forgotten, or left the stream for the archive, nothing is known any more but that it ended; one whose first facts are on
// their way is known before that is believed.
func (s *State) strayed(x *executor, ref event.AttemptRef, a *attempt) *stray {
	y := x.strays[ref]
	if y == nil {
		return &stray{since: s.now}
	}
	wait, ended := s.cfg.LostAfter, "its run ended long ago"
	switch {
	case a != nil:
		ended = "the attempt ended as " + string(a.class) + " without its executor"
	case !s.forgotten[ref.Run]:
		wait, ended = s.cfg.StopWithin, "nothing is known of it: its run ended long ago"
	}
	if a != nil && a.stop.set() || s.now.since(y.since) < wait {
		return y
	}
	s.ask(&y.want, s.runOf(ref.Run), nil, event.TaskCancelRequested{Task: ref.Task, Attempt: ref.Attempt, Pool: x.pool.name, Reason: ended})
	return y
}

// runOf is a run, or one of which only the name is known.
func (s *State) runOf(id release.RunID) *run {
	if r := s.runs[id]; r != nil {
		return r
	}
	return newRun(id)
}

// review finds what follows from an executor's state: its slots, and attempts that are lost with it.
func (s *State) review(x *executor) {
	slots := int32(0)
	if s.alive(x) && !s.leaving(x) {
		slots = min(max(x.beat.Slots, 0), 1<<16)
	}
	if slots != x.slots {
		s.staff(x.pool, slots-x.slots)
		x.slots = slots
	}
	if !s.alive(x) && len(x.running) == 0 {
		s.dismiss(x)
		return
	}
	s.wake(x, s.nextReview(x))
}

// nextReview touches the attempts that are adrift, and returns when the next silence is to be noticed.
func (s *State) nextReview(x *executor) stamp {
	next := s.now.plus(s.cfg.LostAfter)
	if s.alive(x) {
		next = x.seen.plus(s.silentAfter(x))
	}
	var adrift []*task
	for h, at := range x.running {
		if s.adrift(x, h, at) {
			adrift = append(adrift, h.task)
		} else {
			next = min(next, max(at, 1).plus(s.disconnect(h.task, x)))
		}
	}
	slices.SortFunc(adrift, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.run.id, b.run.id), cmp.Compare(a.id, b.id))
	})
	for _, t := range adrift {
		s.touch(t)
	}
	return max(next, s.now.plus(s.cfg.LostAfter/4)) // a blind scheduler looks again
}

// dismiss takes an executor off the list. Should it live, its next heartbeat brings it back.
func (s *State) dismiss(x *executor) {
	x.left = true
	delete(s.fleet, x.key())
}

// alive reports whether an executor takes work.
func (s *State) alive(x *executor) bool { return x.beaten && !x.beat.Gone && !s.silent(x) }

func (s *State) silent(x *executor) bool {
	return x.seen != 0 && s.hearing().since(x.seen) >= s.silentAfter(x)
}

// adrift reports whether nobody vouches for an attempt that an executor started.
func (s *State) adrift(x *executor, h held, at stamp) bool {
	return x.beat.Gone || at != 0 && s.hearing().since(at) >= s.disconnect(h.task, x)
}

// lost says why an attempt counts as lost, or "".
func (s *State) lost(t *task, a *attempt) string {
	x := a.executor
	at := x.running[held{t, a.n}]
	if !s.adrift(x, held{t, a.n}, at) {
		return ""
	}
	switch since := s.hearing().since(at).Round(time.Millisecond); {
	case x.beat.Gone:
		return fmt.Sprintf("executor %s ended without a result", x.name)
	case s.silent(x):
		return fmt.Sprintf("executor %s has been silent for %s", x.name, since)
	default:
		return fmt.Sprintf("executor %s has not had the attempt in hand for %s", x.name, since)
	}
}

// gap is time in which nothing was decided although something was due: this scheduler stood still, or its clock was set
// forward. Whose time runs out meanwhile is not to blame.
type gap struct {
	at   stamp // it began
	took time.Duration
}

// overslept notes a gap.
func (s *State) overslept(from, now stamp) {
	const kept = 64
	if len(s.gaps) == kept {
		s.gaps = slices.Delete(s.gaps, 0, 1)
	}
	s.gaps = append(s.gaps, gap{from, now.since(from)})
	s.touchEverything()
}

// missed is how much of the time since a moment nobody watched.
func (s *State) missed(since stamp) time.Duration {
	var out time.Duration
	for _, g := range s.gaps {
		out += max(0, min(g.took, g.at.plus(g.took).since(since)))
	}
	return out
}
