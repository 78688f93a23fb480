package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Decide says what follows from what is known, and when to ask again although nothing new was heard: the zero time when
// time alone changes nothing. It changes indexes of s, never what s knows; asked again, it answers the same until Sent
// has been told. The first call of a State begins the watch over executors, so it belongs after the history.
func Decide(s *State, now time.Time) (intents []Intent, next time.Time) {
	at := s.time.stream(max(stampOf(now), 1))
	s.observe(at)
	s.fire(at)
	s.attendAll() // of those who were woken
	s.settleTasks()
	s.takeBack()
	s.settleLeases()
	s.settlePools()
	s.settleRuns()
	s.unsent()
	for _, w := range s.wants {
		intents = append(intents, w.intent())
	}
	places, at := s.tend()
	s.asked = earlier(s.next(), at)
	return append(intents, places...), s.time.own(s.asked).time()
}

// next is when time may change something. While there are executors, their silence must be noticed as silence and not
// as this scheduler's own sleep, so it looks twice in the time that makes one lost.
func (s *State) next() stamp {
	var next stamp
	if len(s.timers) > 0 {
		next = s.timers[0].at
	}
	if len(s.fleet) > 0 {
		next = earlier(next, s.now.plus(s.cfg.LostAfter/2))
	}
	return next
}

func (s *State) settleTasks() {
	for i := 0; i < len(s.changedTasks); i++ {
		s.settle(s.changedTasks[i])
	}
	clear(s.changedTasks)
	s.changedTasks = s.changedTasks[:0]
}

// takeBack reconsiders what was decided and not sent when somebody else has taken of a budget meanwhile.
func (s *State) takeBack() {
	if s.over {
		s.over = false
		s.touchUnsent()
		s.settleTasks()
	}
}

// settlePools fills the pools that changed. What is left over of what pools share goes to those without executors.
func (s *State) settlePools() {
	slices.SortFunc(s.changedPools, compareServed)
	for i := 0; i < len(s.changedPools); i++ { // what one gives up another may take
		s.fill(s.changedPools[i])
	}
	clear(s.changedPools)
	s.changedPools = s.changedPools[:0]
}

func (s *State) settleRuns() {
	for _, r := range s.changedRuns {
		r.changed = false
		if s.runs[r.id] == r {
			s.settleRun(r)
		}
	}
	clear(s.changedRuns)
	s.changedRuns = s.changedRuns[:0]
}

// settle makes a task's place in the queues, its intent and its alarm what the judgement on it says.
func (s *State) settle(t *task) {
	t.changed = false
	if s.runs[t.run.id] != t.run {
		return
	}
	j := s.judge(t)
	if j.phase == ready && j.say == nil {
		s.offer(t, j.attempt)
	} else {
		s.resign(t)
		s.dequeue(t)
		s.hold(t, j.phase == dispatched || j.phase == running || j.phase == stopping)
		s.say(t, j)
	}
	s.redoom(t)
	s.wake(t, j.wake)
}

func (s *State) say(t *task, j judgement) {
	if j.say == nil {
		t.withdraw()
		return
	}
	s.ask(&t.want, t.run, t, j.say)
}

// offer puts a task that is ready into its queue, unless its dispatch is on its way.
func (s *State) offer(t *task, n int32) {
	if t.leasing && s.leasesFor(t, n) {
		return
	}
	kept := !t.spec.pool.drained() && !s.exceeds(t)
	if w := t.want; w.dispatches(n) {
		switch {
		case w.sent == 0 && kept:
			return
		case w.sent != 0 && (kept || s.now < s.due(w)):
			s.dispatch(t) // which leaves it alone until it is due
			return
		}
	}
	t.withdraw()
	s.hold(t, false)
	s.enqueue(t)
}

// sortedTasks lists tasks in a fixed order.
func sortedTasks[V any](of map[*task]V) []*task {
	return slices.SortedFunc(maps.Keys(of), func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.run.id, b.run.id), cmp.Compare(a.id, b.id))
	})
}

func (s *State) settleRun(r *run) {
	if say := s.judgeRun(r); say != nil {
		s.ask(&r.want, r, r, say)
		return
	}
	r.withdraw()
}
