package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/service"
)

// patient is a process with one service that holds gates, and its HTTP side.
type patient struct {
	t      *testing.T
	dir    string
	server *bus.Server
	bus    *bus.Bus
	url    string
	closed string // the URL of the same process behind a gate that nobody passes without an identity
}

func newPatient(t *testing.T, o bus.Options) *patient {
	t.Helper()
	p := &patient{t: t, dir: t.TempDir()}
	var err error
	if p.server, err = bus.Embed(bus.ServerOptions{Dir: filepath.Join(p.dir, "nats"), NoSync: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.server.Close)
	if p.bus, err = p.server.Connect(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.bus.Close)
	deps := service.Deps{
		Bus: p.bus, Blobs: blob.Dir(filepath.Join(p.dir, "blobs")), Log: slog.New(slog.DiscardHandler), Now: time.Now, Instance: "one",
	}
	s := service.Service{Name: "holder", Stores: true, Routes: []bus.Route{
		bus.Work("hold", []event.Type{event.TypeGateResumed}, func(context.Context, *bus.Delivery[event.GateHeld]) error { return nil }),
	}, Loops: []service.Loop{{Name: "fold", Hears: []event.Type{event.TypeGateHeld}, Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}}}
	p.serve(deps, s)
	return p
}

func (p *patient) serve(deps service.Deps, s service.Service) {
	p.t.Helper()
	health := &service.Health{}
	p.url, p.closed = p.web(deps, health, false, s), p.web(deps, health, true, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { health.Watch(ctx, deps, s); done <- struct{}{} }()
	go func() { _ = service.Run(ctx, deps, health, s); done <- struct{}{} }()
	p.t.Cleanup(func() { cancel(); <-done; <-done })
}

// web is the URL of the HTTP side, of a machine that runs strangers' code or not.
func (p *patient) web(deps service.Deps, health *service.Health, strangers bool, s service.Service) string {
	p.t.Helper()
	gate, err := access.New(access.Options{
		Listen: "127.0.0.1:0", PublicURL: "http://127.0.0.1", Log: deps.Log, Bus: p.bus, Now: time.Now, Source: "/holder/one", Strangers: strangers,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	web := httptest.NewServer(service.Handler(p.bus, prometheus.NewRegistry(), health, gate, s))
	p.t.Cleanup(web.Close)
	return web.URL
}

// tellsNobody asks as nobody for what is broken: the part is named, and nothing else.
func (p *patient) tellsNobody(path, part string) {
	p.t.Helper()
	answer, err := http.Get(p.closed + path)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		p.t.Fatal(err)
	}
	want := fmt.Sprintf("%q:\"only people with the role viewer in all projects see the reason", part)
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), want) || strings.Contains(string(text), "cannot") {
		p.t.Errorf("%s tells nobody in particular: %d %s", path, answer.StatusCode, text)
	}
}

// until waits for an answer of a path, and for a word in it.
func (p *patient) until(path string, status int, word string) {
	p.t.Helper()
	var said string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get(p.url + path)
		if err != nil {
			p.t.Fatal(err)
		}
		var body json.RawMessage
		_ = json.NewDecoder(answer.Body).Decode(&body)
		_ = answer.Body.Close()
		if said = answer.Status + " " + string(body); answer.StatusCode == status && strings.Contains(said, word) {
			return
		}
	}
	p.t.Fatalf("%s still says %s, expected %d with %q", path, said, status, word)
}

// TestHealthSaysWhetherBlobsCanBeWritten: something stands where the blob store writes; later it is gone.
func TestHealthSaysWhetherBlobsCanBeWritten(t *testing.T) {
	t.Parallel()
	p := newPatient(t, bus.Options{})
	p.until("/healthz", http.StatusOK, `"problems":{}`)
	blobs := filepath.Join(p.dir, "blobs")
	for end := time.Now().Add(time.Minute); os.WriteFile(blobs, nil, 0o600) != nil; { // a check that goes on makes the directory again
		if time.Now().After(end) {
			t.Fatal("the directory of blobs cannot be replaced within a minute")
		}
		if err := os.Rename(blobs, filepath.Join(t.TempDir(), "away")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	p.until("/healthz", http.StatusServiceUnavailable, `"blobs":"cannot store blob`)
	p.tellsNobody("/healthz", "blobs")
	p.until("/readyz", http.StatusOK, "")
	if err := os.Remove(blobs); err != nil {
		t.Fatal(err)
	}
	p.until("/healthz", http.StatusOK, `"problems":{}`)
}

// TestHealthSaysWhetherFactsCanBeStored: a stream that is full, then a server that is gone.
func TestHealthSaysWhetherFactsCanBeStored(t *testing.T) {
	t.Parallel()
	p := newPatient(t, bus.Options{MaxBytes: 256 << 10})
	p.until("/healthz", http.StatusOK, `"problems":{}`)
	before := stored(t, p.bus)
	for i := range 4 {
		held := event.GateHeld{Request: string(rune('a' + i)), Reason: strings.Repeat("r", 60<<10)}
		if err := p.bus.Publish(t.Context(), event.Root("run", "/t/1", time.Now(), held)); err != nil {
			t.Fatal(err)
		}
	}
	p.until("/healthz", http.StatusServiceUnavailable, `"holder/facts":"cannot store facts: stream FACTS holds`)
	if now := stored(t, p.bus); now != before+4 {
		t.Errorf("the stream holds %d facts, expected %d: the check must store nothing", now, before+4)
	}
	p.server.Close()
	p.until("/healthz", http.StatusServiceUnavailable, "the connection to NATS is away")
	p.until("/readyz", http.StatusServiceUnavailable, "cannot reach JetStream")
	p.tellsNobody("/readyz", "problem")
}

func stored(t *testing.T, b *bus.Bus) uint64 {
	t.Helper()
	status, err := b.StreamStatus(t.Context(), bus.Facts)
	if err != nil {
		t.Fatal(err)
	}
	return status.Messages
}
