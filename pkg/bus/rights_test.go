package bus

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/event"
)

// TestAPoolSpeaksOfItself: the server takes what a pool says of itself and nothing else, and lets nobody but setup change
// streams (law 14).
func TestAPoolSpeaksOfItself(t *testing.T) {
	t.Parallel()
	rights := RightsOf([]Duties{
		{Identity: "setup", Declares: true},
		{Identity: "pool-a", Apart: true, LogsOf: "a", Says: []string{event.TypeTaskFinished.Filter("a")}, Durables: map[string]string{"run-a": event.TypeTaskDispatched.Filter("a")}},
	})
	var known []Identity
	keys := map[string]NKey{}
	for _, r := range rights {
		k, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		keys[r.Identity] = k
		known = append(known, Identity{Rights: r, Public: k.Public})
	}
	server, err := Embed(ServerOptions{Dir: t.TempDir(), Identities: known})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	connect := func(name string) *Bus {
		k := keys[name]
		b, err := server.Connect(t.Context(), Options{Identity: name, Key: &k, Onlooker: name != "setup"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	connect("setup")
	pool := connect("pool-a")
	denied := make(chan error, 16)
	pool.conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err })
	for subject, allowed := range map[string]bool{
		"sluice.fact.r.task.finished.a.t.1": true, "sluice.fact.r.task.finished.b.t.1": false, "sluice.fact.r.gate.opened.0": false,
		"$JS.API.STREAM.UPDATE.FACTS": false, "$JS.API.STREAM.PURGE.FACTS": false, "$JS.API.CONSUMER.MSG.NEXT.FACTS.run-b": false,
		"$JS.API.STREAM.DELETE.FACTS": false, "$JS.API.STREAM.MSG.DELETE.FACTS": false, "$JS.API.STREAM.CREATE.MINE": false,
		"$JS.API.STREAM.MSG.GET.FACTS": false, "$JS.API.CONSUMER.CREATE.FACTS.mine": false, "$JS.API.CONSUMER.DELETE.FACTS.run-a": false,
		"$JS.API.CONSUMER.CREATE.FACTS.run-a." + event.TypeTaskDispatched.Filter("a"):   false,
		"$JS.API.CONSUMER.CREATE.FACTS.run-a." + event.TypeTaskDispatched.Filter("b"):   false,
		"$JS.API.DIRECT.GET.FACTS." + event.TypeTaskDispatched.FilterRun("r", "b", "t"): false,
		"sluice.log.a.r.t.1": true, "sluice.log.b.r.t.1": false,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go func() {
			if _, err := pool.conn.RequestWithContext(ctx, subject, []byte("{}")); err == nil {
				denied <- nil
			}
		}()
		if err := <-denied; (err == nil) != allowed {
			t.Errorf("%s: got %v, allowed is to be %t", subject, err, allowed)
		}
		cancel()
	}
}
