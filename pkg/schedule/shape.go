package schedule

import (
	"container/heap"
	"iter"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
)

// shape is what a pool has waiting of one form. Its tasks may start or may not, all of them alike: so what blocks one is
// looked at once, and those behind it stand in other shapes.
type shape struct {
	pool    *pool
	form    form
	budgets []*budget // that its attempts take of: group, pool, provider, what the definition makes of it
	since   []uint64  // with each: what it had served, and one, when the shape began to wait for it; 0 when it does not
	root    branch
	ages    ages
	given   int     // lanes
	index   int     // in pool.open; -1 when it is not there
	blocked *budget // that it waits for
	asking  *task   // in front of its lane: it asks for places
	attempt int32   // the one that it asks for
	wait    lease.Wait
}

// lane is what one run has waiting in one shape.
type lane struct {
	shape   *shape
	run     *run
	project *account
	owner   *account
	turns   *account // of the run
	branch  *branch
	tasks   tasks
	age     int // in shape.ages; -1 when it is empty
}

func (s *State) shape(p *pool, f form, provider string) *shape {
	sh := p.shapes[f]
	if sh != nil {
		return sh
	}
	sh = &shape{pool: p, form: f, index: -1}
	sh.root.index = -1
	if f.group != "" {
		sh.budgets = append(sh.budgets, s.budget(event.LimitGroup, f.group))
	}
	sh.budgets = append(sh.budgets, s.budget(event.LimitPool, p.name))
	if provider != "" {
		sh.budgets = append(sh.budgets, s.budget(event.LimitProvider, provider))
	}
	if f.made != "" {
		sh.budgets = append(sh.budgets, s.budget(event.LimitProvider, f.made))
	}
	sh.since = make([]uint64, len(sh.budgets))
	p.shapes[f] = sh
	return sh
}

// lanes are those that have something in them.
func (sh *shape) lanes() iter.Seq[*lane] { return slices.Values(sh.ages) }

func (sh *shape) empty() bool { return len(sh.root.parts) == 0 && sh.asking == nil }

// open lets a shape be chosen.
func (sh *shape) open() {
	if sh.index < 0 && sh.blocked == nil && !sh.empty() {
		sh.index = len(sh.pool.open)
		sh.pool.open = append(sh.pool.open, sh)
	}
}

// close keeps it from being chosen.
func (sh *shape) close() {
	if sh.index < 0 {
		return
	}
	list := sh.pool.open
	last := list[len(list)-1]
	list[sh.index], last.index = last, sh.index
	list[len(list)-1] = nil
	sh.pool.open = list[:len(list)-1]
	sh.index = -1
}

// head is the task that is next in a shape.
func (sh *shape) head() *task {
	if sh.asking != nil {
		return sh.asking
	}
	return sh.root.first().tasks[0]
}

// oldest is the task that was requested first.
func (sh *shape) oldest() *task {
	if sh.asking != nil {
		return sh.asking
	}
	return sh.ages[0].tasks[0]
}

// before reports whether a shape is served before another: by priority, then by share.
func (sh *shape) before(o *shape) bool {
	if sh.form.priority != o.form.priority {
		return sh.form.priority > o.form.priority
	}
	if sh.asking != nil || o.asking != nil { // it had its turn
		return sh.asking != nil && (o.asking == nil || sh.asking.seq < o.asking.seq)
	}
	return sh.root.before(&o.root)
}

// put adds a task to a lane.
func (l *lane) put(t *task) {
	heap.Push(&l.tasks, t)
	if l.age < 0 {
		heap.Push(&l.shape.ages, l)
	} else {
		heap.Fix(&l.shape.ages, l.age)
	}
	l.branch.stand()
}

// trim drops from the front what is no longer to be taken, so that a lane that stands somewhere has a task to give.
func (s *State) trim(l *lane) {
	for len(l.tasks) > 0 && !l.tasks[0].ready {
		l.tasks[0].queued = false
		heap.Pop(&l.tasks)
	}
	switch {
	case l.age < 0:
	case len(l.tasks) > 0:
		heap.Fix(&l.shape.ages, l.age)
	default:
		heap.Remove(&l.shape.ages, l.age)
		l.branch.leave()
		if l.shape.empty() {
			s.emptied(l.shape)
		}
	}
}

// lane returns where a task waits: its run's lane in its pool, of its form. The tasks of one spec share it.
func (s *State) lane(t *task) *lane {
	if t.spec.lane != nil {
		return t.spec.lane
	}
	project := t.run.project()
	sh := s.shape(t.spec.pool, t.spec.demand.form(project, t.run.trust(), t.spec.priority), t.spec.demand.lease.Provider)
	owner := t.spec.demand.owner
	for _, l := range t.run.lanes {
		if l.shape == sh && l.owner.key.owner == owner && l.owner.key.project == project {
			t.spec.lane = l
			return l
		}
	}
	t.spec.lane = s.newLane(t.run, sh, project, owner)
	return t.spec.lane
}

func (s *State) newLane(r *run, sh *shape, project, owner string) *lane {
	p := sh.pool
	l := &lane{
		shape: sh, run: r, age: -1,
		project: p.account(s.limits, accountKey{level: projects, project: project}),
		owner:   p.account(s.limits, accountKey{level: owners, project: project, owner: owner}),
		turns:   p.account(s.limits, accountKey{runs, project, owner, string(r.id)}),
	}
	l.branch = &branch{account: l.turns, up: sh.root.below(l.project).below(l.owner), lane: l, index: -1}
	l.turns.branches = append(l.turns.branches, l.branch)
	r.lanes = append(r.lanes, l)
	sh.given++
	return l
}

// refile moves what a run has in the queues: its project became known after its tasks.
func (s *State) refile(r *run) {
	var holding []*task
	for _, t := range r.list {
		if t.holding && !t.leasing {
			holding = append(holding, t)
		}
		s.resign(t)
		s.hold(t, false)
		s.dequeue(t)
		s.touch(t)
	}
	s.forgetLanes(r)
	for _, t := range holding {
		s.hold(t, true)
	}
}

// forgetLanes lets go of what a run had in the queues.
func (s *State) forgetLanes(r *run) {
	for _, l := range r.lanes {
		for _, t := range l.tasks {
			t.queued = false
		}
		l.tasks = nil
		if l.age >= 0 {
			heap.Remove(&l.shape.ages, l.age)
			l.branch.leave()
		}
		delete(l.shape.pool.accounts, l.turns.key)
		if l.shape.empty() {
			s.emptied(l.shape)
		}
		if l.shape.given--; l.shape.given == 0 {
			l.shape.pool.forgetShape(l.shape)
		}
	}
	r.lanes = nil
	for _, t := range r.list {
		if t.known() {
			t.spec.lane = nil
		}
	}
}

// forgetShape lets go of a shape that no run has a lane in.
func (p *pool) forgetShape(sh *shape) {
	delete(p.shapes, sh.form)
	for _, a := range p.accounts {
		a.branches = slices.DeleteFunc(a.branches, func(b *branch) bool { return b.root() == &sh.root })
	}
}

// oldestOf is the shape with the oldest task of some.
func oldestOf(list []*shape) *shape {
	return slices.MinFunc(list, func(a, b *shape) int {
		if a.oldest().seq < b.oldest().seq {
			return -1
		}
		return 1
	})
}
