package lease

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Table is what is known of all places. It has one owner and is not safe for concurrent use.
//
// Places are folded from facts. Claims and promises are what was asked of this table and answered by it, and are gone
// with it; asked again, a new table answers the same.
type Table struct {
	cfg      Config
	places   map[name]*place
	order    []*place // by name
	holds    map[event.AttemptRef][]*place
	claims   map[event.AttemptRef]*claim
	queue    []*claim // those that wait, in their order
	promises []*place
	recent   recent
	seq      uint64 // the newest fact
	revision uint64
	epoch    uint64 // moves with anything that may change what is available
	offer    uint64 // moves when places are registered
	supplies map[string]supply
	matches  map[string][]*place // of this offer, by what is requested
	limits   limits
	watch    watch
}

// name is a place's.
type name struct{ provider, place string }

func (n name) String() string { return n.provider + "/" + n.place }

// New makes an empty table.
func New(cfg Config) *Table {
	return &Table{
		cfg: cfg.withDefaults(), places: map[name]*place{}, holds: map[event.AttemptRef][]*place{},
		claims: map[event.AttemptRef]*claim{}, offer: 1, supplies: map[string]supply{}, matches: map[string][]*place{},
	}
}

// Hears lists the facts that a table is folded from.
func Hears() []event.Type {
	return []event.Type{
		event.TypePlaceRegistered, event.TypePlaceChanged, event.TypePlaceDrainRequested, event.TypeLeaseGranted,
		event.TypeLeaseRenewed, event.TypeLeaseEnded, event.TypeTaskRequested, event.TypeTaskDispatched,
		event.TypeTaskStarted, event.TypeTaskFinished, event.TypeTaskConcluded, event.TypeTaskCancelRequested,
	}
}

// Says lists the types of what Grant and Decide want to be said.
func Says() []event.Type {
	return []event.Type{
		event.TypePlaceChanged, event.TypeLeaseGranted, event.TypeLeaseRenewed, event.TypeLeaseEnded,
		event.TypeTaskDispatched, event.TypeTaskCancelRequested,
	}
}

// Revision moves when an ask that was refused may be answered otherwise.
func (t *Table) Revision() uint64 { return t.revision }

func (t *Table) moved() {
	t.revision++
	t.epoch++
}

// Apply takes one event into account. One whose place in the stream is not known (Seq is 0) counts as the newest.
func (t *Table) Apply(e event.Event) {
	if e.Data == nil || e.Type.Ephemeral() {
		return
	}
	f := newFact(e)
	if f.seq == 0 {
		f.seq = t.seq + 1
	}
	t.seq = max(t.seq, f.seq)
	switch p := e.Data.(type) {
	case event.PlaceRegistered:
		t.offer++
		clear(t.matches)
		t.add(name{p.Provider, p.Place}, f)
	case event.PlaceChanged:
		t.add(name{p.Provider, p.Place}, f)
	case event.PlaceDrainRequested:
		t.add(name{p.Provider, p.Place}, f)
	case event.LeaseGranted:
		t.granted(p, f)
	case event.LeaseRenewed:
		t.add(name{p.Provider, p.Place}, f)
	case event.LeaseEnded:
		t.add(name{p.Provider, p.Place}, f)
	default:
		t.applyTask(f)
	}
}

// applyTask takes what is said of attempts that hold places.
func (t *Table) applyTask(f fact) {
	switch p := f.data.(type) {
	case event.TaskRequested:
		t.limit(f.run, p.Task, p.Lease.For.Std())
	case event.TaskDispatched:
		for _, h := range p.Lease.Places {
			t.add(name{p.Lease.Provider, h.Place}, f)
		}
		t.Drop(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt})
	case event.TaskStarted:
		t.applyAttempt(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt}, f)
	case event.TaskFinished:
		ref := event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt}
		t.applyAttempt(ref, f)
		t.Drop(ref) // one that ended before it was dispatched asks no more
	case event.TaskCancelRequested:
		t.applyAttempt(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt}, f)
	case event.TaskConcluded:
		for ref := range t.claims {
			if ref.Run == f.run && ref.Task == p.Task {
				t.Drop(ref)
			}
		}
	}
}

// applyAttempt tells the places of an attempt. Of one that is not known to hold any, the last are remembered.
func (t *Table) applyAttempt(ref event.AttemptRef, f fact) {
	places := t.holds[ref]
	if len(places) == 0 {
		t.recent.add(ref, f)
	}
	for _, p := range places {
		t.insert(p, f)
	}
}

func (t *Table) granted(g event.LeaseGranted, f fact) {
	p := t.place(name{g.Provider, g.Place})
	if !slices.Contains(t.holds[g.Holder], p) {
		t.holds[g.Holder] = append(t.holds[g.Holder], p)
	}
	t.insert(p, f)
	for _, early := range t.recent.of(g.Holder) {
		t.insert(p, early)
	}
}

func (t *Table) add(n name, f fact) { t.insert(t.place(n), f) }

func (t *Table) insert(p *place, f fact) {
	if p.insert(f) {
		t.moved()
		t.touch(p)
	}
	if len(p.log) > keptFacts {
		t.compact(p)
	}
}

// place returns the place with a name; a fact may name one before it is registered.
func (t *Table) place(n name) *place {
	if p := t.places[n]; p != nil {
		return p
	}
	p := &place{name: n}
	t.places[n] = p
	i, _ := slices.BinarySearchFunc(t.order, n, func(p *place, n name) int { return compareNames(p.name, n) })
	t.order = slices.Insert(t.order, i, p)
	return p
}

// PlaceRun is the run of the attempts that clean and check a place.
func PlaceRun(provider, place string) release.RunID {
	return release.RunID(release.PlaceRuns + release.Slug(provider+"/"+place))
}
