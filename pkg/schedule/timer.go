package schedule

import "container/heap"

// sleeper is what time alone may change.
type sleeper interface {
	alarmAt() *stamp // when a timer wakes it; zero without one
	ring(s *State)   // marks it for the decision that is being made
}

func (t *task) alarmAt() *stamp     { return &t.alarm }
func (t *task) ring(s *State)       { s.touch(t) }
func (r *run) alarmAt() *stamp      { return &r.alarm }
func (r *run) ring(s *State)        { s.touchRun(r) }
func (x *executor) alarmAt() *stamp { return &x.alarm }
func (x *executor) ring(s *State)   { s.hear(x) }

// timer wakes a sleeper, unless that was given an earlier one meanwhile.
type timer struct {
	at  stamp
	who sleeper
}

// wake sets a sleeper's alarm. An earlier one stands: who is woken too early sets another.
func (s *State) wake(who sleeper, at stamp) {
	alarm := who.alarmAt()
	if at == 0 || *alarm != 0 && *alarm <= at {
		return
	}
	*alarm = at
	heap.Push(&s.timers, timer{at, who})
}

// fire wakes all whose time has come.
func (s *State) fire(now stamp) {
	for len(s.timers) > 0 && s.timers[0].at <= now {
		due := heap.Pop(&s.timers).(timer)
		if alarm := due.who.alarmAt(); *alarm == due.at {
			*alarm = 0
			due.who.ring(s)
		}
	}
}

type timers []timer

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timers) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(x any)        { *h = append(*h, x.(timer)) }
func (h *timers) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = timer{}
	*h = (*h)[:last]
	return out
}
