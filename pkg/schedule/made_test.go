package schedule

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// makes asks for places that the definition makes, of which there may be so many at once.
func makes(places, limit int32) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) {
		r.Lease = release.LeaseRequest{Provider: "cloud", Nodes: places, Limit: limit}
	}
}

// TestPlacesThatAreMadeHaveALimit: it counts places and not attempts, can be changed while tasks wait, and is each
// project's own.
func TestPlacesThatAreMadeHaveALimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Leases: lease.Config{Providers: []string{"lab"}}})
	b.say(requested("a2", makes(2, 3)), requested("b2", makes(2, 3)), requested("c1", makes(1, 3)), requested("d4", makes(4, 3)))
	b.queue("other", "other", 1, makes(3, 3))
	b.want(b.follow(), "dispatch a2.1", "dispatch other-0.1", "dispatch c1.1")
	why := Explain(b.s, testRun, "b2", b.now)
	if !strings.HasPrefix(why.Reason, "it takes 2 nodes: 3 of 3 that provider /cloud may use are taken") {
		t.Errorf("b2 waits because %s", why.Reason)
	}
	if why := Explain(b.s, testRun, "d4", b.now); !strings.Contains(why.Reason, "/cloud may use 3: it waits until that is raised") {
		t.Errorf("d4 waits because %s", why.Reason)
	}
	b.say(start("a2", 1), finish("a2", 1, release.ClassOK))
	b.want(b.follow(), "dispatch b2.1")
	b.limit("1", event.LimitProvider, "/cloud", "nodes", 9)
	b.want(b.follow(), "dispatch d4.1")
}
