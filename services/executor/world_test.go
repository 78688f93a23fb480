package executor

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/logs"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
)

func TestMain(m *testing.M) { os.Exit(drivertest.Overlap(m)) }

// deadline bounds every wait.
const deadline = time.Minute

const (
	testRun    release.RunID = "4f2a9c1d-test"
	testSource               = "/test-scheduler/test"
	testSecret               = "correct horse battery staple"
)

// world is a bus, a store and a scheduler's hand, all real but the hand.
type world struct {
	t     testing.TB
	bus   *bus.Bus
	blobs blob.Store
	cache *git.Cache
	dir   string // the executor's
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return &world{t: t, bus: b, blobs: blob.Dir(t.TempDir()), dir: t.TempDir()}
}

// running is an executor that was started.
type running struct {
	w    *world
	stop func() // as SIGTERM does; returns when the executor has ended
}

// start runs an executor until the test ends, or stop is called.
func (w *world) start(instance string, change func(*Config)) *running {
	w.t.Helper()
	config := Config{
		Accepts: release.Trusts(),
		Pool:    "linux", Slots: 2, Dir: w.dir, Grace: 200 * time.Millisecond, Drain: 200 * time.Millisecond,
		Beat: 20 * time.Millisecond, MinFree: -1, Grants: secret.Grants{{Names: []string{"TOKEN", "SHORT", "NOPE"}, Projects: []string{"demo"}}, {Names: []string{"GUARDED"}, Projects: []string{"demo"}, Environments: []string{"prod"}}},
	}
	if change != nil {
		change(&config)
	}
	deps := w.deps(instance)
	s, err := New(config, deps, w.cache)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := service.Run(ctx, deps, &service.Health{}, s); err != nil {
			w.t.Error(err)
		}
	}()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	w.t.Cleanup(stop)
	return &running{w: w, stop: stop}
}

// anyChange has an executor run every change with a driver of the test's own, which nobody asks what it holds back.
func (w *world) anyChange(c *Config) {
	local, err := driver.NewLocal(driver.LocalOptions{Place: w.dir})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := local.Close(); err != nil {
			w.t.Error(err)
		}
	})
	c.Use = local
}

func (w *world) deps(instance string) service.Deps {
	return service.Deps{
		Bus: w.bus, Blobs: w.blobs, Log: slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Now: time.Now, Instance: instance, Secret: findSecret,
	}
}

func findSecret(name string) (string, error) {
	switch name {
	case "GUARDED":
		return "a-guarded-value", nil
	case "TOKEN":
		return testSecret, nil
	case "SHORT":
		return "abc", nil
	}
	return "", fault.New(fault.Invalid, "nothing is named %s", name)
}

// dispatch freezes a plan of one task and gives its attempt to the pool.
func (w *world) dispatch(task plan.Task, change func(*plan.Plan, *event.TaskDispatched)) {
	w.t.Helper()
	if task.ID == "" {
		task.ID = "job"
	}
	task.Job, task.Kind, task.Pool = "job", release.Build, "linux"
	if task.Checkout == "" {
		task.Checkout = "none"
	}
	p := &plan.Plan{Change: release.Change{
		Kind: release.Push, Project: "demo", Repo: "acme/demo", Ref: "refs/heads/master", Branch: "master", Commit: release.Commit(strings.Repeat("4f", 20)),
	}, Trust: release.TrustRelease, Tasks: []plan.Task{task}}
	d := event.TaskDispatched{Task: task.ID, Attempt: 1, Pool: "linux"}
	if change != nil {
		change(p, &d)
	}
	text, digest, err := p.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := blob.PutBytes(w.t.Context(), w.blobs, text); err != nil {
		w.t.Fatal(err)
	}
	d.Plan = digest
	w.say(d)
}

func (w *world) say(payloads ...event.Payload) {
	w.t.Helper()
	for _, p := range payloads {
		if err := w.bus.Publish(w.t.Context(), event.Root(testRun, testSource, time.Now(), p)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// await returns the event in a place, once it is there.
func await[P event.Payload](w *world, place P) P {
	w.t.Helper()
	subject := event.Root(testRun, testSource, time.Now(), place).Subject()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		e, err := w.bus.Get(w.t.Context(), subject)
		if err == nil {
			return e.Data.(P)
		}
		if !bus.Empty(err) {
			w.t.Fatal(err)
		}
	}
	w.t.Fatalf("nothing at %s after %s", subject, deadline)
	return place
}

func (w *world) finished() event.TaskFinished {
	w.t.Helper()
	return await(w, event.TaskFinished{Pool: "linux", Task: "job", Attempt: 1})
}

// run dispatches a task and returns how it ended, once nothing of it is left.
func (w *world) run(task plan.Task, change func(*plan.Plan, *event.TaskDispatched)) event.TaskFinished {
	w.t.Helper()
	w.dispatch(task, change)
	f := w.finished()
	w.clean()
	return f
}

// clean checks that no workspace is left.
func (w *world) clean() {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "attempts"))
	if err != nil || len(entries) > 0 {
		w.t.Errorf("the workspace is still there: %v, %v", entries, err)
	}
}

func (w *world) log(f event.TaskFinished) string {
	w.t.Helper()
	if f.Log == "" {
		return ""
	}
	from, _, err := w.blobs.Open(w.t.Context(), f.Log)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	reader, err := logs.Open(from)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := io.ReadAll(reader)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) blob(d release.Digest) string {
	w.t.Helper()
	b, err := blob.ReadAll(w.t.Context(), w.blobs, d, 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// awaitFile waits for a file that a script wrote and returns its first line.
func (w *world) awaitFile(path string) string {
	w.t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(b), "\n") {
			return strings.TrimSpace(string(b))
		}
	}
	w.t.Fatalf("no line in %s after %s", path, deadline)
	return ""
}

// live returns what the stream of logs has of a task, to its end.
func (w *world) live(task release.TaskID) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), deadline)
	defer cancel()
	var text strings.Builder
	ended := false
	err := w.bus.FollowLog(ctx, "*", testRun, task, 1, func(c bus.LogChunk) bool {
		text.Write(c.Data)
		ended = c.Last
		return !c.Last
	})
	if err != nil || !ended {
		w.t.Errorf("the live log has no end: %v", err)
	}
	return text.String()
}
