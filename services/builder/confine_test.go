package builder

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// full is a task that names everything which is confined.
func full(trust release.Trust) *plan.Plan {
	task := plan.Task{Name: "grab", Pool: "signing", Image: "docker.io/library/python:3.12", Network: "full", Environment: "prod", Priority: 90}
	task.Lease.Provider = "metal"
	return &plan.Plan{Trust: trust, TrustWhy: "it is a fork's", Tasks: []plan.Task{task}}
}

func told(problems []event.Problem) (out string) {
	for _, p := range problems {
		out += p.Message + "\n"
	}
	return out
}

// TestUntrustedChangesNameWhatTheInstallationAllows takes away one permission after the other.
func TestUntrustedChangesNameWhatTheInstallationAllows(t *testing.T) {
	t.Parallel()
	all := Untrusted{
		Pools: []string{"signing"}, Images: []string{"docker.io/library/*:*"}, Networks: []string{"full", "fetch"}, Providers: []string{"metal"},
		Environments: []string{"prod"}, Priority: 5,
	}
	p := full(release.TrustUntrusted)
	if problems := (&builder{config: Config{Untrusted: all}}).confine(p); len(problems) > 0 || p.Tasks[0].Priority != 5 {
		t.Errorf("with everything allowed: %s, priority %d", told(problems), p.Tasks[0].Priority)
	}
	for want, take := range map[string]func(*Untrusted){
		"pool signing is not in untrusted.pools":                                                          func(u *Untrusted) { u.Pools = []string{"default"} },
		"image docker.io/library/python:3.12 is not in untrusted.images":                                  func(u *Untrusted) { u.Images = []string{"docker.io/*"} },
		"network full is not in untrusted.networks":                                                       func(u *Untrusted) { u.Networks = nil },
		"it leases places of metal, which is not in untrusted.providers":                                  func(u *Untrusted) { u.Providers = nil },
		"environment prod is not in untrusted.environments, and this change is untrusted: it is a fork's": func(u *Untrusted) { u.Environments = nil },
	} {
		less := all
		take(&less)
		if got := told((&builder{config: Config{Untrusted: less}}).confine(full(release.TrustUntrusted))); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("told %q, expected %q alone", got, want)
		}
		if got := told((&builder{config: Config{Untrusted: less}}).confine(full(""))); !strings.Contains(got, strings.Split(want, ",")[0]) {
			t.Errorf("a plan without a level is told %q, expected %q", got, want)
		}
		if problems := (&builder{config: Config{Untrusted: less}}).confine(full(release.TrustTrusted)); len(problems) > 0 {
			t.Errorf("a trusted change is told %s", told(problems))
		}
	}
}

// TestUntrustedChangesBringNoProviderAndFetchNothing are the ways in which a definition names the world by itself.
func TestUntrustedChangesBringNoProviderAndFetchNothing(t *testing.T) {
	t.Parallel()
	p := full(release.TrustUntrusted)
	p.Providers = []plan.Provider{{Name: "metal"}}
	fetches := plan.Task{Name: "wheels"}
	fetches.Fetch.URL = "https://build.example/wheels"
	p.Tasks = append(p.Tasks, fetches)
	all := Untrusted{Images: []string{"**"}, Networks: []string{"full"}, Providers: []string{"*"}, Environments: []string{"*"}}
	got := told((&builder{config: Config{Untrusted: all}}).confine(p))
	for _, want := range []string{"which the definition itself brings", `it fetches https://build.example/wheels, and "fetch" is not in untrusted.networks`} {
		if !strings.Contains(got, want) {
			t.Errorf("told %q, expected %q", got, want)
		}
	}
}

// TestPoolsAndProvidersSayWhomTheyAccept: that counts for trusted changes too, and a pool of which nothing is said stays open
// here, since its executors may say it.
func TestPoolsAndProvidersSayWhomTheyAccept(t *testing.T) {
	t.Parallel()
	only := []release.Trust{release.TrustRelease}
	b := &builder{config: Config{Accepts: Accepts{Pools: map[string][]release.Trust{"signing": only}, Providers: map[string][]release.Trust{"metal": only}}}}
	got := told(b.confine(full(release.TrustTrusted)))
	for _, want := range []string{"pool signing accepts release changes only, and this change is trusted", "provider metal accepts release changes only"} {
		if !strings.Contains(got, want) {
			t.Errorf("told %q, expected %q", got, want)
		}
	}
	if problems := b.confine(full(release.TrustRelease)); len(problems) > 0 {
		t.Errorf("a release is told %s", told(problems))
	}
	b.config.Accepts = Accepts{Pools: map[string][]release.Trust{"signing": {}}}
	if got := told(b.confine(full(release.TrustRelease))); !strings.Contains(got, "pool signing accepts no changes only") && !strings.Contains(got, "accepts no changes") {
		t.Errorf("a pool that accepts nothing: %q", got)
	}
}

// TestForkThatNamesAKeptPoolIsRejected is the other half of attack 06: with somebody's permission, and still not there.
func TestForkThatNamesAKeptPoolIsRejected(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.project.Policy = Run
	g.commit(map[string]string{"sluice.yaml": simple})
	g.open(Config{Projects: g.projects(), Accepts: Accepts{Pools: map[string][]release.Trust{"release-signing": {release.TrustRelease}}}})
	fork := g.pull("grace", "grace/tiny", "", map[string]string{"sluice.yaml": `project: tiny
builds:
  grab: {pool: release-signing, lease: {from: metal, places: [rack-1]}, run: echo}
`})
	g.say(fork.RunID(), event.ChangeReceived{Change: fork})
	rejected := await[event.RunRejected](g.shop, fork.RunID())
	got := told(rejected.Problems)
	for _, want := range []string{"pool release-signing accepts release changes only", "places of metal, which is not in untrusted.providers"} {
		if !strings.Contains(got, want) {
			t.Errorf("rejected with %q, expected %q", got, want)
		}
	}
}
