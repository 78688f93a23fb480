package lease_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// lab is one table with a stream that stores whatever it wants, for tests of one thing.
type lab struct {
	t      *testing.T
	table  *lease.Table
	now    time.Time
	stream []event.Event
	taken  map[string]event.Event
	living map[event.AttemptRef]bool
}

func newLab(t *testing.T, cfg lease.Config, places ...event.PlaceRegistered) *lab {
	l := &lab{t: t, table: lease.New(cfg), now: noon, taken: map[string]event.Event{}, living: map[event.AttemptRef]bool{}}
	for i, p := range places {
		p.Provider, p.Version, p.Pool = "lab", "1", "linux"
		if p.Place == "" {
			p.Place = fmt.Sprint("p", i)
		}
		l.say(event.Fleet, p)
	}
	return l
}

func (l *lab) say(run release.RunID, p event.Payload) {
	e := event.Root(run, "/lab", l.now, p)
	if _, taken := l.taken[e.Subject()]; taken {
		return
	}
	e.Seq, e.Stored = uint64(len(l.stream)+1), l.now
	l.taken[e.Subject()] = e
	l.stream = append(l.stream, e)
	l.table.Apply(e)
}

func (l *lab) look(subject string) (event.Event, bool, error) {
	e, found := l.taken[subject]
	return e, found, nil
}

// restart makes a new table of the same stream.
func (l *lab) restart(cfg lease.Config) {
	l.table = lease.New(cfg)
	for _, e := range l.stream {
		l.table.Apply(e)
	}
}

func ref(task string) event.AttemptRef {
	return event.AttemptRef{Run: "r", Task: release.TaskID(task), Attempt: 1}
}

func (l *lab) ask(task string, r release.LeaseRequest) lease.Ask {
	r.Provider = "lab"
	return lease.Ask{Holder: ref(task), Request: r, Since: noon}
}

// grant asks until the answer needs nothing more to be stored, and dispatches what has its places.
func (l *lab) grant(a lease.Ask) lease.Answer {
	answer := l.table.Grant(a, l.now)
	for _, g := range answer.Grants {
		l.say(event.Fleet, g)
	}
	answer = l.table.Grant(a, l.now)
	if answer.Held {
		l.say(a.Holder.Run, event.TaskDispatched{Task: a.Holder.Task, Attempt: a.Holder.Attempt, Pool: "linux", Lease: answer.Lease})
	}
	return answer
}

// must grants what there has to be.
func (l *lab) must(a lease.Ask) release.Lease {
	l.t.Helper()
	answer := l.grant(a)
	if !answer.Held {
		l.t.Fatalf("%v waits: %s", a.Holder, answer.Wait.Reason)
	}
	return answer.Lease
}

func (l *lab) start(r event.AttemptRef) {
	l.living[r] = true
	l.say(r.Run, event.TaskStarted{Task: r.Task, Attempt: r.Attempt, Pool: "linux", Executor: "x"})
}

// finish ends an attempt as its executor does, after its cleanup.
func (l *lab) finish(r event.AttemptRef, class release.Class, change ...func(*event.TaskFinished)) {
	delete(l.living, r)
	f := event.TaskFinished{Task: r.Task, Attempt: r.Attempt, Pool: "linux", Class: class, Outcome: class.Outcome(), Phases: []event.Phase{{Name: "cleanup"}}}
	for _, c := range change {
		c(&f)
	}
	l.say(r.Run, f)
}

// decide stores what the table wants until it wants nothing more, and returns it.
func (l *lab) decide() (said []event.Payload) {
	l.t.Helper()
	for range 20 {
		intents, _ := l.table.Decide(l.now, func(r event.AttemptRef) bool { return l.living[r] })
		if len(intents) == 0 {
			return said
		}
		for _, i := range intents {
			l.say(i.Run, i.Payload)
			said = append(said, i.Payload)
		}
	}
	l.t.Fatalf("it never wants nothing: %+v", said[len(said)-3:])
	return nil
}

// pass lets time go by, with a look in every few seconds.
func (l *lab) pass(d time.Duration) (said []event.Payload) {
	l.t.Helper()
	for end := l.now.Add(d); l.now.Before(end); {
		l.now = l.now.Add(min(10*time.Second, end.Sub(l.now)))
		said = append(said, l.decide()...)
	}
	return said
}

// maintain runs the clean or check that waits for an executor at a place.
func (l *lab) maintain(place string, class release.Class) release.TaskID {
	l.t.Helper()
	l.decide()
	h := l.place(place).Holders
	if len(h) == 0 {
		l.t.Fatalf("nothing is done at %s: %+v", place, l.place(place))
	}
	l.start(h[0].AttemptRef)
	l.finish(h[0].AttemptRef, class)
	l.decide()
	return h[0].Task
}

func (l *lab) place(name string) lease.Place {
	l.t.Helper()
	all := l.table.Places()
	i := slices.IndexFunc(all, func(p lease.Place) bool { return p.Place == name })
	if i < 0 {
		l.t.Fatalf("there is no %s", name)
	}
	return all[i]
}

func (l *lab) state(name string, want lease.State) {
	l.t.Helper()
	if p := l.place(name); p.State != want {
		l.t.Fatalf("%s is %s (%s), want %s", name, p.State, p.Reason, want)
	}
}

var one = release.LeaseRequest{}
