package executor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestUntrustedChangesAreRefusedWhereNothingHoldsThem: an executor refuses what its driver cannot hold back although its pool
// accepts it, starts nothing of it, and says so in its heartbeat.
func TestUntrustedChangesAreRefusedWhereNothingHoldsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", func(c *Config) { c.Driver.Local.Isolation = "none" })
	for _, trust := range []release.Trust{release.TrustUntrusted, ""} { // No level is the lowest.
		task := plan.Task{ID: release.TaskID("job" + trust), Run: "echo it runs"}
		w.dispatch(task, func(p *plan.Plan, _ *event.TaskDispatched) { p.Trust = trust })
		f := await(w, event.TaskFinished{Pool: "linux", Task: task.ID, Attempt: 1})
		if f.Class != release.ClassConfig || !strings.Contains(f.Reason, "cannot run an untrusted change here") || strings.Contains(w.log(f), "it runs") {
			t.Errorf("trust %q: class %s (%s), log %q", trust, f.Class, f.Reason, w.log(f))
		}
	}
	for _, trust := range []release.Trust{release.TrustTrusted, release.TrustRelease} {
		task := plan.Task{ID: release.TaskID("job" + trust), Run: "echo it runs"}
		w.dispatch(task, func(p *plan.Plan, _ *event.TaskDispatched) { p.Trust = trust })
		if f := await(w, event.TaskFinished{Pool: "linux", Task: task.ID, Attempt: 1}); f.Class != release.ClassOK {
			t.Errorf("trust %s: class %s (%s)", trust, f.Class, f.Reason)
		}
	}
	w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool {
		i := b.Isolation
		return len(i.Held) == 0 && len(i.Missing) > 0 && strings.Contains(i.Refusal, "cannot run an untrusted change")
	})
}

// TestUntrustedPlansAreConfinedHereToo: an executor refuses images and networks that its installation does not list, whatever
// a plan says.
func TestUntrustedPlansAreConfinedHereToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", func(c *Config) {
		w.anyChange(c)
		c.Untrusted = Untrusted{Images: []string{"docker.io/library/python:*"}, Networks: []string{"lab"}}
	})
	for i, c := range []struct {
		trust          release.Trust
		image, network string
		refused        string
	}{
		{release.TrustUntrusted, "docker.io/library/python:3.12", "none", ""},
		{release.TrustUntrusted, "docker.io/evil/python:3.12", "", "docker.io/evil/python:3.12"},
		{release.TrustUntrusted, "", "full", `"full"`},
		{release.TrustUntrusted, "", "lab", ""},
		{"", "", "full", `"full"`}, // no level is the lowest
		{release.TrustTrusted, "docker.io/evil/python:3.12", "full", ""},
	} {
		task := plan.Task{ID: release.TaskID(fmt.Sprint("job", i)), Run: "echo it runs", Image: c.image, Network: c.network}
		w.dispatch(task, func(p *plan.Plan, _ *event.TaskDispatched) { p.Trust = c.trust })
		f := await(w, event.TaskFinished{Pool: "linux", Task: task.ID, Attempt: 1})
		ran := strings.Contains(w.log(f), "it runs")
		if ran != (c.refused == "") || !strings.Contains(f.Reason, c.refused) || !ran && f.Class != release.ClassConfig {
			t.Errorf("%+v: class %s (%s), log %q", c, f.Class, f.Reason, w.log(f))
		}
	}
}

// TestExecutorsRefuseWhatTheyDoNotAccept: an executor starts nothing of a change that it does not accept, whoever gave it out, and says
// in its heartbeat what it accepts. A plan without a level is untrusted.
func TestExecutorsRefuseWhatTheyDoNotAccept(t *testing.T) {
	t.Parallel()
	for name, accepts := range map[string][]release.Trust{"releases": {release.TrustRelease}, "own": {release.TrustRelease, release.TrustTrusted}, "all": release.Trusts()} {
		w := newWorld(t)
		w.start(name, func(c *Config) {
			w.anyChange(c)
			c.Accepts = accepts
		})
		for _, trust := range append(release.Trusts(), "") {
			task := plan.Task{ID: release.TaskID("job" + trust), Run: "echo it runs"}
			w.dispatch(task, func(p *plan.Plan, _ *event.TaskDispatched) { p.Trust = trust })
			f := await(w, event.TaskFinished{Pool: "linux", Task: task.ID, Attempt: 1})
			want := slices.Contains(accepts, cmp.Or(trust, release.TrustUntrusted))
			if ran := strings.Contains(w.log(f), "it runs"); ran != want || !want && (f.Class != release.ClassConfig || !strings.Contains(f.Reason, "changes only, and this change is")) {
				t.Errorf("%s, trust %q: it ran: %t; class %s (%s)", name, trust, ran, f.Class, f.Reason)
			}
		}
		w.awaitBeat(name, func(b event.ExecutorHeartbeat) bool { return slices.Equal(b.Accepts, accepts) })
	}
}
