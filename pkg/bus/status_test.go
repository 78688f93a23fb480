package bus

import (
	"context"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
)

func TestStatusCountsStreamsAndConsumers(t *testing.T) {
	t.Parallel()
	b := start(t, Options{MaxBytes: 1 << 20})
	if err := b.Publish(t.Context(), requested("a"), requested("b")); err != nil {
		t.Fatal(err)
	}
	r := On("look", nil, func(context.Context, event.Event, event.TaskRequested) ([]event.Payload, error) { return nil, nil })
	r.AckWait = 1e9
	if err := b.declareConsumer(t.Context(), Served{"test", r}); err != nil {
		t.Fatal(err)
	}
	streams, err := b.Status(t.Context())
	if err != nil || len(streams) != 4 {
		t.Fatalf("%d streams and %v, want 4", len(streams), err)
	}
	facts := streams[0]
	if facts.Name != Facts || facts.Messages != 2 || facts.LastSeq != 2 || facts.Full() <= 0 || facts.Created.IsZero() {
		t.Fatalf("facts are %+v, want two messages within a limit", facts)
	}
	if len(facts.Consumers) != 1 || facts.Consumers[0].Name != "test-look" || facts.Consumers[0].Lag() != 2 || !facts.Consumers[0].Durable {
		t.Fatalf("consumers are %+v, want test-look two behind", facts.Consumers)
	}
}
