package schedule

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// status is how far a task is, as those that need it see it.
type status uint8

const (
	open      status = iota // not ended, or not even requested
	succeeded               // final: no retry takes it back
	failed                  // concluded in the round that counts for it
	excused                 // failed, and its failure fails nothing else
)

func (s status) done() bool { return s == succeeded || s == excused }

// task is what is known of a task. There may be 100 000 of them, so what most do not have is behind a pointer.
type task struct {
	id         release.TaskID
	run        *run
	spec       *spec // nil until it is requested
	needs      []*task
	dependents []*task
	past       *past // nil until the first attempt or verdict
	want       *want
	alarm      stamp // when a timer marks it
	requested  stamp
	seq        uint64 // of the request: its age
	since      uint64 // place of the retry request that began the round that counts for it
	reset      int32  // that round
	waiting    int32  // needs that are not done
	broken     int32  // needs that failed
	status     status
	required   bool // the gate demands its success
	dooms      bool // counts among its run's dooms
	changed    bool
	queued     bool // stands in its pool's queue
	ready      bool // may be taken from there
	leasing    bool // stands in State.leasing
	holding    bool // counts against its pool's window
}

// spec is what a task asks for. Tasks of a run that ask for the same share one.
type spec struct {
	kind     release.TaskKind
	pool     *pool
	plan     release.Digest
	priority int32
	timeouts release.Timeouts
	retry    []release.Retry
	softFail bool
	demand   demand
	lane     *lane // where its tasks wait; nil until one does

	environment string // that the plan names; "" for none
}

func (s *spec) equal(o *spec) bool {
	return s.kind == o.kind && s.pool == o.pool && s.plan == o.plan && s.priority == o.priority &&
		s.timeouts == o.timeouts && s.softFail == o.softFail && slices.Equal(s.retry, o.retry) &&
		s.environment == o.environment && s.demand.equal(&o.demand)
}

// past is what a task has behind it.
type past struct {
	attempts []attempt // by number
	verdicts []verdict
	floor    int32 // the number of the last attempt that is not kept
}

// attempt is what is known of one attempt. Each fact has its place in the stream, and its moment.
type attempt struct {
	n          int32
	class      release.Class
	reason     string
	executor   *executor
	pool       *pool // that it was dispatched to, of a task that is not known
	artifacts  []release.Artifact
	given      event.Inputs // fingerprint of what it was given; 0 when that is not known, or nothing
	stale      bool         // it succeeded with other inputs than there are now
	refused    mark         // nobody may start it any more
	measured   []string
	withdrawn  bool // by the scheduler, before it was started: the next one is no retry
	dispatched mark
	started    mark
	finished   mark
	stop       mark // it was told to stop
	delayed    mark
	awaited    *event.TaskAwaited // the newest; nil when nothing is
	until      stamp              // with delayed: not before
}

// mark says where in the stream a fact stands, and since when.
type mark struct {
	seq uint64
	at  stamp
}

func (m mark) set() bool { return m.seq != 0 }

// verdict is a task.concluded.
type verdict struct {
	round    int32
	attempts int32
	outcome  release.Outcome
	class    release.Class
	reason   string
	moot     bool
	mark     mark
}

// AfterCandidate reports whether tasks of a kind are requested once there is a candidate; the others are what the
// candidate is made of.
func AfterCandidate(kind release.TaskKind) bool {
	return kind == release.Test || kind == release.Cleanup
}

func (t *task) known() bool { return t.spec != nil }

func (t *task) attempts() []attempt {
	if t.past == nil {
		return nil
	}
	return t.past.attempts
}

// last is the attempt with the highest number, or nil.
func (t *task) last() *attempt {
	if all := t.attempts(); len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}

// find returns an attempt that is known, or nil.
func (t *task) find(n int32) *attempt {
	all := t.attempts()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].n == n {
			return &all[i]
		}
	}
	return nil
}

// attempt returns the n-th attempt; an event may name it before its dispatch is known. The pointer holds until the next
// call.
func (t *task) attempt(n int32) *attempt {
	if a := t.find(n); a != nil {
		return a
	}
	if t.past == nil {
		t.past = &past{}
	}
	i := len(t.past.attempts)
	for i > 0 && t.past.attempts[i-1].n > n {
		i--
	}
	t.past.attempts = slices.Insert(t.past.attempts, i, attempt{n: n})
	return &t.past.attempts[i]
}

// trim forgets the older attempts of a task that tends a place: its run never ends, and one is made after each use.
func (t *task) trim() {
	const most, kept = 64, 32
	if !t.run.tends() || len(t.past.attempts) <= most {
		return
	}
	old := len(t.past.attempts) - kept
	if slices.ContainsFunc(t.past.attempts[:old], func(a attempt) bool { return a.running() }) {
		return
	}
	t.past.floor = t.past.attempts[old-1].n
	t.past.attempts = slices.Clone(t.past.attempts[old:])
}

func (a *attempt) running() bool { return a.started.set() && !a.finished.set() }

// idle reports whether an attempt was given to its pool, and an executor may still start it.
func (a *attempt) idle() bool {
	return a.dispatched.set() && !a.started.set() && !a.refused.set() && !a.finished.set()
}

func (a *attempt) ok() bool { return a.finished.set() && a.class == release.ClassOK }

// verdict is the conclusion that counts: one of the round that reset the task last, or a later one.
func (t *task) verdict() *verdict {
	if t.past == nil {
		return nil
	}
	for i := range t.past.verdicts {
		if t.past.verdicts[i].round >= t.reset {
			return &t.past.verdicts[i]
		}
	}
	return nil
}

// before is the number of attempts that earlier rounds made, as far as they concluded.
func (t *task) before() int32 {
	var n int32
	if t.past != nil {
		for _, v := range t.past.verdicts {
			if v.round < t.reset {
				n = max(n, v.attempts)
			}
		}
	}
	return n
}

// counts reports whether how an attempt ended matters in the round that counts for its task. What ended before the
// retry was asked for does not; nor does what an earlier round cancelled and ended only now.
func (t *task) counts(a *attempt) bool {
	switch {
	case !a.finished.set(), a.stale, a.withdrawn, a.n <= t.before(), a.finished.seq < t.since:
		return false
	default:
		return a.class != release.ClassCancelled || !a.started.set() || a.started.seq > t.since
	}
}

// ended is since when the task has its status.
func (t *task) ended() stamp {
	if a := t.success(); a != nil {
		return a.finished.at
	}
	if v := t.verdict(); v != nil {
		return v.mark.at
	}
	return 0
}

func (t *task) judgeStatus() status {
	switch {
	case !t.known():
		return open
	case t.success() != nil:
		return succeeded
	case t.verdict() == nil:
		return open
	case t.spec.softFail:
		return excused
	default:
		return failed
	}
}

// measured are the variants that earlier attempts have measured.
func (t *task) measured() []string {
	all := t.attempts()
	for i := len(all) - 1; i >= 0; i-- {
		if len(all[i].measured) > 0 {
			return all[i].measured
		}
	}
	return nil
}
