package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// TestGetBelievesNothingAtAnotherPlace: a message that stands at the subject of another fact is not believed (law 14).
func TestGetBelievesNothingAtAnotherPlace(t *testing.T) {
	t.Parallel()
	server, err := Embed(ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	msg, err := b.message(event.Root("r", "/executor/a", time.Now(), event.PlacesCreated{Task: "t", Attempt: 1, Pool: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	place := event.Event{Type: event.TypeGateOpened, Run: "r", Key: event.GateOpened{}.Key()}.Subject()
	if _, err := b.js.PublishMsg(t.Context(), &nats.Msg{Subject: place, Data: msg.Data, Header: msg.Header}); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Get(t.Context(), place); !fault.Is(err, fault.Invalid) || Empty(err) {
		t.Fatalf("got %+v, %v: want an error of kind invalid", e, err)
	}
}
