package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const fetchedAfter = `project: p
builds:
  data: {fetch: {url: "%s/data.bin", every: 20ms, wait: %s}, outputs: {data: "*.bin"}}
tests:
  use: {needs: [data], run: "test \"$(cat $SLUICE_INPUTS/data/data.bin)\" = bytes"}
`

// late is a server on which a file appears after some questions, or when it is laid there; negative is never.
type late struct {
	asked, after atomic.Int32
}

func (l *late) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if n := l.asked.Add(1); l.after.Load() < 0 || n <= l.after.Load() {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write([]byte("bytes"))
}

func newLate(t *testing.T, after int32) (*late, string) {
	l := &late{}
	l.after.Store(after)
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return l, server.URL
}

// TestRunFetches runs a checkout whose build is made elsewhere, and comes a little later; or does not.
func TestRunFetches(t *testing.T) {
	t.Parallel()
	_, url := newLate(t, 5)
	got := sluice(t, "run", defined(t, fmt.Sprintf(fetchedAfter, url, "1m")))
	if got.code != 0 || !strings.Contains(got.out, "✓ use") {
		t.Errorf("it comes: exit %d:\n%s%s", got.code, got.out, got.talk)
	}
	_, url = newLate(t, -1)
	got = sluice(t, "run", defined(t, fmt.Sprintf(fetchedAfter, url, "5s")))
	if got.code != release.Error.ExitCode() || !strings.Contains(got.out, "it did not come within 5s: asked") || !strings.Contains(got.out, "last answer 404 Not Found") || strings.Contains(got.out, "✓ use") {
		t.Errorf("it does not come: exit %d:\n%s%s", got.code, got.out, got.talk)
	}
}

// upFor runs a whole Sluice until stop is called.
func upFor(t *testing.T, dir, config string) (p *platform, stop func()) {
	t.Helper()
	in, err := readInstallation(config)
	must(t, err)
	in.Dir, in.Listen, in.NATS.Listen = dir, "127.0.0.1:0", "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan *platform, 1), make(chan error, 1)
	go func() { done <- up(ctx, in, "error", func(p *platform) { ready <- p }) }()
	select {
	case p = <-ready:
	case err := <-done:
		t.Fatalf("it ended: %v", err)
	}
	stop = func() { cancel(); must(t, <-done) }
	t.Cleanup(cancel)
	return p, stop
}

// TestAWaitOutlivesTheHouse: the whole Sluice ends while it waits, and comes back: the wait goes on, and nothing of it is lost.
// What it waits for it tells in between.
func TestAWaitOutlivesTheHouse(t *testing.T) {
	t.Parallel()
	server, url := newLate(t, -1)
	repo, dir := defined(t, fmt.Sprintf(fetchedAfter, url, "10m")), t.TempDir()
	config := filepath.Join(t.TempDir(), "installation.yaml")
	must(t, os.WriteFile(config, []byte("builder: {fetch: {private: true}}\n"), 0o600))
	change, err := localChange(t.Context(), repo, filepath.Join(t.TempDir(), "git"))
	must(t, err)
	p, stop := upFor(t, dir, config)
	must(t, p.deps.Bus.Publish(t.Context(), event.Root(change.RunID(), "/test/1", time.Now(), event.ChangeReceived{Change: change})))
	soon(t, "asked", func() bool { return server.asked.Load() > 2 })
	soon(t, "why tells of the wait", func() bool {
		got := sluice(t, "why", string(change.RunID())+"/data", "--dir", dir)
		return strings.Contains(got.out, "last answer 404 Not Found") && strings.Contains(got.out, "gives up at")
	})
	stop()
	asked := server.asked.Load()
	server.after.Store(asked + 3)
	p, stop = upFor(t, dir, config)
	defer stop()
	var end event.TaskFinished
	soon(t, "it came", func() bool {
		e, err := p.deps.Bus.Get(t.Context(), event.Root(change.RunID(), "/test/1", time.Now(), event.TaskFinished{Task: "data", Attempt: 1, Pool: release.FetchPool}).Subject())
		if err == nil {
			end = e.Data.(event.TaskFinished)
		}
		return err == nil
	})
	if end.Class != release.ClassOK || len(end.Artifacts) != 1 || server.asked.Load() < asked+4 {
		t.Errorf("ended %+v after %d questions", end, server.asked.Load())
	}
}

func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
