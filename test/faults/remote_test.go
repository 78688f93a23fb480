package faults

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// TestEmbeddedServerKnowsPoolsElsewhere: an executor in another process connects to `sluice up` with the key of its pool, which
// `nats.pools` names, and gets the rights of that pool.
func TestEmbeddedServerKnowsPoolsElsewhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t, t.TempDir())
	key, err := nats.NkeyOptionFromSeed(h.key("pool-far"))
	if err != nil {
		t.Fatal(err)
	}
	a := newAsker(t, "nats://"+h.nats, key)
	refused := a.publish([]string{"sluice.log.far.r.t.1", "sluice.log.default.r.t.1"})
	if refused["sluice.log.far.r.t.1"] || !refused["sluice.log.default.r.t.1"] {
		t.Errorf("the server refuses %v, expected the logs of the other pool only", refused)
	}
}
