package builder

import (
	"os"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestRerunOfAllUsesTheFrozenPlan makes all of a run again when its branch has moved, its repository is gone, and the
// builder would plan it otherwise: the plan is the same blob.
func TestRerunOfAllUsesTheFrozenPlan(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	closeIt := s.open(Config{Projects: map[string]Project{"acme/tiny": {ReleaseRefs: []string{"refs/heads/master"}}}})
	change := s.commit(map[string]string{"sluice.yaml": "settings: {a: 1}\n" + simple})
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	first := await[event.RunPlanned](s, change.RunID())
	closeIt()
	s.commit(map[string]string{"sluice.yaml": "broken"})
	must(t, os.RemoveAll(s.repo))
	s.open(Config{Set: []string{"a=2"}, Projects: map[string]Project{"acme/tiny": {ReleaseRefs: []string{"refs/heads/master"}}}})
	again := first.Change.Rerun(change.RunID(), "ann", "r1")
	if again.RunID() == change.RunID() {
		t.Fatal("the rerun is the run itself")
	}
	s.say(again.RunID(), event.ChangeReceived{Change: again})
	got := await[event.RunPlanned](s, again.RunID())
	if got.Plan != first.Plan || got.Change.RerunOf != change.RunID() || got.Change.RerunBy != "ann" || got.Release.Denied != "" {
		t.Errorf("the rerun is planned as %+v, want plan %s as it was", got, first.Plan)
	}
	if asked := await[event.TaskRequested](s, again.RunID()); asked.Task != "wheel" || asked.Plan != first.Plan {
		t.Errorf("requested %+v", asked)
	}
	third := got.Change.Rerun(again.RunID(), "bob", "r2")
	s.say(third.RunID(), event.ChangeReceived{Change: third})
	if p := await[event.RunPlanned](s, third.RunID()); p.Plan != first.Plan || p.Change.RerunOf != again.RunID() {
		t.Errorf("the rerun of a rerun is planned as %+v", p)
	}
}

// TestRerunMayNotPublishWhatTheInstallationNoLongerLets takes the right to publish back after a run was planned.
func TestRerunMayNotPublishWhatTheInstallationNoLongerLets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	closeIt := s.open(Config{Projects: map[string]Project{"acme/tiny": {ReleaseRefs: []string{"refs/heads/master"}}}})
	change := s.commit(map[string]string{"sluice.yaml": simple})
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	first := await[event.RunPlanned](s, change.RunID())
	closeIt()
	s.open(Config{})
	again := change.Rerun(change.RunID(), "ann", "r1")
	s.say(again.RunID(), event.ChangeReceived{Change: again})
	got := await[event.RunPlanned](s, again.RunID())
	if ok, _ := first.Release.Allows(first.Change); !ok {
		t.Fatal("the first run may not publish: this test shows nothing")
	}
	if ok, _ := got.Release.Allows(got.Change); ok || got.Plan != first.Plan || len(got.Targets) != 0 {
		t.Errorf("the rerun is planned as %+v, which may publish", got)
	}
}

func TestRerunsOfSomethingElseAreRefused(t *testing.T) {
	t.Parallel()
	commit := release.Commit("0123456789012345678901234567890123456789")
	own := release.Change{Kind: release.PullRequest, Repo: "acme/tiny", Ref: "refs/pull/7/head", Commit: commit, At: time.Unix(1, 0)}
	frozen := &plan.Plan{Change: own}
	if err := ofThePlan(frozen, own.Rerun("r", "ann", "x")); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*release.Change){
		"kind":   func(c *release.Change) { c.Kind = release.Push },
		"ref":    func(c *release.Change) { c.Ref = "refs/heads/master" },
		"repo":   func(c *release.Change) { c.Repo = "eve/tiny" },
		"commit": func(c *release.Change) { c.Commit = "1123456789012345678901234567890123456789" },
	} {
		c := own.Rerun("r", "ann", "x")
		spoil(&c)
		if err := ofThePlan(frozen, c); err == nil {
			t.Errorf("a plan was taken for another %s", name)
		}
	}
	if err := ofThePlan(nil, own); err == nil {
		t.Error("a run without a plan was run again")
	}
}
