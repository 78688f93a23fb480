package bus

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestAPlaceIsTakenOnce: the stream itself refuses a second message in a place, also from whoever does not expect it to be empty,
// and in a stream that an earlier version declared.
func TestAPlaceIsTakenOnce(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"a new stream": false, "an older stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, Options{})
			if old {
				cfg := streams(b.options)[0]
				cfg.MaxMsgsPerSubject, cfg.DiscardNewPerSubject = -1, false
				if _, err := b.js.UpdateStream(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
			}
			publish(t, b, requested("a"), requested("b"))
			if err := b.declare(t.Context()); err != nil {
				t.Fatal(err)
			}
			place := requested("a").Subject()
			for header, value := range map[string]string{"": "", jetstream.MsgRollup: jetstream.MsgRollupSubject, jetstream.MsgTTLHeader: "1s"} {
				msg := &nats.Msg{Subject: place, Data: []byte("{}"), Header: nats.Header{header: {value}}}
				if header == "" {
					msg.Header = nil
				}
				if ack, err := b.js.PublishMsg(t.Context(), msg); err == nil {
					t.Errorf("with header %q a second message is stored: %+v", header, ack)
				}
			}
			if e, err := b.Get(t.Context(), place); err != nil || e.ID != requested("a").ID {
				t.Errorf("the place holds %+v (%v), want what was said first", e, err)
			}
			if n := len(all(t, b)); n != 2 {
				t.Errorf("the stream has %d facts, want 2", n)
			}
		})
	}
}
