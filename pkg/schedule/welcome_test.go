package schedule

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestPoolsAndProvidersRefuseUnwelcomeChanges: whatever the builder let pass, no attempt is given out, no place is asked for.
func TestPoolsAndProvidersRefuseUnwelcomeChanges(t *testing.T) {
	t.Parallel()
	trusted := []release.Trust{release.TrustRelease, release.TrustTrusted}
	leases := func(limit int32) func(*event.TaskRequested) {
		return func(r *event.TaskRequested) {
			r.Lease = release.LeaseRequest{Provider: "metal", Nodes: 1, Limit: limit}
		}
	}
	for name, c := range map[string]struct {
		cfg     Config
		trust   release.Trust
		options []func(*event.TaskRequested)
		why     string
	}{
		"untrusted":         {Config{Accepts: map[string][]release.Trust{"linux": trusted}}, release.TrustUntrusted, nil, "pool linux accepts release and trusted changes only, and this change is untrusted"},
		"nobody said":       {Config{Accepts: map[string][]release.Trust{"linux": trusted}}, "", nil, "this change is untrusted"},
		"accepted":          {Config{Accepts: map[string][]release.Trust{"linux": trusted}}, release.TrustTrusted, nil, ""},
		"another pool":      {Config{Accepts: map[string][]release.Trust{"arm": {}}}, release.TrustUntrusted, nil, ""},
		"a kept provider":   {Config{Lends: map[string][]release.Trust{"metal": trusted[:1]}}, release.TrustTrusted, []func(*event.TaskRequested){leases(0)}, "provider metal lends its places to release changes only"},
		"the run's own":     {Config{Lends: map[string][]release.Trust{"metal": trusted[:1]}}, release.TrustTrusted, []func(*event.TaskRequested){leases(2)}, ""},
		"a pool for no one": {Config{Accepts: map[string][]release.Trust{"linux": {}}}, release.TrustRelease, nil, "accepts no changes only"},
	} {
		b := newBench(t, c.cfg)
		planned := push(1, 0)
		planned.Trust = c.trust
		b.say(planned, requested("a", c.options...))
		b.beat("linux", "x", 1)
		all := strings.Join(b.follow(), "\n")
		why := Explain(b.s, testRun, "a", b.now)
		if c.why == "" {
			if why.State == "ended" || strings.Contains(why.Reason, "accepts") || strings.Contains(why.Reason, "lends") {
				t.Errorf("%s: %+v", name, why)
			}
			continue
		}
		if !strings.Contains(why.Reason, c.why) || strings.Contains(all, "dispatched") || strings.Contains(all, "granted") {
			t.Errorf("%s: %s\n%+v, expected %q", name, all, why, c.why)
		}
	}
}

// TestUntrustedRunsHoldNoGroupOfOthers: a release does not wait for what a stranger runs under the name of its group.
func TestUntrustedRunsHoldNoGroupOfOthers(t *testing.T) {
	t.Parallel()
	for trust, waits := range map[release.Trust]bool{release.TrustUntrusted: false, release.TrustTrusted: true} {
		b := newBench(t, Config{})
		grouped := requested("a", func(r *event.TaskRequested) { r.Group, r.GroupLimit = "deploy", 1 })
		theirs := push(1, 0)
		theirs.Trust = trust
		b.beat("linux", "x", 4)
		b.store("theirs", theirs, grouped)
		b.follow()
		b.store("ours", push(1, 0), grouped)
		b.follow()
		if why := Explain(b.s, "ours", "a", b.now); (why.State == "dispatched") == waits {
			t.Errorf("with a %s run in its group: %+v", trust, why)
		}
	}
}
