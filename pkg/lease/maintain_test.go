package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestCleanThenCheck: a place that was used is cleaned, then checked, each under a lease of its own, then free.
func TestCleanThenCheck(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Clean: true, Health: true, Plan: "sha256:0", Address: "ssh://p0"})
	if got := l.maintain("p0", release.ClassOK); got != lease.TaskHealth {
		t.Fatalf("a new place gets a %s first", got)
	}
	l.must(l.ask("a", one))
	l.start(ref("a"))
	l.finish(ref("a"), release.ClassOK)
	l.decide()
	l.state("p0", lease.Cleaning)
	for _, want := range []release.TaskID{lease.TaskClean, lease.TaskHealth} {
		l.decide()
		h := l.place("p0").Holders[0]
		d, found := l.taken[event.Root(h.Run, "", noon, event.TaskDispatched{Task: want, Attempt: h.Attempt, Pool: "linux"}).Subject()]
		if !found {
			t.Fatalf("no %s was dispatched: %+v", want, l.place("p0"))
		}
		given := d.Data.(event.TaskDispatched)
		if err := lease.Prove(l.look, h.AttemptRef, given.Lease); err != nil || given.Lease.Places[0].Address != "ssh://p0" || given.Plan != "sha256:0" {
			t.Fatalf("%+v: %v", given, err)
		}
		l.maintain("p0", release.ClassOK)
	}
	l.state("p0", lease.Free)
}

// TestCleaningIsTriedAgain: with growing pauses, then the place is in quarantine; a lost executor is not the place's fault.
func TestCleaningIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Clean: true})
	l.must(l.ask("a", one))
	l.start(ref("a"))
	l.finish(ref("a"), release.ClassLost)
	for range 5 {
		l.maintain("p0", release.ClassLost)
		l.pass(5 * time.Minute)
	}
	for i := range 3 {
		l.state("p0", lease.Cleaning)
		l.maintain("p0", release.ClassCommand)
		if i < 2 {
			l.state("p0", lease.CleanupPending)
			l.pass(5 * time.Minute)
		}
	}
	l.state("p0", lease.Quarantined)
	if p := l.place("p0"); !strings.Contains(p.Reason, "3 failures in a row; the last: clean failed as command") {
		t.Fatalf("%+v", p)
	}
	l.pass(61 * time.Minute)
	l.maintain("p0", release.ClassOK)
	l.state("p0", lease.Free)
}

// TestQuarantineHasHysteresis: one failure sends it back, as many successes as are asked for bring it out.
func TestQuarantineHasHysteresis(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{Failures: 2, Successes: 2}, event.PlaceRegistered{Health: true})
	l.maintain("p0", release.ClassCommand)
	l.pass(time.Minute)
	l.maintain("p0", release.ClassCommand)
	l.state("p0", lease.Quarantined)
	l.pass(61 * time.Minute)
	l.maintain("p0", release.ClassOK)
	l.maintain("p0", release.ClassCommand)
	if p := l.place("p0"); p.State != lease.Quarantined || !strings.Contains(p.Reason, "it failed again") {
		t.Fatalf("%+v", p)
	}
	l.pass(61 * time.Minute)
	l.maintain("p0", release.ClassOK)
	if got := l.grant(l.ask("a", one)); got.Held {
		t.Fatal("one success is not enough")
	}
	l.maintain("p0", release.ClassOK)
	l.must(l.ask("a", one))
}

// TestHealthIsCheckedBeforeALease: when the last check is old, and after the platform's fault.
func TestHealthIsCheckedBeforeALease(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Health: true})
	l.maintain("p0", release.ClassOK)
	l.must(l.ask("a", one))
	l.start(ref("a"))
	l.finish(ref("a"), release.ClassInfra)
	if got := l.maintain("p0", release.ClassOK); got != lease.TaskHealth {
		t.Fatalf("after the platform's fault it gets a %s", got)
	}
	l.state("p0", lease.Free)
	l.pass(20 * time.Minute)
	l.state("p0", lease.Free) // nobody wants it, so nobody looks
	if got := l.grant(l.ask("b", one)); got.Held {
		t.Fatal("the check is old")
	}
	l.maintain("p0", release.ClassOK)
	l.must(l.ask("b", one))
}

// TestAPerson drains, resumes and releases.
func TestAPerson(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Clean: true}, event.PlaceRegistered{})
	l.must(l.ask("a", release.LeaseRequest{Places: []string{"p0"}}))
	l.start(ref("a"))
	l.say(event.Fleet, event.PlaceDrainRequested{Provider: "lab", Place: "p0", Request: "1", By: "ann"})
	if p := l.place("p0"); p.State != lease.Leased || !strings.Contains(p.Reason, "drained after that: by ann") {
		t.Fatalf("%+v", p)
	}
	l.finish(ref("a"), release.ClassOK)
	l.pass(time.Minute)
	l.state("p0", lease.Drained) // and nothing cleans it while a person is there
	l.say(event.Fleet, event.PlaceDrainRequested{Provider: "lab", Place: "p0", Request: "2", Resume: true, By: "ann"})
	l.maintain("p0", release.ClassOK)
	l.state("p0", lease.Free)

	l.must(l.ask("b", release.LeaseRequest{Places: []string{"p1"}}))
	l.start(ref("b"))
	l.finish(ref("b"), release.ClassCommand, func(f *event.TaskFinished) { f.KeptUntil = noon.Add(time.Hour) })
	l.pass(time.Minute)
	l.state("p1", lease.Kept)
	l.say(event.Fleet, event.PlaceChanged{Provider: "lab", Place: "p1", Change: 1, State: release.PlaceCleanupPending, By: "ann", Reason: "seen enough"})
	l.decide()
	if p := l.place("p1"); p.State != lease.CleanupPending || !strings.Contains(p.Reason, "a person must release it") {
		t.Fatalf("%+v", p)
	}
	l.say(event.Fleet, event.PlaceChanged{Provider: "lab", Place: "p1", Change: 2, State: release.PlaceFree, By: "ann"})
	l.state("p1", lease.Free)
}

// TestKeepingEnds: by itself, and not because a clock jumped back.
func TestKeepingEnds(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{0, -48 * time.Hour} {
		l := newLab(t, lease.Config{}, event.PlaceRegistered{})
		l.must(l.ask("a", one))
		l.start(ref("a"))
		l.finish(ref("a"), release.ClassCommand, func(f *event.TaskFinished) { f.KeptUntil = noon.Add(time.Hour) })
		l.pass(time.Minute)
		l.now = l.now.Add(jump)
		l.pass(50 * time.Minute)
		l.state("p0", lease.Kept)
		l.pass(12 * time.Minute)
		l.state("p0", lease.CleanupPending)
	}
}

// TestUnstartedMaintenance: a pool without executors gets another clean after a while, not one each second.
func TestUnstartedMaintenance(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Clean: true})
	l.must(l.ask("a", one))
	l.start(ref("a"))
	l.finish(ref("a"), release.ClassOK)
	said := l.pass(3*time.Hour + time.Minute)
	cleans := 0
	for _, p := range said {
		if d, ok := p.(event.TaskDispatched); ok && d.Task == lease.TaskClean {
			cleans++
		}
	}
	if cleans != 4 || !strings.Contains(l.place("p0").Reason, "waits for an executor of pool linux") {
		t.Fatalf("%d cleans; %+v", cleans, l.place("p0"))
	}
}
