package schedule

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// applyRequested makes a name a task. What was heard of it before stands already.
func (s *State) applyRequested(r *run, p event.TaskRequested, m mark) {
	t := r.task(p.Task)
	if t.known() {
		return
	}
	t.seq, t.requested = m.seq, m.at
	t.spec = r.spec(spec{
		kind: p.Kind, pool: s.pool(p.Pool), plan: p.Plan, priority: p.Priority, timeouts: p.Timeouts, retry: p.Retry,
		softFail: p.SoftFail, demand: demandOf(p), environment: p.Environment,
	})
	s.count(r, t)
	s.link(t, p.Needs)
	s.restate(t)
	s.refresh(t)
	s.touch(t)
	s.hearEarly(t)
}

// count adds a task to its run's counts, as an open one.
func (s *State) count(r *run, t *task) {
	r.counts.known++
	r.counts.open++
	if AfterCandidate(t.spec.kind) {
		r.counts.tests++
	} else {
		r.counts.builds++
		r.counts.openBuilds++
	}
	if r.complete() {
		s.touchRun(r)
		s.touchOrphans(r)
	}
}

// touchOrphans marks the tasks that need what nobody requested, now that nothing more will be.
func (s *State) touchOrphans(r *run) {
	if len(r.list) == int(r.counts.known) {
		return
	}
	for _, t := range r.list {
		if !t.known() {
			s.touchDependents(t)
		}
	}
}

func (s *State) touchDependents(t *task) {
	for _, d := range t.dependents {
		s.touch(d)
	}
}

// link ties a task to what it needs.
func (s *State) link(t *task, needs []release.TaskID) {
	if len(needs) == 0 {
		return
	}
	t.needs = make([]*task, 0, len(needs))
	for _, id := range needs {
		n := t.run.task(id)
		t.needs = append(t.needs, n)
		n.dependents = append(n.dependents, t)
		t.observe(open, n.status, 1)
		s.inherit(t, n.reset, n.since)
	}
}

// observe counts a need that has a status now and had another before; added is 1 for a need that is new.
func (t *task) observe(before, now status, added int32) {
	t.waiting += added
	if before.done() {
		t.waiting++
	}
	if now.done() {
		t.waiting--
	}
	if before == failed {
		t.broken--
	}
	if now == failed {
		t.broken++
	}
}

// restate finds a task's status anew and tells the run and the tasks that need it.
func (s *State) restate(t *task) {
	before, now := t.status, t.judgeStatus()
	t.status = now
	s.redoom(t)
	if before == now {
		return
	}
	s.recount(t, before, now)
	for _, d := range t.dependents {
		d.observe(before, now, 0)
		if d.waiting == 0 || d.broken > 0 || before.done() {
			s.touch(d)
		}
	}
	s.touch(t)
}

// recount keeps the run's counts true and marks the run when one of them decides something.
func (s *State) recount(t *task, before, now status) {
	c := &t.run.counts
	opened := change(before, now, func(s status) bool { return s == open })
	c.open += opened
	if t.required {
		c.openTests += opened
	}
	if !AfterCandidate(t.spec.kind) {
		c.openBuilds += opened
		c.badBuilds += change(before, now, func(s status) bool { return s == failed })
	}
	if c.open == 0 || opened < 0 && (t.required && c.openTests == 0 || !AfterCandidate(t.spec.kind) && c.openBuilds == 0) {
		s.touchRun(t.run)
	}
}

func change(before, now status, is func(status) bool) int32 {
	switch {
	case is(before) == is(now):
		return 0
	case is(now):
		return 1
	default:
		return -1
	}
}

// applyAttempt finds or makes the attempt that an event names.
func (s *State) applyAttempt(r *run, id release.TaskID, n int32, say func(*task, *attempt)) {
	if n < 1 || n > maxAttempts {
		return
	}
	t := r.task(id)
	if t.past != nil && n <= t.past.floor {
		return
	}
	say(t, t.attempt(n))
	s.touch(t)
	t.trim()
}

func (s *State) dispatched(t *task, a *attempt, p event.TaskDispatched, m mark) {
	if a.dispatched.set() {
		return
	}
	a.dispatched, a.given = m, p.Fingerprint()
	if w := t.want; w.dispatches(a.n) && w.sent != 0 {
		s.time.facts.note(s.time.own(w.sent), m.at)
	}
	if t.known() {
		s.lane(t).served()
	} else {
		a.pool = s.pool(p.Pool)
		s.hearEarly(t)
	}
	s.refresh(t)
}

func (s *State) started(t *task, a *attempt, p event.TaskStarted, m mark) {
	if a.started.set() || a.refused.set() {
		return
	}
	if p.Refused != "" {
		a.refused = m
		if !a.finished.set() {
			a.class, a.reason, a.withdrawn = p.Class, clip(p.Refused), p.Withdrawn
		}
		return
	}
	a.started = m
	if a.finished.set() {
		return
	}
	a.executor = s.executor(p.Pool, p.Executor)
	a.executor.take(held{t, a.n})
	s.hear(a.executor)
	t.run.counts.running++
}

func (s *State) finish(t *task, a *attempt, p event.TaskFinished, m mark) {
	if a.finished.set() {
		return
	}
	a.finished, a.class, a.reason, a.artifacts = m, classOf(p), clip(p.Reason), slices.Clone(p.Artifacts)
	a.measured, a.withdrawn = slices.Clone(p.Measured), p.Withdrawn && p.Executor == ""
	s.learn(t, a)
	if a.executor != nil {
		s.release(a.executor, held{t, a.n})
		a.executor = nil
		if t.run.counts.running--; t.run.counts.running == 0 {
			s.touchRun(t.run)
		}
	}
	s.restate(t)
	if a.ok() {
		s.refresh(t)
		s.refreshDependents(t)
	}
}

// classOf believes a success only when outcome and class both say so.
func classOf(p event.TaskFinished) release.Class {
	if p.Class == "" || p.Class == release.ClassOK != p.Succeeded() || p.Outcome == release.Success != p.Succeeded() {
		return release.ClassUnknown
	}
	return p.Class
}

func (s *State) applyConcluded(r *run, p event.TaskConcluded, m mark) {
	t := r.task(p.Task)
	if t.past == nil {
		t.past = &past{}
	}
	for _, v := range t.past.verdicts {
		if v.round == p.Round && v.attempts == p.Attempts {
			return
		}
	}
	t.past.verdicts = append(t.past.verdicts, verdict{
		round: p.Round, attempts: p.Attempts, outcome: p.Outcome, class: p.Class, reason: clip(p.Reason), moot: p.Moot,
		mark: m,
	})
	slices.SortFunc(t.past.verdicts, func(a, b verdict) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.attempts, b.attempts))
	})
	if p.Moot {
		s.unmoot(t)
	}
	s.restate(t)
	s.touch(t)
}

// clip keeps what is worth keeping of a reason that somebody else wrote.
func clip(reason string) string {
	const most = 300
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most], "") + " …"
}
