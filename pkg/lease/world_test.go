package lease_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// dice decides what happens.
type dice interface {
	roll(what string, sides int) int
}

// seed is a small generator of numbers (splitmix64).
type seed uint64

func (s *seed) roll(_ string, sides int) int {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(sides))
}

// tb is what a world needs of a test.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a stream with compare-and-swap, two schedulers that read it at their own pace by their own clocks, tasks that
// ask for places, and executors that run what is dispatched, die, and leave a mess.
type world struct {
	tb
	d          dice
	now        time.Time
	stream     []event.Event
	taken      map[string]int // by subject: the place in the stream
	schedulers []*scheduler
	tasks      []*task
	running    map[event.AttemptRef]*attempt
	law        law
	calm       bool // nothing goes wrong any more
}

// scheduler is a table with what dispatches by it.
type scheduler struct {
	table  *lease.Table
	read   int
	offset time.Duration // of its clock
}

// task wants one attempt to succeed on its places.
type task struct {
	ask  lease.Ask
	done bool
	lost int // attempts that were lost
}

// attempt is what an executor has in hand.
type attempt struct {
	d       event.TaskDispatched
	run     release.RunID
	started bool
	silent  bool // its executor died
}

var simConfig = lease.Config{
	Term: 4 * time.Minute, Grace: 5 * time.Second, Undone: 20 * time.Second, Wait: time.Second, MaxWait: 8 * time.Second,
	Fresh: time.Minute, Quarantine: time.Minute, Failures: 2, Successes: 2, Overrun: time.Minute,
	Providers: []string{"lab"},
}

func newWorld(t tb, d dice) *world {
	w := &world{tb: t, d: d, now: noon, taken: map[string]int{}, running: map[event.AttemptRef]*attempt{}}
	w.law = law{tb: t, places: map[string]*truth{}, story: w.tell}
	for range 1 + d.roll("schedulers", 2) {
		w.schedulers = append(w.schedulers, &scheduler{table: lease.New(simConfig)})
	}
	for i := range 1 + d.roll("places", 4) {
		w.say(event.Fleet, event.PlaceRegistered{
			Provider: "lab", Place: fmt.Sprint("p", i), Version: "1", Pool: "linux", Capacity: int32(d.roll("capacity", 3)),
			Health: d.roll("health", 3) == 0, Clean: d.roll("clean", 4) > 0,
		})
	}
	for i := range 1 + d.roll("tasks", 6) {
		w.tasks = append(w.tasks, w.drawTask(i))
	}
	return w
}

func (w *world) drawTask(i int) *task {
	r := release.LeaseRequest{Provider: "lab", Nodes: int32(w.d.roll("nodes", 4)), Shared: w.d.roll("shared", 4) == 0}
	if w.d.roll("named", 3) == 0 {
		r.Places = [][]string{{"p0"}, {"p[01]"}, {"p{1,2}"}}[w.d.roll("globs", 3)]
	}
	if w.d.roll("for", 6) == 0 {
		r.For = release.Duration(2 * time.Minute)
	}
	return &task{ask: lease.Ask{
		Holder:  event.AttemptRef{Run: "r", Task: release.TaskID(fmt.Sprint("t", i)), Attempt: 1},
		Request: r, Since: noon.Add(time.Duration(i)), Priority: int32(w.d.roll("priority", 2)),
	}}
}

// say stores a fact unless its place is taken.
func (w *world) say(run release.RunID, p event.Payload) {
	e := event.Root(run, "/sim", w.now, p)
	if w.taken[e.Subject()] > 0 {
		return
	}
	w.taken[e.Subject()] = len(w.stream) + 1
	e.Seq, e.Stored = uint64(len(w.stream)+1), w.now
	w.stream = append(w.stream, e)
	w.law.see(e)
	if d, ok := p.(event.TaskDispatched); ok {
		w.running[event.AttemptRef{Run: run, Task: d.Task, Attempt: d.Attempt}] = &attempt{d: d, run: run}
	}
}

// step lets one thing happen.
func (w *world) step() {
	switch w.d.roll("step", 10) {
	case 0, 1, 2, 3:
		w.decide(w.schedulers[w.d.roll("who", len(w.schedulers))])
	case 4, 5, 6:
		w.execute()
	case 7, 8:
		w.now = w.now.Add([]time.Duration{time.Second, 7 * time.Second, 40 * time.Second, 3 * time.Minute}[w.d.roll("pass", 4)])
	default:
		w.disturb()
	}
}

// read lets a scheduler hear what was stored, or a part of it.
func (w *world) hear(s *scheduler, most int) {
	for ; s.read < len(w.stream) && most > 0; most-- {
		s.table.Apply(w.stream[s.read])
		s.read++
	}
}

func (w *world) most() int {
	if w.calm || w.d.roll("lag", 3) > 0 {
		return len(w.stream)
	}
	return w.d.roll("facts", 5)
}

// decide lets a scheduler do what follows from what it knows. Not all of it reaches the stream.
func (w *world) decide(s *scheduler) {
	w.hear(s, w.most())
	now := w.now.Add(s.offset)
	for _, t := range w.tasks {
		if t.done {
			s.table.Drop(t.ask.Holder)
			continue
		}
		a := s.table.Grant(t.ask, now)
		for _, g := range a.Grants {
			w.send(event.Fleet, g)
		}
		if a.Held {
			w.send(t.ask.Holder.Run, event.TaskDispatched{
				Task: t.ask.Holder.Task, Attempt: t.ask.Holder.Attempt, Pool: "linux", Lease: a.Lease,
			})
		}
		w.law.answer(t, a)
	}
	intents, _ := s.table.Decide(now, w.lives)
	for _, i := range intents {
		w.send(i.Run, i.Payload)
	}
	s.table.Sent(intents, now)
	if s.read == len(w.stream) {
		w.law.shown(s.table.Places())
	}
}

func (w *world) send(run release.RunID, p event.Payload) {
	if w.calm || w.d.roll("lose", 12) > 0 {
		w.say(run, p)
	}
}

// lives is what heartbeats tell.
func (w *world) lives(ref event.AttemptRef) bool {
	a := w.running[ref]
	return a != nil && a.started && !a.silent
}

// pick chooses an attempt in hand, in an order that the dice can repeat.
func (w *world) pick() (event.AttemptRef, *attempt) {
	var refs []event.AttemptRef
	for ref := range w.running {
		refs = append(refs, ref)
	}
	if len(refs) == 0 {
		return event.AttemptRef{}, nil
	}
	slices.SortFunc(refs, func(a, b event.AttemptRef) int {
		return compare(string(a.Run)+string(a.Task), string(b.Run)+string(b.Task), int(a.Attempt-b.Attempt))
	})
	ref := refs[w.d.roll("attempt", len(refs))]
	return ref, w.running[ref]
}

func compare(a, b string, n int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return n
	}
}

// execute takes an attempt one step further: it is started, proves its lease, works, and ends in some way.
func (w *world) execute() {
	ref, a := w.pick()
	if a == nil {
		return
	}
	if !a.started {
		a.started = true
		w.say(ref.Run, event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt, Pool: "linux", Executor: "x"})
		return
	}
	if !a.silent && lease.Prove(w.look, ref, a.d.Lease) == nil {
		w.law.use(ref, a.d.Lease)
	}
	w.finish(ref, a)
}

func (w *world) look(subject string) (event.Event, bool, error) {
	if i := w.taken[subject]; i > 0 {
		return w.stream[i-1], true, nil
	}
	return event.Event{}, false, nil
}

// finish ends an attempt: as its executor says, or as lost when that is silent.
func (w *world) finish(ref event.AttemptRef, a *attempt) {
	end := event.TaskFinished{
		Pool: "linux",
		Task: ref.Task, Attempt: ref.Attempt, Class: release.ClassOK, Phases: []event.Phase{{Name: "test"}, {Name: "cleanup"}},
	}
	how := w.d.roll("end", 12)
	switch {
	case a.silent:
		end.Class, end.Reason, end.Phases = release.ClassLost, "silent", nil
	case lease.Prove(w.look, ref, a.d.Lease) != nil:
		end.Class, end.Phases = release.ClassInfra, nil
	case w.calm, how > 6:
	case how == 0:
		end.Class = release.ClassInfra
	case how == 1:
		end.Unclean = "cannot remove /data"
	case how == 2:
		end.Class, end.Phases = release.ClassCancelled, nil
	case how == 3 && ref.Run == "r":
		end.Class, end.KeptUntil = release.ClassCommand, w.now.Add(2*time.Minute)
	case how == 4:
		end.Class = release.ClassCommand
	}
	end.Outcome = end.Class.Outcome()
	delete(w.running, ref)
	w.law.finish(ref, end)
	w.say(ref.Run, end)
	w.again(ref, end.Class)
}

// again makes the next attempt of a task that was not to blame.
func (w *world) again(ref event.AttemptRef, class release.Class) {
	for _, t := range w.tasks {
		if t.ask.Holder != ref {
			continue
		}
		if class.Outcome() != release.Error {
			t.done = true
			return
		}
		for _, s := range w.schedulers {
			s.table.Drop(ref)
		}
		t.ask.Holder.Attempt++
	}
}

// disturb does what happens to installations.
func (w *world) disturb() {
	s := w.schedulers[w.d.roll("whose", len(w.schedulers))]
	place := fmt.Sprint("p", w.d.roll("which", 4))
	switch w.d.roll("disturb", 8) {
	case 0, 1:
		if _, a := w.pick(); a != nil && a.started {
			a.silent = true
		}
	case 2:
		s.table, s.read = lease.New(simConfig), 0
		w.hear(s, len(w.stream))
	case 3:
		s.offset += time.Duration(w.d.roll("jump", 7)-3) * 10 * time.Minute
	case 4:
		n := len(w.stream)
		w.say(event.Fleet, event.PlaceDrainRequested{Provider: "lab", Place: place, Request: fmt.Sprint(n), By: "ann", Resume: w.d.roll("resume", 2) == 0})
	case 5:
		w.person(place, release.PlaceFree)
	case 6:
		w.person(place, release.PlaceCleanupPending)
	default:
		if t := w.tasks[w.d.roll("task", len(w.tasks))]; w.running[t.ask.Holder] == nil {
			t.done = true
		}
	}
}

// person says what a place is good for now.
func (w *world) person(place string, state release.PlaceState) {
	p := w.law.places[place]
	if p == nil || state == release.PlaceFree && len(p.live) > 0 {
		return
	}
	w.say(event.Fleet, event.PlaceChanged{Provider: "lab", Place: place, Change: p.change + 1, State: state, By: "ann", Reason: "ann said so"})
}
