package schedule

import (
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	maxEarly  = 1 << 12 // facts of a run that wait for their task
	maxDoubts = 256     // that are kept until somebody takes them
)

// Doubt is a fact that was not believed: a pool spoke of an attempt of another pool. The bus lets an executor publish facts
// of its own pool only, so the pool in a fact is true; whether the attempt is that pool's is decided here.
type Doubt struct {
	Run     release.RunID
	Task    release.TaskID
	Attempt int32
	Pool    string // that spoke
	Owner   string // that the attempt belongs to
}

// Doubts returns the facts that were not believed since the last call.
func (s *State) Doubts() []Doubt {
	out := s.doubts
	s.doubts = nil
	return out
}

// claim is what a pool says of an attempt.
type claim struct {
	pool string
	n    int32
	say  func(*task, *attempt)
}

// believe applies what a pool says of an attempt if the attempt belongs to that pool. While nobody knows whose it is, which
// happens only when facts come out of their order, the claim waits.
func (s *State) believe(r *run, id release.TaskID, c claim) {
	owner, known := r.tasks[id].owner(c.n)
	switch {
	case !known:
		if r.waiting < maxEarly {
			r.waiting++
			set(&r.early, id, append(r.early[id], c))
		}
	case owner == c.pool:
		s.applyAttempt(r, id, c.n, c.say)
	case len(s.doubts) < maxDoubts:
		s.doubts = append(s.doubts, Doubt{Run: r.id, Task: id, Attempt: c.n, Pool: c.pool, Owner: owner})
	}
}

// hearEarly applies the claims that waited to know whose a task is.
func (s *State) hearEarly(t *task) {
	early := t.run.early[t.id]
	if len(early) == 0 {
		return
	}
	delete(t.run.early, t.id)
	t.run.waiting -= len(early)
	for _, c := range early {
		s.believe(t.run, t.id, c)
	}
}

// owner is the pool that an attempt belongs to: that of its task, or for a task that nobody requested, such as the cleaning
// of a place, the one that it was dispatched to.
func (t *task) owner(n int32) (pool string, known bool) {
	if t == nil {
		return "", false
	}
	if t.known() {
		return t.spec.pool.name, true
	}
	if a := t.find(n); a != nil && a.pool != nil {
		return a.pool.name, true
	}
	return "", false
}
