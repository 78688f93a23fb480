package bus

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluiceci/sluice/pkg/event"
)

// way leads to whichever server stands at its end.
type way struct{ to atomic.Pointer[server.Server] }

func (w *way) InProcessConn() (net.Conn, error) { return w.to.Load().InProcessConn() }

// bare is a server that has no JetStream yet.
func bare(t *testing.T) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{ServerName: "sluice", DontListen: true, NoLog: true, NoSigs: true, MaxPayload: maxPayload})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready after a minute")
	}
	return ns
}

// TestStreamsAreDeclaredUntilItWorks: the server that comes after a lost connection has no JetStream for a while, and then none
// of the streams. Nothing connects again after that.
func TestStreamsAreDeclaredUntilItWorks(t *testing.T) {
	t.Parallel()
	first, err := Embed(ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Close)
	w := &way{}
	w.to.Store(first.current())
	b, err := first.ConnectThrough(t.Context(), w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	second := bare(t)
	w.to.Store(second)
	first.Close()
	eventually(t, func() (string, bool) { return b.conn.Status().String(), b.conn.IsConnected() && b.lost.Load() > 0 })
	if err := b.CanStore(t.Context(), Duties{Says: []string{event.TypeGateHeld.Filter()}}); err == nil {
		t.Error("facts can be stored where there is no JetStream")
	}
	if err := second.EnableJetStream(&server.JetStreamConfig{StoreDir: t.TempDir(), MaxStore: 1 << 40, MaxMemory: 1 << 28}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (error, bool) {
		err := b.CanStore(t.Context(), Duties{Says: []string{event.TypeGateHeld.Filter()}})
		return err, err == nil
	})
	publish(t, b, requested("after"))
}

// TestARouteWithoutItsStreamIsUnserved: the stream of a route is gone, and comes back.
func TestARouteWithoutItsStreamIsUnserved(t *testing.T) {
	t.Parallel()
	b := start(t, Options{})
	inHand, goOn := heard(t, b, 1)
	publish(t, b, requested("before"))
	next(t, inHand)
	goOn <- struct{}{}
	if u := b.Unserved(); len(u) > 0 {
		t.Fatalf("unserved are %v", u)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.js.DeleteStream(ctx, Facts); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() (map[string]string, bool) {
		u := b.Unserved()
		return u, strings.Contains(u["test-busy"], "cannot ask for messages")
	})
	if err := b.declare(ctx); err != nil {
		t.Fatal(err)
	}
	publish(t, b, requested("after"))
	next(t, inHand)
	goOn <- struct{}{}
	if u := b.Unserved(); len(u) > 0 {
		t.Errorf("unserved are %v", u)
	}
}
