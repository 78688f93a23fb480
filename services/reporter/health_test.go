package reporter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func healthConfig(url string) Config {
	return Config{PublicURL: "https://sluice.example", Projects: []Project{{
		Name: "rillkit", Forge: "github", Repo: "rill/rillkit", BaseURL: url, Token: "forge",
		Health: &Health{Issues: true, Owner: "core", Bisect: &Bisect{}},
	}}}
}

// night tells of one nightly run of a soak test, the n-th, and how it ended.
func (w *world) night(n int, class release.Class, change func(*release.Change)) release.RunID {
	w.t.Helper()
	c := release.Change{
		Kind: release.Schedule, Project: "rillkit", Repo: "rill/rillkit", Ref: "refs/heads/master", Branch: "master",
		Commit: release.Commit(fmt.Sprintf("%040x", n+1)), Nonce: strconv.Itoa(n), At: time.Now().UTC().Add(time.Duration(n) * time.Hour),
		Parameters: map[string]string{"schedule": "nightly"},
	}
	if change != nil {
		change(&c)
	}
	p := plan.Plan{Project: "rillkit", Change: c, Tasks: []plan.Task{
		{ID: "wheel", Pool: "linux", Name: "wheel", Kind: release.Build},
		{ID: "soak_smoke", Pool: "linux", Name: "soak.aws [smoke test]", Kind: release.Test, Frequency: "nightly", Stable: true, Team: "perf", Variables: map[string]string{"RAY_TEST_NAME": "soak.aws"}},
		{ID: "left", Pool: "linux", Name: "left", Kind: release.Test, Frequency: "nightly"},
	}}
	text, digest, err := p.Encode()
	must(w.t, err)
	_, err = blob.PutBytes(w.t.Context(), w.blobs, text)
	must(w.t, err)
	run := c.RunID()
	w.say(run, time.Now(), event.RunPlanned{Change: c, Plan: digest, Release: release.ReleasePolicy{Branch: "master"}})
	w.say(run, time.Now(), event.TaskFinished{Pool: "linux", Task: "wheel", Attempt: 1, Outcome: release.Success, Class: release.ClassOK})
	w.say(run, time.Now(), event.TaskFinished{Pool: "linux", Task: "soak_smoke", Attempt: 1, Outcome: class.Outcome(), Class: class})
	if class != release.ClassOK {
		w.say(run, time.Now(), event.TaskConcluded{Task: "soak_smoke", Attempts: 1, Outcome: class.Outcome(), Class: class, Reason: "too slow"})
	}
	w.say(run, time.Now(), event.TaskConcluded{Task: "left", Outcome: release.Failure, Class: release.ClassConfig})
	w.say(run, time.Now(), event.RunFinished{Outcome: class.Outcome()})
	return run
}

// moves are the states of the test in their order.
func (w *world) moves() []string {
	w.t.Helper()
	var out []string
	for n := int32(1); ; n++ {
		e, err := w.bus.Get(w.t.Context(), event.Root(event.Fleet, "/t", time.Time{}, event.TestMoved{Project: "rillkit", Test: "soak.aws", Number: n}).Subject())
		if bus.Empty(err) {
			return out
		}
		must(w.t, err)
		out = append(out, e.Data.(event.TestMoved).To)
	}
}

func (w *world) movedTo(states ...string) {
	w.t.Helper()
	eventually(w.t, func() bool { return slices.Equal(w.moves(), states) })
}

// TestHealthOfATest takes a test through its states, with its issue and its jail, over a forge that is away and restarts.
func TestHealthOfATest(t *testing.T) {
	t.Parallel()
	f, stop := forgetest.Start("rill/rillkit")
	t.Cleanup(stop)
	config := healthConfig(f.URL)
	w := begin(t, config)
	w.night(0, release.ClassOK, nil)
	w.night(1, release.ClassAlert, func(c *release.Change) { c.Kind = release.Manual })                       // says nothing of the branch
	w.night(2, release.ClassAlert, func(c *release.Change) { c.Branch, c.Ref = "topic", "refs/heads/topic" }) // nor does this
	w.night(3, release.ClassAlert, nil)
	w.movedTo("failing")
	again := func() {
		w.stop()
		<-w.ended
		w.serve(config)
	}
	again()
	f.Mute(true) // the issue is opened, and nobody hears of it
	w.night(4, release.ClassInfra, nil)
	w.movedTo("failing", "consistently_failing")
	eventually(t, func() bool { return len(f.Issues()) == 1 })
	again()
	f.Mute(false)
	w.night(5, release.ClassTimeout, nil)
	w.movedTo("failing", "consistently_failing", "jailed")
	eventually(t, func() bool {
		i := f.Issues()[0]
		return i.Open && slices.Contains(i.Labels, "jailed-test") && strings.Contains(strings.Join(f.Comments(i.Number), "\n"), "perf owns it until then")
	})
	again()
	w.night(6, release.ClassOK, nil)
	w.movedTo("failing", "consistently_failing", "jailed", "passing")
	eventually(t, func() bool { return !f.Issues()[0].Open })
	w.night(7, release.ClassOK, nil)
	eventually(t, func() bool { return w.lag("reporter-judge") == 0 && w.lag("reporter-issue") == 0 })
	if n := len(f.Issues()); n != 1 {
		t.Errorf("there are %d issues: %+v", n, f.Issues())
	}
	for _, comment := range f.Comments(f.Issues()[0].Number) {
		if strings.Count(strings.Join(f.Comments(f.Issues()[0].Number), "\n"), comment) != 1 {
			t.Errorf("%q stands there twice", comment)
		}
	}
	w.wantsABisection()
}

// wantsABisection looks that the first failure asked who it was, once, between the runs around it.
func (w *world) wantsABisection() {
	w.t.Helper()
	f, err := w.bus.Follow(w.t.Context(), bus.Following{Name: "test", Types: []event.Type{event.TypeBisectRequested}})
	must(w.t, err)
	defer f.Close()
	batch, err := f.Next(w.t.Context(), time.Minute)
	must(w.t, err)
	if len(batch.Events) != 1 {
		w.t.Fatalf("there are %d bisections", len(batch.Events))
	}
	b := batch.Events[0].Data.(event.BisectRequested)
	if b.Good != release.Commit(fmt.Sprintf("%040x", 1)) || b.Bad != release.Commit(fmt.Sprintf("%040x", 4)) || b.Task != "soak_smoke" ||
		b.Parameters["schedule"] != "nightly" || b.Budget == 0 || b.Deadline.IsZero() {
		w.t.Errorf("asked for is %+v", b)
	}
	w.say(event.Fleet, time.Now(), event.BisectEnded{Bisect: b.Bisect, Project: b.Project, Test: b.Test, Blamed: b.Bad, Reason: "it fails"})
	eventually(w.t, func() bool { return w.lag("reporter-blame") == 0 })
}

// TestAPersonsWordEndsAJail frees a test and jails it again: results of before count no more.
func TestAPersonsWordEndsAJail(t *testing.T) {
	t.Parallel()
	config := healthConfig("")
	config.Projects[0].Health = &Health{}
	w := begin(t, config)
	for n := range 3 {
		w.night(n, release.ClassCommand, nil)
	}
	eventually(t, func() bool { m := w.moves(); return len(m) > 0 && m[len(m)-1] == "jailed" })
	n := int32(len(w.moves()))
	w.say(event.Fleet, time.Now(), event.TestMoved{Project: "rillkit", Test: "soak.aws", Number: n + 1, From: "jailed", To: "passing", By: "ada"})
	w.night(3, release.ClassCommand, nil)
	eventually(t, func() bool { m := w.moves(); return len(m) == int(n)+2 && m[n+1] == "failing" })
	w.say(event.Fleet, time.Now(), event.TestMoved{Project: "rillkit", Test: "soak.aws", Number: n + 3, From: "failing", To: "jailed", By: "ada", Until: time.Now().UTC()})
	w.night(4, release.ClassCommand, nil) // when its jail is over
	eventually(t, func() bool { m := w.moves(); return len(m) == int(n)+4 && m[n+3] == "jailed" })
	w.night(5, release.ClassOK, nil)
	eventually(t, func() bool { m := w.moves(); return m[len(m)-1] == "passing" })
}

// TestABisectionLeavesStatusesAlone keeps the runs of old commits from changing what the forge says of them.
func TestABisectionLeavesStatusesAlone(t *testing.T) {
	t.Parallel()
	f, url := startForge(t)
	w := begin(t, forgeConfig(url))
	for _, nonce := range []string{event.BisectNonce + "b1:0", "asked"} {
		c := release.Change{
			Kind: release.Manual, Project: "rillkit", Repo: "rill/rillkit", Ref: "refs/heads/master", Nonce: nonce,
			Commit: release.Commit(strings.Repeat("ab", 20)),
		}
		w.say(c.RunID(), time.Now(), event.RunPlanned{Change: c})
	}
	eventually(t, func() bool { return w.lag("reporter-status-pending") == 0 && len(f.contexts()) > 0 })
	if n := len(f.contexts()); n != 1 {
		t.Errorf("%d statuses were set", n)
	}
}
