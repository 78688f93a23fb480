package schedule

import (
	"container/heap"

	"github.com/sluiceci/sluice/pkg/event"
)

// pool is a queue for executors of one kind. Each run has a lane in it; the lanes take turns.
type pool struct {
	name    string
	lanes   lanes // that have something in them
	slots   int32 // of its live executors
	holding int32 // attempts given to it that have not ended
	queued  int32 // tasks that could be given to it
	turns   uint64
	drain   note
	resumed uint64
	changed bool
}

// lane is what one run has waiting in one pool.
type lane struct {
	pool  *pool
	run   *run
	tasks tasks
	turn  uint64 // of its pool, when it was served last
	index int    // in the pool's lanes; -1 when it is empty
}

func newPool(name string) *pool { return &pool{name: name} }

func (p *pool) drained() bool { return p.drain.mark.seq > p.resumed }

// window is how many attempts the pool may have at once: twice what it can run, so that none of its executors ever waits
// for this scheduler, and never less than the look-ahead.
func (s *State) window(p *pool) int32 { return max(2*p.slots, int32(s.cfg.Lookahead)) }

func (s *State) applyDrain(e event.PoolDrainRequested, m mark) {
	p := s.pool(e.Pool)
	if e.Resume {
		p.resumed = max(p.resumed, m.seq)
	} else {
		p.drain.latest(m, e.By, e.Reason)
	}
	for _, w := range s.wants {
		if w.task != nil {
			s.touch(w.task)
		}
	}
	s.touchPool(p)
}

// lane returns the run's lane in a pool. It outlives its tasks: the turn it had is remembered.
func (p *pool) lane(r *run) *lane {
	for _, l := range r.lanes {
		if l.pool == p {
			return l
		}
	}
	l := &lane{pool: p, run: r, index: -1}
	r.lanes = append(r.lanes, l)
	return l
}

// served moves a lane behind all others of its priority.
func (l *lane) served(p *pool) {
	p.turns++
	l.turn = p.turns
	if l.index >= 0 {
		heap.Fix(&p.lanes, l.index)
	}
}

// enqueue puts a task that is ready into its lane.
func (s *State) enqueue(t *task) {
	p := t.spec.pool
	if !t.ready {
		t.ready = true
		p.queued++
	}
	s.touchPool(p)
	if t.queued {
		return
	}
	t.queued = true
	l := p.lane(t.run)
	heap.Push(&l.tasks, t)
	if l.index < 0 {
		heap.Push(&p.lanes, l)
	} else {
		heap.Fix(&p.lanes, l.index)
	}
}

// dequeue makes a task one that is not to be taken; its lane drops it when it comes to it.
func (s *State) dequeue(t *task) {
	if t.ready {
		t.ready = false
		t.spec.pool.queued--
	}
}

// next takes the task whose turn it is: of the highest priority, of the run that was served longest ago, the oldest.
func (p *pool) next() *task {
	for len(p.lanes) > 0 {
		l := p.lanes[0]
		t := l.tasks[0]
		if t.ready {
			p.turns++
			l.turn = p.turns
		}
		heap.Pop(&l.tasks)
		t.queued = false
		if len(l.tasks) == 0 {
			heap.Pop(&p.lanes)
		} else {
			heap.Fix(&p.lanes, 0)
		}
		if t.ready {
			return t
		}
	}
	return nil
}

// hold counts a task's attempt against its pool's window, or no longer.
func (s *State) hold(t *task, holds bool) {
	if t.holding == holds || !t.known() {
		return
	}
	t.holding = holds
	if holds {
		t.spec.pool.holding++
		return
	}
	t.spec.pool.holding--
	s.touchPool(t.spec.pool)
}

// fill gives a pool what its window has room for.
func (s *State) fill(p *pool) {
	p.changed = false
	for !p.drained() && p.holding < s.window(p) {
		t := p.next()
		if t == nil {
			return
		}
		s.dequeue(t)
		s.dispatch(t)
	}
}

// dispatch asks for a task's next attempt.
func (s *State) dispatch(t *task) {
	s.hold(t, true)
	s.ask(&t.want, t.run, t, event.TaskDispatched{
		Task: t.id, Attempt: t.next(), Pool: t.spec.pool.name, Plan: t.spec.plan, Timeouts: t.spec.timeouts,
		Inputs: t.inputs(),
	})
}
