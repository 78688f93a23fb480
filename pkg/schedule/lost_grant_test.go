package schedule

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// TestALostGrantWakesWhoeverWaits: the grant of one place did not reach the stream. When it lapses the place is due to the
// gang, whose turn is earlier and which must hear of it. testdata/rapid/TestLaws has the world that found this.
func TestALostGrantWakesWhoeverWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.offer("m1", "m2")
	b.say(requested("a-gang", leases(2)), requested("b-single", leases(1), func(r *event.TaskRequested) { r.Pool = "gpu" }))
	b.beat("linux", "x", 4)
	b.hear(event.ExecutorHeartbeat{Pool: "gpu", Executor: "g", Slots: 4})
	intents, _ := Decide(b.s, b.now) // pool gpu comes first: one place is granted to b-single
	b.s.Sent(intents)                // and lost on its way
	if len(intents) == 0 {
		t.Fatal("nothing was granted: there is nothing to lose")
	}
	got := b.watch(time.Minute, func() {
		b.beat("linux", "x", 4)
		b.hear(event.ExecutorHeartbeat{Pool: "gpu", Executor: "g", Slots: 4})
	})
	if b.leased() != "a-gang:m1m2" {
		t.Errorf("a minute later %q hold places; a-gang %s; b-single %s; decided %v", b.leased(),
			Explain(b.s, testRun, "a-gang", b.now).Reason, Explain(b.s, testRun, "b-single", b.now).Reason, got)
	}
}
