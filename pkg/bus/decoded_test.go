package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/event"
)

// What one reader has decoded is what the next one gets; a place that was given anew, or is one of another stream, is not.
func TestDecodedIsFoundByPlaceAndTime(t *testing.T) {
	t.Parallel()
	stored := time.Now()
	e := requested("a")
	e.Seq, e.Stored = 5, stored
	var d decoded
	d.keep(Facts, e)
	d.keep(Dead, event.Event{Seq: 6, Stored: stored})
	meta := func(stream string, seq uint64, at time.Time) *jetstream.MsgMetadata {
		return &jetstream.MsgMetadata{Stream: stream, Sequence: jetstream.SequencePair{Stream: seq}, Timestamp: at}
	}
	if got, ok := d.find(meta(Facts, 5, stored)); !ok || got.ID != e.ID {
		t.Errorf("found %v %v, want what was kept", got.ID, ok)
	}
	for name, m := range map[string]*jetstream.MsgMetadata{
		"another stream":      meta(Dead, 5, stored),
		"kept of another":     meta(Facts, 6, stored),
		"the same slot":       meta(Facts, 5+uint64(len(d.slots)), stored),
		"a stream made again": meta(Facts, 5, stored.Add(time.Second)),
	} {
		if _, ok := d.find(m); ok {
			t.Errorf("%s: found", name)
		}
	}
}
