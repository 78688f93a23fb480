package lease_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestEnds: what each end of a holder leaves behind.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place event.PlaceRegistered
		end   func(l *lab, r event.AttemptRef)
		want  lease.State
	}{
		"finished and cleaned up":           {end: func(l *lab, r event.AttemptRef) { l.start(r); l.finish(r, release.ClassCommand) }, want: lease.Free},
		"cancelled and cleaned up":          {end: func(l *lab, r event.AttemptRef) { l.start(r); l.finish(r, release.ClassCancelled) }, want: lease.Free},
		"never started":                     {end: func(l *lab, r event.AttemptRef) { l.finish(r, release.ClassInfraTimeout) }, want: lease.Free},
		"never started on a place to clean": {place: event.PlaceRegistered{Clean: true}, end: func(l *lab, r event.AttemptRef) { l.finish(r, release.ClassCancelled) }, want: lease.Free},
		"lost":                              {end: func(l *lab, r event.AttemptRef) { l.start(r); l.finish(r, release.ClassLost) }, want: lease.CleanupPending},
		"unclean": {end: func(l *lab, r event.AttemptRef) {
			l.start(r)
			l.finish(r, release.ClassOK, func(f *event.TaskFinished) { f.Unclean = "/data is there" })
		}, want: lease.CleanupPending},
		"without a cleanup": {end: func(l *lab, r event.AttemptRef) {
			l.start(r)
			l.finish(r, release.ClassCancelled, func(f *event.TaskFinished) { f.Phases = nil })
		}, want: lease.CleanupPending},
		"kept for a person": {end: func(l *lab, r event.AttemptRef) {
			l.start(r)
			l.finish(r, release.ClassCommand, func(f *event.TaskFinished) { f.KeptUntil = noon.Add(time.Hour) })
		}, want: lease.Kept},
		"on a place to clean": {place: event.PlaceRegistered{Clean: true}, end: func(l *lab, r event.AttemptRef) { l.start(r); l.finish(r, release.ClassOK) }, want: lease.Cleaning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, lease.Config{}, c.place)
			l.must(l.ask("a", one))
			c.end(l, ref("a"))
			l.decide()
			l.state("p0", c.want)
			if again := l.grant(l.ask("b", one)); again.Held != (c.want == lease.Free) {
				t.Errorf("the next one: %+v", again)
			}
		})
	}
}

// TestAFreeWordIsNotBelieved: another scheduler, that had not heard of the start, says that the place is free.
func TestAFreeWordIsNotBelieved(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{})
	held := l.must(l.ask("a", one))
	l.start(ref("a"))
	l.say(event.Fleet, event.LeaseEnded{Provider: "lab", Place: "p0", Token: held.Places[0].Token, Holder: ref("a"), State: release.PlaceFree})
	l.state("p0", lease.CleanupPending)
	if a := l.grant(l.ask("b", one)); a.Held || !strings.Contains(a.Wait.Reason, "r/a/1 had not finished") {
		t.Fatalf("%+v", a)
	}
}

// TestProve: what an executor is told about its lease.
func TestProve(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{})
	held := l.must(l.ask("a", one))
	if err := lease.Prove(l.look, ref("a"), held); err != nil {
		t.Fatal(err)
	}
	never := release.Lease{Provider: "lab", Places: []release.Held{{Place: "p0", Token: 9}}}
	l.start(ref("a"))
	l.finish(ref("a"), release.ClassOK)
	l.decide()
	for want, err := range map[string]error{
		"it was never granted":         lease.Prove(l.look, ref("a"), never),
		"it was granted to r/a/1":      lease.Prove(l.look, ref("b"), held),
		"the lease has ended: r/a/1 h": lease.Prove(l.look, ref("a"), held),
	} {
		var lost *lease.Lost
		if !errors.As(err, &lost) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	away := errors.New("the stream is away")
	err := lease.Prove(func(string) (event.Event, bool, error) { return event.Event{}, false, away }, ref("a"), held)
	if !errors.Is(err, away) {
		t.Errorf("%v proves something", err)
	}
}

// TestGangsDoNotDeadlock: of two gangs that each got a part, by two schedulers, both give it back and one gets all.
func TestGangsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{}, event.PlaceRegistered{})
	two := release.LeaseRequest{Nodes: 2}
	a, b := l.ask("a", two), l.ask("b", two)
	l.say(event.Fleet, event.LeaseGranted{Provider: "lab", Place: "p0", Token: 1, Holder: a.Holder, Until: noon.Add(time.Hour)})
	l.say(event.Fleet, event.LeaseGranted{Provider: "lab", Place: "p1", Token: 1, Holder: b.Holder, Until: noon.Add(time.Hour)})
	for range 2 {
		l.grant(a)
		l.grant(b)
		l.decide()
	}
	if got := l.grant(a); !got.Held || len(got.Lease.Places) != 2 {
		t.Fatalf("%+v", got)
	}
	if got := l.grant(b); got.Held || !strings.Contains(got.Wait.Reason, "waits for 2 places of lab at once: p0 is held") {
		t.Fatalf("%+v", got)
	}
}

// TestAGangIsNotStarved: single tasks keep coming; a gang that was there before gets its places as soon as those who held
// them then are done.
func TestAGangIsNotStarved(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{}, event.PlaceRegistered{}, event.PlaceRegistered{})
	for i := range 3 {
		l.must(l.ask(fmt.Sprint("early", i), one))
		l.start(ref(fmt.Sprint("early", i)))
	}
	gang := l.ask("gang", release.LeaseRequest{Nodes: 3})
	l.grant(gang)
	for i := range 3 {
		l.finish(ref(fmt.Sprint("early", i)), release.ClassOK)
		l.decide()
		late := l.ask(fmt.Sprint("late", i), one)
		late.Since = noon.Add(time.Second)
		if a := l.grant(late); a.Held {
			t.Fatalf("%v got a place before the gang", late.Holder)
		}
	}
	l.must(gang)
	if w, ok := l.table.Explain(ref("late0"), l.now); !ok || w.Ahead != 0 || len(w.Blocked) != 3 || w.Blocked[0].Holders[0].Task != "gang" {
		t.Fatalf("%+v, %v", w, ok)
	}
}

// TestWhatCannotBeKeepsNobodyWaiting: a gang that needs what is drained waits, and others go on; one that asks for more
// than there is is told so.
func TestWhatCannotBeKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{}, event.PlaceRegistered{})
	l.say(event.Fleet, event.PlaceDrainRequested{Provider: "lab", Place: "p1", Request: "1", By: "ann", Reason: "new disks"})
	l.state("p1", lease.Drained)
	if a := l.grant(l.ask("gang", release.LeaseRequest{Nodes: 2})); a.Held || a.Wait.Never || !strings.Contains(a.Wait.Reason, "p1 is drained (by ann; new disks)") {
		t.Fatalf("%+v", a)
	}
	l.must(l.ask("single", one))
	for _, r := range []release.LeaseRequest{{Nodes: 3}, {Places: []string{"rack-*"}}, {Shared: true}} {
		if a := l.grant(l.ask("never", r)); !a.Wait.Never || !strings.Contains(a.Wait.Reason, "cannot lease") {
			t.Errorf("%+v: %+v", r, a)
		}
	}
}

func TestSharedPlacesTakeAsManyAsTheyCan(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Capacity: 2})
	shared := release.LeaseRequest{Shared: true}
	l.must(l.ask("a", shared))
	l.must(l.ask("b", shared))
	if l.grant(l.ask("c", shared)).Held || l.grant(l.ask("d", one)).Held {
		t.Fatal("it is full")
	}
	l.start(ref("a"))
	l.finish(ref("a"), release.ClassLost)
	l.decide()
	if a := l.grant(l.ask("c", shared)); a.Held {
		t.Fatal("somebody left a mess, and another joins in it")
	}
}

// TestRestart: a new table of the same stream shows the same, and takes nothing from those that it has not heard yet.
func TestRestart(t *testing.T) {
	t.Parallel()
	cfg := lease.Config{Term: time.Minute}
	l := newLab(t, cfg, event.PlaceRegistered{}, event.PlaceRegistered{Clean: true})
	l.must(l.ask("a", one))
	l.must(l.ask("b", one))
	l.start(ref("a"))
	l.start(ref("b"))
	l.finish(ref("b"), release.ClassOK)
	l.decide()
	before := l.table.Places()
	l.now = l.now.Add(24 * time.Hour) // it was away for a day
	l.restart(cfg)
	if after := l.table.Places(); !reflect.DeepEqual(before, after) {
		t.Fatalf("%+v\nwas\n%+v", after, before)
	}
	delete(l.living, ref("a"))
	l.decide()
	l.state("p0", lease.Leased)
	l.pass(5 * time.Second)
	l.living[ref("a")] = true
	l.pass(10 * time.Minute)
	l.state("p0", lease.Leased)
	delete(l.living, ref("a"))
	l.pass(2 * time.Minute)
	l.state("p0", lease.CleanupPending)
}

// TestClockJumps: forward it frees no place of a living holder, backward it leaves none for ever.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{48 * time.Hour, -48 * time.Hour} {
		l := newLab(t, lease.Config{Term: 10 * time.Minute}, event.PlaceRegistered{})
		l.must(l.ask("a", one))
		l.start(ref("a"))
		l.pass(time.Minute)
		l.now = l.now.Add(jump)
		l.pass(30 * time.Minute)
		l.state("p0", lease.Leased)
		delete(l.living, ref("a"))
		l.pass(11 * time.Minute)
		l.state("p0", lease.CleanupPending)
	}
}

// TestFor: who holds a place for longer than it asked is told to stop, and loses it only when it does not.
func TestFor(t *testing.T) {
	t.Parallel()
	for _, span := range []time.Duration{5 * time.Minute, 2 * time.Hour} {
		l := newLab(t, lease.Config{}, event.PlaceRegistered{})
		l.must(l.ask("a", release.LeaseRequest{For: release.Duration(span)}))
		l.start(ref("a"))
		for _, p := range l.pass(span - 10*time.Second) {
			if _, renewed := p.(event.LeaseRenewed); !renewed || span < time.Hour {
				t.Fatalf("too early: %#v", p)
			}
		}
		told := l.pass(20 * time.Second)
		if len(told) != 1 || told[0].EventType() != event.TypeTaskCancelRequested {
			t.Fatalf("%+v", told)
		}
		l.state("p0", lease.Leased)
		l.pass(16 * time.Minute)
		l.state("p0", lease.CleanupPending)
	}
}

// TestUndispatchedLeasesAreGivenBack: of a task that was cancelled meanwhile, or whose scheduler died.
func TestUndispatchedLeasesAreGivenBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{})
	a := l.ask("a", one)
	for _, g := range l.table.Grant(a, l.now).Grants {
		l.say(event.Fleet, g)
	}
	l.table.Drop(a.Holder)
	l.pass(30 * time.Second)
	l.state("p0", lease.Free)
	l.must(l.ask("b", one))
}
