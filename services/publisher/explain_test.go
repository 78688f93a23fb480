package publisher

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestStandingsSayWhatIsWaitedFor: a target that comes later says for whom it waits and how far that one is, and the first never
// waits for a later one; a step that is tried again says its last error and when it is tried next.
func TestStandingsSayWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	index, pypi := event.TargetName{Name: "index", Kind: "pypi-index"}, event.TargetName{Name: "pypi", Kind: "pypi"}
	b, now := newBook(nil), time.Unix(1e9, 0).UTC()
	seq := uint64(0)
	say := func(p event.Payload) {
		seq++
		e := event.Root(sagaRun, "/test/1", now, p)
		e.Seq = seq
		b.take(bus.Batch{Events: []event.Event{e}, Last: seq})
	}
	want := func(target, reason string, waits int) {
		t.Helper()
		for _, one := range b.standings(sagaRun, now) {
			if one.Target == target && !strings.Contains(one.String(), reason) {
				t.Errorf("%s says %q, want %q", target, one.String(), reason)
			}
		}
		if got := b.waiting(now); len(got) != waits {
			t.Errorf("%d publications wait, want %d: %q", len(got), waits, got)
		}
	}
	say(plannedFact(release.Push, "master", index, pypi))
	if got := b.standings(sagaRun, now); got != nil {
		t.Errorf("before the gate opens there is %v", got)
	}
	say(openedFact())
	for _, s := range []release.PublicationState{release.Probed, release.Staged} {
		say(event.PublicationAdvanced{Target: "index", Kind: "pypi-index", State: s})
	}
	want("index", "nothing is committed before everything is staged, and pypi is planned", 1)
	say(event.PublicationRequested{Target: "pypi", Kind: "pypi", State: release.Probed})
	say(event.PublicationDelayed{Target: "pypi", Kind: "pypi", State: release.Probed, Tried: 6, Reason: "503 Service Unavailable", Next: now.Add(time.Minute), Until: now.Add(time.Hour)})
	want("pypi", "target pypi: it is to be probed: 503 Service Unavailable (tried 6 times, next at 2001-09-09T01:47:40Z, given up at 2001-09-09T02:46:40Z), since 2001-09-09T01:46:40Z", 2)
	b.delayed(sagaRun, event.PublicationDelayed{Target: "pypi", State: release.Probed, Tried: 7, Reason: "502 Bad Gateway", Next: now.Add(2 * time.Minute)})
	want("pypi", "502 Bad Gateway (tried 7 times", 2)
	for _, s := range []release.PublicationState{release.Probed, release.Staged} {
		say(event.PublicationAdvanced{Target: "pypi", Kind: "pypi", State: s})
	}
	want("index", "the next step is being asked for", 1)
	want("pypi", "what is harder to undo is committed later: index goes first and is staged", 1)
	say(event.GateHeld{Request: "h", By: "ann", Reason: "wait for the docs"})
	want("index", "the run is held by ann: wait for the docs", 2)
	say(event.GateResumed{Request: "h"})
	for _, to := range []event.TargetName{index, pypi} {
		for _, s := range []release.PublicationState{release.Committed, release.Verified} {
			say(event.PublicationAdvanced{Target: to.Name, Kind: to.Kind, State: s})
		}
	}
	want("index", "it is there, downloaded again and compared", 0)
	say(event.ReleasePublished{})
	want("", "", 0)
}

// TestADryRunPublishesNothing asks for a candidate that would be published, and for one that could not be.
func TestADryRunPublishesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	check(t, publish(t, h.worlds[3], candidate(t, h.worlds[3].release(t, "other"))))
	taken := h.worlds[3].visible(t)
	h.start()
	h.assemble("one")
	h.facts(func(e event.Event) bool { return e.Type == event.TypePublicationChecked })
	var said rehearsal
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var err error
		said, err = bus.AskFor[question, rehearsal](t.Context(), h.bus, TopicRehearsal, question{h.run}, time.Minute)
		if err == nil && said.Refused != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", said, err)
		}
	}
	if len(said.Targets) != len(h.worlds) || said.Refused != "the gate has not opened" {
		t.Fatalf("%+v", said)
	}
	for i, target := range said.Targets {
		if want := map[string]string{"t3": "conflict"}[target.Target]; target.Fault != want {
			t.Errorf("%s: %q %s, want %q", target.Target, target.Fault, target.Reason, want)
		}
		if i > 0 && rankOf(target.Kind) < rankOf(said.Targets[i-1].Kind) {
			t.Errorf("%s comes after %s", target.Kind, said.Targets[i-1].Kind)
		}
	}
	for i, w := range h.worlds {
		if seen := w.visible(t); len(seen) != 0 && (i != 3 || len(seen) != len(taken)) {
			t.Errorf("%s has %v", w.target.Name, seen)
		}
	}
}
