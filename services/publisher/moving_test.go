package publisher

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

// TestAMovingTagMayMoveOn is two releases at the same time: the second takes "latest" before the first has looked whether it
// got it. That is well when the second was pushed later; else the move was dropped, or taken back, and is made again.
func TestAMovingTagMayMoveOn(t *testing.T) {
	t.Parallel()
	w := ociWorld(t, false)
	w.target.Options["tags"], w.target.Options["moving_tags"] = "latest", "latest"
	first, second := candidate(t, w.release(t, "one")), candidate(t, w.release(t, "two"))
	var probe Probe
	for _, r := range []Release{first, second} {
		var err error
		probe, err = w.open(t).Probe(t.Context(), r)
		check(t, err)
		check(t, w.open(t).Stage(t.Context(), r))
		check(t, w.open(t).Commit(t.Context(), r))
	}
	first.Leave = probe.Shared
	check(t, w.open(t).Verify(t.Context(), first))
	check(t, w.open(t).Verify(t.Context(), second))
	first.Leave = nil
	if err := w.open(t).Verify(t.Context(), first); !fault.Is(err, fault.Transient) {
		t.Fatalf("a tag was taken back: %v, want it to be tried again", err)
	}
	check(t, w.open(t).Commit(t.Context(), first))
	check(t, w.open(t).Verify(t.Context(), first))
	w.target.Options["moving_tags"] = "other"
	if err := w.open(t).Verify(t.Context(), second); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a tag that must not move names another image: %v, want a conflict", err)
	}
}

// TestALateReleaseLeavesWhatMovedOn is an older run that commits after a newer one: its own tag is set, the moving one
// stays where it is.
func TestALateReleaseLeavesWhatMovedOn(t *testing.T) {
	t.Parallel()
	w := ociWorld(t, false)
	older, newer := candidate(t, w.release(t, "one")), candidate(t, w.release(t, "two"))
	for i, r := range []Release{newer, older} {
		w.target.Options["tags"], w.target.Options["moving_tags"] = []string{"2.0,latest", "1.0,latest"}[i], "latest"
		probe, err := w.open(t).Probe(t.Context(), r)
		check(t, err)
		if i == 1 {
			r.Leave = []string{nameIn(t, probe, ":latest")}
		}
		check(t, w.open(t).Stage(t.Context(), r))
		check(t, w.open(t).Commit(t.Context(), r))
		check(t, w.open(t).Verify(t.Context(), r))
	}
	w.target.Options["tags"] = "2.0,latest"
	if probe, err := w.open(t).Probe(t.Context(), newer); err != nil || probe.Present() != 2 {
		t.Errorf("of the newer release there is %s, %v", probe, err)
	}
	w.target.Options["tags"] = "1.0"
	if probe, err := w.open(t).Probe(t.Context(), older); err != nil || probe.Present() != 1 {
		t.Errorf("of the older release's own tag there is %s, %v", probe, err)
	}
}

func nameIn(t *testing.T, p Probe, suffix string) string {
	t.Helper()
	for _, f := range p.Files {
		if strings.HasSuffix(f.Name, suffix) {
			return f.Name
		}
	}
	t.Fatalf("%v has no name that ends in %s", p.Files, suffix)
	return ""
}

// rivals plays runs that give the same tag: facts are stored in one stream, a commit takes its time.
type rivals struct {
	*sagas
	*rapid.T
	seq  uint64
	asks []event.Event
	tag  release.RunID // whose image the tag names now
	ages map[release.RunID]uint64
	once map[string]bool
}

func (r *rivals) say(run release.RunID, p event.Payload) {
	e := event.Root(run, "/test/1", noonOf(r.seq), p)
	if r.once[e.Subject()] {
		return
	}
	r.once[e.Subject()] = true
	r.seq++
	e.Seq = r.seq
	if _, is := p.(event.RunPlanned); is {
		r.ages[run] = e.Seq
	}
	if _, is := p.(event.PublicationRequested); is {
		r.asks = append(r.asks, e)
	}
	r.apply(e)
}

func (r *rivals) decideAll() {
	for _, run := range slices.Sorted(maps.Keys(r.of)) {
		intents, _ := r.decide(run, noonOf(r.seq))
		for _, p := range intents {
			r.say(run, p)
		}
	}
}

// answer makes one step that was asked for, or fails at it.
func (r *rivals) answer(i int, fails bool) {
	e := r.asks[i]
	r.asks = slices.Delete(r.asks, i, i+1)
	p := e.Data.(event.PublicationRequested)
	if p.State == release.Committed {
		may := r.permit(e.Run, p, noonOf(r.seq))
		if may.wait != "" || may.refuse != "" || may.gone {
			r.Fatalf("a commit that was asked for may not be made: %+v", may)
		}
		if !slices.Contains(may.leave, "img:latest") {
			r.tag = e.Run
		}
	}
	if fails {
		r.say(e.Run, event.PublicationFailed{Target: p.Target, Kind: p.Kind, State: p.State, Round: p.Round, Reason: "denied"})
		return
	}
	done := event.PublicationAdvanced{Target: p.Target, Kind: p.Kind, State: p.State, Round: p.Round}
	if p.State == release.Probed {
		done.Shared = []string{"img:" + string(e.Run), "img:latest"}
	}
	r.say(e.Run, done)
}

// TestMovingTagsStayWithTheNewest: in whatever order runs are planned, let through, committed and fail, the tag ends at the
// run that was planned last of those that committed, no two commit at once, and every run comes to an end.
func TestMovingTagsStayWithTheNewest(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		r := &rivals{sagas: newSagas(), T: t, ages: map[release.RunID]uint64{}, once: map[string]bool{}}
		runs := []release.RunID{"run-a", "run-b", "run-c"}
		for _, i := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "planned") {
			r.say(runs[i], plannedFact(release.Push, "master", event.TargetName{Name: "image", Kind: "oci"}))
		}
		gates := rapid.Permutation(runs).Draw(t, "gates")
		for len(gates)+len(r.asks) > 0 {
			if len(gates) > 0 && (len(r.asks) == 0 || rapid.Bool().Draw(t, "gate")) {
				r.say(gates[0], openedFact())
				gates = gates[1:]
			} else {
				i := rapid.IntRange(0, len(r.asks)-1).Draw(t, "which")
				r.answer(i, r.asks[i].Data.(event.PublicationRequested).State == release.Staged && rapid.IntRange(0, 5).Draw(t, "fails") == 0)
			}
			if n := len(r.committing); n > 1 {
				t.Fatalf("%d runs commit at once", n)
			}
			r.decideAll()
		}
		r.judge()
	})
}

func (r *rivals) judge() {
	var newest release.RunID
	for run, s := range r.of {
		if !s.published && !s.failed[s.round] {
			r.Fatalf("run %s never ended", run)
		}
		if s.published && (newest == "" || r.ages[run] > r.ages[newest]) {
			newest = run
		}
	}
	if r.tag != newest {
		r.Fatalf("the tag names the image of %s, planned at %d; the newest is %s, planned at %d", r.tag, r.ages[r.tag], newest, r.ages[newest])
	}
}

// TestARerunIsAsOldAsItsRun lets the rerun of an old run commit after a newer run.
func TestARerunIsAsOldAsItsRun(t *testing.T) {
	t.Parallel()
	a := newSagas()
	again := plannedFact(release.Push, "master", event.TargetName{Name: "image", Kind: "oci"})
	again.Change.RerunOf = "old"
	for i, f := range []struct {
		run release.RunID
		p   event.Payload
	}{
		{"old", plannedFact(release.Push, "master", event.TargetName{Name: "image", Kind: "oci"})},
		{"new", plannedFact(release.Push, "master", event.TargetName{Name: "image", Kind: "oci"})},
		{"rerun", again},
		{"new", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Probed, Shared: []string{"img:latest"}}},
		{"new", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Committed}},
		{"new", event.ReleasePublished{}},
		{"rerun", openedFact()},
		{"rerun", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Probed, Shared: []string{"img:latest"}}},
		{"rerun", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Staged}},
	} {
		e := event.Root(f.run, "/test/1", noonOf(uint64(i)), f.p)
		e.Seq = uint64(i + 1)
		a.apply(e)
	}
	intents, _ := a.decide("rerun", noonOf(20))
	if len(intents) != 1 || !slices.Contains(a.permit("rerun", intents[0].(event.PublicationRequested), noonOf(20)).leave, "img:latest") {
		t.Errorf("the rerun goes on with %+v, want a commit that leaves the tag", intents)
	}
}

// TestACommitThatHangsHoldsUpNobodyForEver gives a run its turn when the commit of another has been under way for too long.
func TestACommitThatHangsHoldsUpNobodyForEver(t *testing.T) {
	t.Parallel()
	a := newSagas()
	names := []string{"img:latest"}
	for i, f := range []struct {
		run release.RunID
		p   event.Payload
	}{
		{"one", plannedFact(release.Push, "master", event.TargetName{Name: "image", Kind: "oci"})},
		{"two", plannedFact(release.Push, "master", event.TargetName{Name: "image", Kind: "oci"})},
		{"one", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Probed, Shared: names}},
		{"one", event.PublicationRequested{Target: "image", Kind: "oci", State: release.Committed}},
		{"two", openedFact()},
		{"two", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Probed, Shared: names}},
		{"two", event.PublicationAdvanced{Target: "image", Kind: "oci", State: release.Staged}},
	} {
		e := event.Root(f.run, "/test/1", noonOf(0), f.p)
		e.Seq = uint64(i + 1)
		a.apply(e)
	}
	if intents, waits := a.decide("two", noonOf(1)); waits != "one" || len(intents) != 0 {
		t.Errorf("beside a commit it waits for %q and says %+v", waits, intents)
	}
	if intents, waits := a.decide("two", noonOf(0).Add(turn)); waits != "" || len(intents) != 1 {
		t.Errorf("beside a commit that hangs it waits for %q and says %+v", waits, intents)
	}
}

func noonOf(n uint64) time.Time { return time.Unix(int64(n), 0) }
