package reporter

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter/reportertest"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// world is a reporter on a real bus, with a real store and a real database, that has heard a story.
type world struct {
	t     testing.TB
	bus   *bus.Bus
	blobs blob.Store
	story *reportertest.Story
	url   string
	stop  context.CancelFunc // ends the service
	gate  access.Options     // of the gate; open to this machine when a test says nothing
	table []service.Endpoint

	mayAll string // token of whoever sees everything; none where the gate is open
	ended  chan struct{}
}

// begin starts a reporter that has heard nothing.
func begin(t testing.TB, config Config) *world {
	t.Helper()
	return beginBehind(t, config, access.Options{})
}

// beginBehind is begin, behind a gate that lets in whom a test says.
func beginBehind(t testing.TB, config Config, gate access.Options) *world {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: filepath.Join(t.TempDir(), "nats"), NoSync: true})
	must(t, err)
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	must(t, err)
	t.Cleanup(b.Close)
	w := &world{t: t, bus: b, blobs: blob.Dir(filepath.Join(t.TempDir(), "blobs")), story: reportertest.Tell(time.Now()), gate: gate}
	if config.Database == "" {
		config.Database = "sqlite://" + filepath.Join(t.TempDir(), "reporter.db")
	}
	w.serve(config)
	return w
}

// serve runs the service until stop, or the end of the test.
func (w *world) serve(config Config) {
	w.t.Helper()
	deps := service.Deps{
		Bus: w.bus, Blobs: w.blobs, Log: discard(), Registry: prometheus.NewRegistry(), Now: time.Now, Instance: "test-1",
		Secret: func(name string) (string, error) {
			if name == "" {
				return "", fault.New(fault.Invalid, "no secret")
			}
			return "token-" + name, nil
		},
	}
	w.gate.Listen, w.gate.PublicURL, w.gate.Secret, w.gate.Bus, w.gate.Log, w.gate.Now, w.gate.Source = "127.0.0.1:80", "http://127.0.0.1", deps.Secret, w.bus, deps.Log, time.Now, "/gateway/test"
	gate, err := access.New(w.gate)
	must(w.t, err)
	s, err := New(config, deps)
	must(w.t, err)
	for _, r := range gate.Routes() { // a gateway in the same process serves them
		s.HTTP = append(s.HTTP, service.Endpoint{Pattern: r.Pattern, Rule: r.Rule, Handler: r.Handler})
	}
	w.table = s.HTTP
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan struct{})
	ended := w.ended
	go func() {
		defer close(ended)
		_ = service.Run(ctx, deps, &service.Health{}, s)
	}()
	web := httptest.NewServer(service.Handler(w.bus, prometheus.NewRegistry(), &service.Health{}, gate, s))
	w.url = web.URL
	w.t.Cleanup(func() {
		stop()
		web.CloseClientConnections()
		web.Close()
		<-ended
	})
}

// tell publishes the story and waits until the reporter has folded it.
func (w *world) tell() {
	w.t.Helper()
	for d, content := range w.story.Blobs {
		got, _, err := w.blobs.Put(w.t.Context(), bytes.NewReader(content))
		must(w.t, err)
		if got != d {
			w.t.Fatalf("blob %s was stored as %s", d, got)
		}
	}
	must(w.t, w.bus.Publish(w.t.Context(), w.story.Events...))
	w.folded("running", "rejected", "shut")
}

// folded waits until the newest fact of runs is in the tables.
func (w *world) folded(names ...string) {
	w.t.Helper()
	for _, name := range names {
		events := w.story.Of(name)
		last := events[len(events)-1]
		eventually(w.t, func() bool {
			status, _, body := w.fetchAs(w.mayAll, "/api/v1/runs/"+string(last.Run)+"/timeline?limit=1000")
			return status == http.StatusOK && strings.Contains(body, last.ID)
		})
	}
}

// scheduler answers as the test-scheduler does.
func (w *world) scheduler() {
	w.t.Helper()
	running := w.story.Runs["running"]
	must(w.t, bus.Answer(w.t.Context(), w.bus, "why", func(_ context.Context, q view.Question) (schedule.Why, error) {
		if q.Run != running {
			return schedule.Why{Run: q.Run, State: "finished", Reason: "it has ended"}, nil
		}
		why := schedule.Why{Run: q.Run, Task: q.Task, State: "testing", Reason: "3 of the 6 tests that the gate demands have not ended"}
		if q.Task != "" {
			why.State, why.Reason = "running", "executor linux-7f3a has it"
		}
		why.Conditions = []release.Condition{
			{Name: "builds", Met: true, Final: true, Reason: "all 17 build tasks succeeded"},
			{Name: "tests", Reason: "waits for test-wheels (3.12), test-image and 2 more"},
			{Name: "release policy", Met: true, Final: true, Reason: "branch master is a release branch"},
		}
		return why, nil
	}))
	must(w.t, bus.Answer(w.t.Context(), w.bus, "queues", func(context.Context, struct{}) ([]schedule.Pool, error) {
		return []schedule.Pool{
			{Name: "arm", Waiting: 3, Given: 2, Slots: 0, Window: 8, Executors: []schedule.Executor{{Name: "arm-11c0", Host: "arm1", Slots: 4, Seen: time.Now().Add(-time.Minute)}}},
			{Name: "linux", Waiting: 12, Given: 8, Running: 8, Slots: 8, Window: 16, Executors: []schedule.Executor{
				{Name: "linux-7f3a", Host: "box1", Slots: 4, Running: 4, Alive: true, Seen: time.Now()},
				{Name: "linux-90be", Host: "box2", Slots: 4, Running: 4, Alive: true, Draining: true, Reason: "the disk is full", Seen: time.Now()},
			}},
		}, nil
	}))
	must(w.t, bus.Answer(w.t.Context(), w.bus, "limits", func(context.Context, struct{}) ([]schedule.Quota, error) {
		return []schedule.Quota{{Of: event.LimitGroup, Name: "demo/only", Limited: true, Amount: 1, Used: 1, Waiting: 2, From: "definition"}}, nil
	}))
	must(w.t, bus.Answer(w.t.Context(), w.bus, lease.Topic, func(context.Context, lease.Everything) ([]lease.Place, error) {
		return []lease.Place{
			{Provider: "lab", Place: "rack-1", State: lease.Leased, Reason: "held by somebody", Waiting: 3, Holders: []lease.Holder{{
				AttemptRef: event.AttemptRef{Run: running, Task: "test-image", Attempt: 2}, Token: 7, Since: time.Now(), Until: time.Now().Add(time.Hour),
			}}},
			{Provider: "lab", Place: "rack-2", State: lease.Quarantined, Reason: "three failures in a row", Until: time.Now().Add(time.Minute)},
		}, nil
	}))
}

func (w *world) path(name string) string { return "/runs/" + string(w.story.Runs[name]) }

func (w *world) get(path string) (int, string) {
	w.t.Helper()
	status, _, body := w.fetch(path)
	return status, body
}

func (w *world) fetch(path string) (int, http.Header, string) {
	w.t.Helper()
	return w.fetchAs("", path)
}

// fetchAs asks as whoever a token shows; an empty one is nobody's.
func (w *world) fetchAs(token, path string) (int, http.Header, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	must(w.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(req)
	must(w.t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	must(w.t, err)
	return answer.StatusCode, answer.Header, string(body)
}

func eventually(t testing.TB, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("it did not become so within a minute")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cancelled ends the running run.
func (w *world) cancelled() {
	w.t.Helper()
	must(w.t, w.bus.Publish(w.t.Context(), event.Root(w.story.Runs["running"], "/test-scheduler/1", time.Now(),
		event.RunFinished{Outcome: release.Cancelled, Reason: "ada cancelled it"})))
}
