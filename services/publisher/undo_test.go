package publisher

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// undone publishes an older release, commits a newer one, and takes that back: users see what they saw before.
func undone(t *testing.T, w *world) {
	older, newer := candidate(t, w.release(t, "one")), candidate(t, w.release(t, "two"))
	if w.name == "oci" {
		w.target.Options["tags"], w.target.Options["moving_tags"] = "1.0, latest", "1.0,latest"
	}
	if kindNamed(w.target.Kind).Undoes != is[undoer](w.open(t).(guarded).target) {
		t.Fatalf("the table says of %s that it undoes: %v", w.target.Kind, kindNamed(w.target.Kind).Undoes)
	}
	if !kindNamed(w.target.Kind).Undoes {
		if err := w.open(t).(undoer).Undo(t.Context(), newer); !fault.Is(err, fault.Invalid) {
			t.Fatalf("what cannot be undone was undone: %v", err)
		}
		return
	}
	if w.name == "oci" { // an index has one file of a name for ever
		check(t, publish(t, w, older))
	}
	before := w.visible(t)
	for range 2 {
		p := newProgress("t", w.target.Kind)
		probe, err := w.open(t).Probe(t.Context(), newer)
		check(t, err)
		p.advance(event.Event{}, event.PublicationAdvanced{State: release.Probed, Files: published(probe), Shared: probe.Shared}, 0)
		check(t, publish(t, w, newer))
		if len(w.visible(t)) == 0 || reflect.DeepEqual(w.visible(t), before) {
			t.Fatal("a commit made nothing visible")
		}
		newer.Had = p.had
		for range 2 { // again changes nothing
			check(t, w.open(t).(undoer).Undo(t.Context(), newer))
			if now := w.visible(t); !reflect.DeepEqual(now, before) {
				t.Fatalf("users see %v, before the release they saw %v", now, before)
			}
		}
	}
	// What was there with the same bytes before the release stays.
	check(t, publish(t, w, newer))
	all := w.visible(t)
	probe, err := w.open(t).Probe(t.Context(), newer)
	check(t, err)
	newer.Had = map[string]release.Digest{}
	for _, f := range probe.Files {
		newer.Had[f.Name] = f.Digest
	}
	check(t, w.open(t).(undoer).Undo(t.Context(), newer))
	if now := w.visible(t); !reflect.DeepEqual(now, all) {
		t.Fatalf("users see %v, before the release they saw %v", now, all)
	}
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// TestAPartialReleaseIsUndone: the index took the release and PyPI refused it. Whoever undoes it takes the index's part back; a
// retry begins anew.
func TestAPartialReleaseIsUndone(t *testing.T) {
	t.Parallel()
	index, pypi := event.TargetName{Name: "index", Kind: "pypi-index"}, event.TargetName{Name: "pypi", Kind: "pypi"}
	all := newSagas()
	seq := 0
	say := func(p event.Payload) {
		seq++
		all.apply(factAt(seq, p))
	}
	next := func() []event.Payload {
		out, _ := all.decide(sagaRun, time.Time{})
		for _, p := range out {
			say(p)
		}
		return out
	}
	reach := func(to event.TargetName, round int32, states ...release.PublicationState) {
		for _, s := range states {
			say(event.PublicationAdvanced{Target: to.Name, Kind: to.Kind, State: s, Round: round})
			next()
		}
	}
	say(plannedFact(release.Push, "master", index, pypi))
	say(openedFact())
	next()
	reach(index, 0, release.Probed, release.Staged)
	reach(pypi, 0, release.Probed, release.Staged)
	reach(index, 0, release.Committed, release.Verified)
	say(event.PublicationFailed{Target: "pypi", Kind: "pypi", State: release.Committed, Fault: "denied", Reason: "the token has expired"})
	if out := next(); len(out) != 1 || out[0].EventType() != event.TypeReleaseFailed {
		t.Fatalf("a refused commit was followed by %v", out)
	}
	say(event.PublicationUndoRequested{Request: "u", By: "ann", Reason: "half a release"})
	out := next()
	if len(out) != 1 || out[0].(event.PublicationRequested).State != release.Undone || out[0].(event.PublicationRequested).Target != "index" {
		t.Fatalf("an undo was followed by %v", out)
	}
	if may := all.permit(sagaRun, out[0].(event.PublicationRequested), time.Time{}); may.gone || may.made || may.refuse != "" {
		t.Fatalf("the undo is not permitted: %+v", may)
	}
	say(event.PublicationAdvanced{Target: "index", Kind: "pypi-index", State: release.Undone, Round: 1})
	out = next()
	if len(out) != 1 || out[0].EventType() != event.TypeReleaseFailed {
		t.Fatalf("what was undone was followed by %v", out)
	}
	reasons := strings.Join(out[0].(event.ReleaseFailed).Reasons, "\n")
	for _, want := range []string{"taken back by ann: half a release", "index: what was visible has been taken back"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("the reasons lack %q:\n%s", want, reasons)
		}
	}
	for _, e := range []event.Payload{ // an old fact that comes again brings nothing back
		event.PublicationRequested{Target: "index", Kind: "pypi-index", State: release.Committed},
		event.PublicationAdvanced{Target: "index", Kind: "pypi-index", State: release.Verified},
	} {
		all.apply(factAt(3, e))
	}
	if all.of[sagaRun].targets["index"].visible() {
		t.Error("a fact from before the undo makes the target visible")
	}
	say(event.PublicationRetryRequested{Request: "r"})
	if out = next(); len(out) != 2 || out[0].(event.PublicationRequested).State != release.Probed {
		t.Fatalf("a retry was followed by %v", out)
	}
}

// TestAnUndoWaitsForACommitThatIsUnderWay: it must not be made before what it takes back.
func TestAnUndoWaitsForACommitThatIsUnderWay(t *testing.T) {
	t.Parallel()
	index := event.TargetName{Name: "index", Kind: "pypi-index"}
	all, now := newSagas(), time.Unix(1e9, 0)
	seq := 0
	say := func(p event.Payload) {
		seq++
		e := factAt(seq, p)
		e.Time = now
		all.apply(e)
	}
	say(plannedFact(release.Push, "master", index))
	say(openedFact())
	for _, s := range []release.PublicationState{release.Probed, release.Staged} {
		say(event.PublicationAdvanced{Target: "index", Kind: "pypi-index", State: s})
	}
	say(event.PublicationRequested{Target: "index", Kind: "pypi-index", State: release.Committed})
	say(event.PublicationUndoRequested{Request: "u", By: "ann", Reason: "stop"})
	if out, waits := all.decide(sagaRun, now.Add(time.Minute)); len(out) != 0 || waits != sagaRun {
		t.Fatalf("with a commit under way the undo was followed by %v (waits for %q)", out, waits)
	}
	if out := all.of[sagaRun].standings(sagaRun); !strings.Contains(out[0].Reason, "may still be made") {
		t.Errorf("it says %q", out[0].Reason)
	}
	if out, _ := all.decide(sagaRun, now.Add(turn)); len(out) != 1 {
		t.Fatalf("a commit that hangs is waited for: %v", out)
	}
	say(event.PublicationAdvanced{Target: "index", Kind: "pypi-index", State: release.Committed})
	if out, _ := all.decide(sagaRun, now.Add(time.Minute)); len(out) != 1 || out[0].(event.PublicationRequested).State != release.Undone {
		t.Fatalf("when the commit has ended the undo was followed by %v", out)
	}
}

// TestTheEmergencyStopBreaksOffACommit: a registry hangs in a commit, and nobody waits for it.
func TestTheEmergencyStopBreaksOffACommit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.worlds = h.worlds[1:2]
	h.plan.Targets = h.plan.Targets[1:2]
	h.worlds[0].front.set("hang-writes")
	h.plan.Targets[0].Options["timeout"] = "10m"
	h.start()
	h.open("one")
	commit := func(e event.Event) bool {
		p, is := e.Data.(event.PublicationRequested)
		return is && p.State == release.Committed
	}
	h.facts(commit)
	h.worlds[0].front.awaitHanging(t)
	h.say(event.RunCancelRequested{Request: "stop", By: "ann", Reason: "the key is out", Now: true})
	end := h.last(h.facts(over)).Data.(event.ReleaseFailed)
	if text := strings.Join(end.Reasons, "\n"); !strings.Contains(text, "a part may be visible") || !strings.Contains(text, "ann: the key is out") {
		t.Errorf("it ended with %s", text)
	}
}

// TestAHoldBeforeTheIrreversible lets what can be undone go on, and nothing else.
func TestAHoldBeforeTheIrreversible(t *testing.T) {
	t.Parallel()
	o := newOrders()
	o.apply(factAt(5, event.GateHeld{Request: "h", By: "ann", Reason: "look at the index first", Before: release.Irreversible}), 1)
	for _, k := range Kinds() {
		why := o.held("t", k.Undoes)
		if (why == "") != k.Undoes || why != "" && !strings.Contains(why, "ann: look at the index first") {
			t.Errorf("a commit to %s: %q", k.Name, why)
		}
	}
}

// TestAnUndoGivesANameToTheNewestOther: between the probe and the commit of the newest run another one took the name. It is that
// one's again, not what stood there at the probe.
func TestAnUndoGivesANameToTheNewestOther(t *testing.T) {
	t.Parallel()
	image := event.TargetName{Name: "image", Kind: "oci"}
	all := newSagas()
	seq := uint64(0)
	say := func(run release.RunID, p event.Payload) {
		seq++
		e := event.Root(run, "/test/1", time.Time{}, p)
		e.Seq = seq
		all.apply(e)
	}
	advance := func(run release.RunID, s release.PublicationState, files ...event.PublishedFile) {
		say(run, event.PublicationAdvanced{Target: "image", Kind: "oci", State: s, Files: files, Shared: []string{"img:latest"}})
	}
	for _, run := range []release.RunID{"one", "two", "three"} {
		say(run, event.ChangeReceived{Change: plannedFact(release.Push, "master").Change})
		say(run, plannedFact(release.Push, "master", image))
		say(run, openedFact())
	}
	advance("three", release.Probed, event.PublishedFile{Name: "img:latest", Digest: "d3", Before: "d1"})
	advance("two", release.Probed, event.PublishedFile{Name: "img:latest", Digest: "d2", Before: "d1"})
	for _, run := range []release.RunID{"two", "three"} {
		advance(run, release.Committed)
	}
	if had := all.had("three", all.of["three"].targets["image"]); had["img:latest"] != "d2" {
		t.Errorf("three gives back %v", had)
	}
	say("three", event.PublicationUndoRequested{Request: "u"})
	say("three", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Undone, Round: 1})
	if h := all.held("img:latest"); h.run != "two" {
		t.Errorf("after the undo the name is with %s", h.run)
	}
	if had := all.had("two", all.of["two"].targets["image"]); had["img:latest"] != "d1" {
		t.Errorf("two gives back %v", had)
	}
}
