package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter"
	"github.com/sluiceci/sluice/services/reporter/reportertest"
)

// world is a Sluice of a bus and a reporter that were told a story of some runs.
type world struct {
	dir  string // with its connection file
	bus  *bus.Bus
	runs map[string]release.RunID // by their short names
}

func told(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	server, err := bus.Embed(bus.ServerOptions{Dir: filepath.Join(dir, "nats"), Port: -1, NoSync: true})
	must(t, err)
	t.Cleanup(server.Close)
	registry := prometheus.NewRegistry()
	b, err := server.Connect(t.Context(), bus.Options{Name: "test", Registry: registry})
	must(t, err)
	t.Cleanup(b.Close)
	blobs, err := blob.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"))
	must(t, err)
	story := reportertest.Tell(time.Now())
	for _, content := range story.Blobs {
		_, err := blob.PutBytes(t.Context(), blobs, content)
		must(t, err)
	}
	must(t, b.Publish(t.Context(), story.Events...))
	deps := service.Deps{
		Bus: b, Blobs: blobs, Log: slog.New(slog.DiscardHandler), Registry: registry, Now: time.Now, Instance: "test",
		Secret: (&secret.Store{}).For("test", nil),
	}
	url := report(t, dir, deps, registry)
	at, err := json.Marshal(client.Connection{URL: url, NATS: server.URL()})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, client.ConnectionFile), at, 0o600))
	w := &world{dir: dir, bus: b, runs: story.Runs}
	w.settled(t, url, story)
	return w
}

// worldToken is the token of whoever may do everything in such a world.
const worldToken = "the-token-of-the-local-operator"

// report runs a reporter until the test ends.
func report(t *testing.T, dir string, deps service.Deps, registry *prometheus.Registry) string {
	t.Helper()
	s, err := reporter.New(reporter.Config{Database: "sqlite://" + filepath.Join(dir, "reporter.db")}, deps)
	must(t, err)
	var health service.Health
	secrets := func(string) (string, error) { return worldToken, nil }
	gate, err := access.New(access.Options{
		Listen: "127.0.0.1:80", PublicURL: "http://127.0.0.1", Secret: secrets, Static: []access.Static{{Owner: "local", Secret: "LOCAL"}},
		Bus: deps.Bus, Log: deps.Log, Now: time.Now,
	})
	must(t, err)
	http := httptest.NewServer(service.Handler(deps.Bus, registry, &health, gate, s))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx, deps, &health, s) }()
	t.Cleanup(func() {
		cancel()
		http.CloseClientConnections()
		http.Close()
		must(t, <-done)
	})
	must(t, bus.Answer(ctx, deps.Bus, "queues", func(context.Context, struct{}) ([]schedule.Pool, error) {
		return []schedule.Pool{{Name: "linux", Slots: 4, Running: 1, Executors: []schedule.Executor{{Name: "linux-7f3a", Alive: true}}}}, nil
	}))
	return http.URL
}

// settled waits until the reporter knows the last fact.
func (w *world) settled(t *testing.T, url string, story *reportertest.Story) {
	t.Helper()
	c, err := client.New(client.Connection{URL: url})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	last := story.Events[len(story.Events)-1]
	for {
		run, err := c.Run(ctx, last.Run)
		if err == nil && run.Seq >= last.Seq {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the reporter has not read the story within 30s: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
