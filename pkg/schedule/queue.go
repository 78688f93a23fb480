package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
)

// pool is a queue for executors of one kind. What waits in it stands in shapes; a shape that is blocked is not looked at.
type pool struct {
	name     string
	shapes   map[form]*shape
	open     []*shape // that have something in them, and of which nothing is known that blocks them
	accounts map[accountKey]*account
	slots    int32 // of its live executors
	deserted stamp // since when it has had none; zero when it never had one
	holding  int32 // attempts given to it that have not ended
	queued   int32 // tasks that could be given to it
	turns    uint64
	given    uint64 // attempts, by this scheduler
	born     uint64 // accounts
	drain    note
	resumed  uint64
	changed  bool
}

// accountKey names who has a share of a pool: a project, with level owners an owner in it, with level runs a run of his.
type accountKey struct {
	level               level
	project, owner, run string
}

type level int

const (
	projects level = iota
	owners
	runs
)

func newPool(name string) *pool {
	return &pool{name: name, shapes: map[form]*shape{}, accounts: map[accountKey]*account{}}
}

// served reports whether a pool has an executor that takes work.
func (p *pool) served() bool { return p.slots > 0 }

func (p *pool) drained() bool { return p.drain.mark.seq > p.resumed }

func (p *pool) account(l limits, k accountKey) *account {
	a := p.accounts[k]
	if a == nil {
		p.born++
		a = &account{key: k, born: p.born}
		a.weigh(l)
		p.accounts[k] = a
	}
	return a
}

// reweigh reads the weights again.
func (p *pool) reweigh(l limits) {
	for _, a := range p.accounts {
		a.weigh(l)
		a.moved()
	}
}

func (a *account) weigh(l limits) {
	switch a.key.level {
	case projects:
		a.weight = l.weight(event.WeightProject, a.key.project)
	case owners:
		a.weight = l.weight(event.WeightOwner, a.key.owner)
	}
}

// window is how many attempts the pool may have at once: twice what it can run, so that none of its executors ever waits
// for this scheduler. It is no more than that, since a pool starts what it was given in that order, urgent or not. A pool
// without executors is given the look-ahead, so that an autoscaler sees a queue.
func (s *State) window(p *pool) int32 {
	if p.served() {
		return 2 * p.slots
	}
	return int32(s.cfg.Lookahead)
}

func (s *State) applyDrain(e event.PoolDrainRequested, m mark) {
	p := s.pool(e.Pool)
	if e.Resume {
		p.resumed = max(p.resumed, m.seq)
	} else {
		p.drain.latest(m, e.By, e.Reason)
	}
	s.touchUnsent()
	s.touchPool(p)
}

// served moves who was served behind all others of the same load.
func (l *lane) served() {
	p := l.shape.pool
	p.turns++
	for _, a := range []*account{l.project, l.owner, l.turns} {
		a.turn = p.turns
		a.moved()
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
	l := s.lane(t)
	l.put(t)
	l.shape.open()
}

// dequeue makes a task one that is not to be taken.
func (s *State) dequeue(t *task) {
	if !t.ready {
		return
	}
	t.ready = false
	t.spec.pool.queued--
	if l := s.lane(t); t.queued && len(l.tasks) > 0 && l.tasks[0] == t {
		s.trim(l)
	}
}

// pick chooses the shape whose first task may start: of the highest priority, then of those whose share is smallest. One
// choice in Config.Aging falls on the oldest task of all, whatever its priority and share: so everything that may start
// does, however much comes after it.
func (s *State) pick(p *pool) *shape {
	for len(p.open) > 0 {
		sh := s.choose(p)
		b := s.blocker(sh)
		if b == nil {
			return sh
		}
		s.park(sh, b)
	}
	return nil
}

func (s *State) choose(p *pool) *shape {
	if (p.given+1)%uint64(s.cfg.Aging) == 0 {
		return oldestOf(p.open)
	}
	best := p.open[0]
	for _, sh := range p.open[1:] {
		if sh.before(best) {
			best = sh
		}
	}
	return best
}

// take takes the first task out of a shape.
func (s *State) take(sh *shape, oldest bool) *task {
	l := sh.root.first()
	if oldest {
		l = sh.ages[0]
	}
	t := l.tasks[0]
	s.dequeue(t)
	l.served()
	return t
}

// hold counts a task's attempt against its pool's window, its shares and its budgets, or no longer.
func (s *State) hold(t *task, holds bool) {
	if t.holding == holds || !t.known() {
		return
	}
	t.holding = holds
	l := s.lane(t)
	cost := l.shape.form.amounts.cost()
	if holds {
		t.spec.pool.holding++
	} else {
		t.spec.pool.holding--
		cost = -cost
		s.touchPool(t.spec.pool)
	}
	for _, a := range []*account{l.project, l.owner} {
		a.held += cost
		a.moved()
	}
	s.use(l.shape, holds)
}

// fill gives a pool what its window has room for.
func (s *State) fill(p *pool) {
	p.changed = false
	if p.drained() {
		s.yield(p)
	}
	for !p.drained() && p.holding < s.window(p) {
		sh := s.pick(p)
		if sh == nil {
			return
		}
		oldest := (p.given+1)%uint64(s.cfg.Aging) == 0
		p.given++
		if sh.form.lease != "" {
			s.lease(sh, oldest)
		} else {
			s.dispatch(s.take(sh, oldest))
		}
	}
}

// dispatch asks for a task's next attempt.
func (s *State) dispatch(t *task) {
	lease, granted := s.granted(t)
	if !granted {
		return // it is asked for again when what is known of places says so
	}
	s.hold(t, true)
	s.ask(&t.want, t.run, t, event.TaskDispatched{
		Task: t.id, Attempt: t.next(), Pool: t.spec.pool.name, Plan: t.spec.plan, Timeouts: t.spec.timeouts,
		Inputs: t.inputs(), Lease: lease, Measured: t.measured(), Environment: s.entered(t),
	})
}
