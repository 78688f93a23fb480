package event

import "github.com/sluiceci/sluice/pkg/release"

// SaidByPool names the attempt that an executor speaks of, and its pool. The bus lets an executor publish facts of its own
// pool only, so the pool is true; such a fact counts only for an attempt that belongs to that pool. It reports false for
// facts that no executor publishes.
func SaidByPool(e Event) (ref AttemptRef, pool string, ok bool) {
	switch p := e.Data.(type) {
	case TaskStarted:
		return AttemptRef{e.Run, p.Task, p.Attempt}, p.Pool, true
	case TaskFinished:
		return AttemptRef{e.Run, p.Task, p.Attempt}, p.Pool, true
	case PlacesCreated:
		return AttemptRef{e.Run, p.Task, p.Attempt}, p.Pool, true
	case PlacesDestroyed:
		return AttemptRef{e.Run, p.Task, p.Attempt}, p.Pool, true
	}
	return AttemptRef{}, "", false
}

// maxOwned bounds the runs whose owners are remembered.
const maxOwned = 4096

// Owners remembers which pool the tasks of the latest runs belong to. Its zero value knows none. It is not safe for
// concurrent use.
type Owners struct {
	pools map[release.RunID]map[release.TaskID]string
}

// Hear notes the pool of a task that is requested or dispatched.
func (o *Owners) Hear(e Event) {
	switch p := e.Data.(type) {
	case TaskRequested:
		o.note(e.Run, p.Task, p.Pool)
	case TaskDispatched:
		o.note(e.Run, p.Task, p.Pool)
	}
}

func (o *Owners) note(run release.RunID, task release.TaskID, pool string) {
	if len(o.pools) >= maxOwned && o.pools[run] == nil {
		clear(o.pools) // whoever asks for one that is gone looks it up
	}
	if o.pools == nil {
		o.pools = map[release.RunID]map[release.TaskID]string{}
	}
	if o.pools[run] == nil {
		o.pools[run] = map[release.TaskID]string{}
	}
	o.pools[run][task] = pool
}

// Believes reports whether a fact counts: whoever speaks of an attempt must be of the pool that the attempt belongs to.
// known is false when it is not remembered whose the attempt is.
func (o *Owners) Believes(e Event) (believed, known bool) {
	ref, pool, ok := SaidByPool(e)
	if !ok {
		return true, true
	}
	owner, known := o.pools[ref.Run][ref.Task]
	return known && owner == pool, known
}
