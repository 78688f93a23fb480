package schedule

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// topic is a plan of a push to a branch, or of a pull request from it.
func topic(kind release.ChangeKind, commit string, branch string) event.RunPlanned {
	p := push(1, 0)
	p.Supersede = true
	p.Change = release.Change{Kind: kind, Project: "p", Repo: "o/r", Ref: "refs/heads/" + branch, Branch: branch, Commit: release.Commit(commit)}
	if kind == release.PullRequest {
		p.Change.Ref, p.Change.HeadRef, p.Change.Branch = "refs/pull/7/head", branch, "master"
	}
	return p
}

func TestSuperseded(t *testing.T) {
	t.Parallel()
	received := event.ChangeReceived{Change: release.Change{Kind: release.Push}}
	for name, c := range map[string]struct {
		facts func(b *bench)
		stale string // the run that is cancelled
	}{
		"a newer push": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"), requested("a"))
			b.store("new", topic(release.Push, "2222222222", "x"), requested("a"))
		}, "old"},
		"a pull request from the branch": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"))
			b.store("new", topic(release.PullRequest, "2222222222", "x"))
		}, ""},
		"a push that the repository did not confirm": {func(b *bench) {
			doubted := topic(release.Push, "2222222222", "x")
			doubted.Trust = release.TrustUntrusted
			b.store("old", topic(release.Push, "1111111111", "x"))
			b.store("new", doubted)
		}, ""},
		"planned in the other order": {func(b *bench) {
			b.store("old", received)
			b.store("new", received, topic(release.Push, "2222222222", "x"))
			b.store("old", topic(release.Push, "1111111111", "x"))
		}, "old"},
		"not asked for": {func(b *bench) {
			p := topic(release.Push, "1111111111", "x")
			p.Supersede = false
			b.store("old", p)
			b.store("new", topic(release.Push, "2222222222", "x"))
		}, ""},
		"another branch": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"))
			b.store("new", topic(release.Push, "2222222222", "y"))
		}, ""},
		"asked for by a person": {func(b *bench) {
			b.store("old", topic(release.Manual, "1111111111", "x"))
			b.store("new", topic(release.Push, "2222222222", "x"))
		}, ""},
		"the gate has opened": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"), event.GateOpened{})
			b.store("new", topic(release.Push, "2222222222", "x"))
		}, ""},
		"it has ended": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"), event.RunFinished{})
			b.store("new", topic(release.Push, "2222222222", "x"))
		}, ""},
		"the newer one has no plan": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"))
			b.store("new", received, event.RunRejected{})
		}, ""},
		"asked for again since": {func(b *bench) {
			b.store("old", topic(release.Push, "1111111111", "x"))
			b.store("new", topic(release.Push, "2222222222", "x"))
			b.store("old", event.RunRetryRequested{Request: "1"})
		}, ""},
		"a rerun makes none stale": {func(b *bench) {
			again := topic(release.Push, "1111111111", "x")
			again.Change = again.Change.Rerun("older", "ann", "1")
			b.store("new", topic(release.Push, "2222222222", "x"))
			b.store("again", again)
		}, ""},
		"a rerun is not made stale": {func(b *bench) {
			again := topic(release.Push, "1111111111", "x")
			again.Change = again.Change.Rerun("older", "ann", "1")
			b.store("again", again)
			b.store("new", topic(release.Push, "2222222222", "x"))
		}, ""},
	} {
		b := newBench(t, Config{})
		c.facts(b)
		b.follow()
		stale := ""
		for _, e := range b.stream {
			if p, is := e.Data.(event.RunCancelRequested); is {
				stale = string(e.Run)
				if p.Reason != "superseded by run new: commit 22222222 is newer on refs/heads/x" || p.By != "test-scheduler" {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
		if stale != c.stale {
			t.Errorf("%s: %q is cancelled, want %q", name, stale, c.stale)
		}
	}
}

// TestRunsThatWaitForPermissionAreSuperseded: nobody can permit an old head. One that waits ends no run that goes on.
func TestRunsThatWaitForPermissionAreSuperseded(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	planned := func(commit string) event.RunPlanned {
		p := topic(release.PullRequest, commit, "x")
		p.Trust = release.TrustUntrusted
		return p
	}
	waiting := func(commit string) event.RunPermissionRequested {
		return event.RunPermissionRequested{Change: planned(commit).Change, Reason: "a fork"}
	}
	states := func(want map[release.RunID]string) {
		t.Helper()
		b.follow()
		for run, state := range want {
			if why := Explain(b.s, run, "", b.now); why.State != state {
				t.Errorf("%s: %+v, want %s", run, why, state)
			}
		}
	}
	b.store("r1", event.ChangeReceived{Change: planned("1111111111").Change}, planned("1111111111"), requested("a"))
	b.store("r2", event.ChangeReceived{Change: planned("2222222222").Change}, waiting("2222222222"))
	states(map[release.RunID]string{"r1": "building", "r2": "unpermitted"})
	b.store("r3", event.ChangeReceived{Change: planned("3333333333").Change}, waiting("3333333333"))
	states(map[release.RunID]string{"r1": "building", "r2": "finished", "r3": "unpermitted"})
	other := waiting("4444444444")
	other.Change.Ref, other.Change.Number = "refs/pull/8/head", 8
	b.store("r4", event.ChangeReceived{Change: other.Change}, other)
	b.store("r3", planned("3333333333"), requested("a"))
	states(map[release.RunID]string{"r1": "finished", "r3": "building", "r4": "unpermitted"})
}

// TestSupersededRunsEndAndCanBeRetried: each of a burst but the last ends as cancelled; the last goes on.
func TestSupersededRunsEndAndCanBeRetried(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	for _, id := range []string{"1111111111", "2222222222", "3333333333"} {
		b.store(release.RunID("r"+id[:1]), topic(release.Push, id, "x"), requested("a"))
	}
	b.follow()
	for run, want := range map[release.RunID]string{"r1": "finished", "r2": "finished", "r3": "building"} {
		if why := Explain(b.s, run, "", b.now); why.State != want {
			t.Errorf("%s: %+v, want %s", run, why, want)
		}
	}
	if why := Explain(b.s, "r1", "", b.now); why.Outcome != release.Cancelled ||
		why.Reason != "the run was cancelled by test-scheduler: superseded by run r3: commit 33333333 is newer on refs/heads/x" {
		t.Errorf("%+v", why)
	}
	b.store("r1", event.RunRetryRequested{Request: "1"})
	b.follow()
	if why := Explain(b.s, "r1", "a", b.now); why.State != "dispatched" {
		t.Errorf("%+v, want it to go on", why)
	}
}
