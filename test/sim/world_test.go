package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/executor"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

const pool = "linux"

// world is the scheduler and executors as they are, on a real server, under a clock and a network of the test's own.
type world struct {
	t     *testing.T
	seed  uint64
	dice  *rand.Rand // of the story
	dir   string
	net   *network
	blobs blob.Store
	tap   *bus.Bus // the test's own connection, which nothing happens to
	parts []*part
	born  int
	runs  int
	law   law
	bytes strings.Builder // the log of all services

	mu      sync.Mutex
	lengths *rand.Rand // of commands
}

// part is a service that runs.
type part struct {
	name     string
	instance string
	executor bool
	wire     *wire
	stop     func() // returns when it has ended
	since    time.Time
	cutAt    time.Time // zero while its wire is whole
	mended   time.Time
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 1)), lengths: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir(), net: &network{},
	}
	w.law = law{w: w, began: map[string]int{}, running: map[string]bool{}}
	w.blobs = blob.Dir(filepath.Join(w.dir, "blobs"))
	w.boot()
	var err error
	w.tap, err = w.net.server.ConnectThrough(t.Context(), &wire{of: w.net}, bus.Options{})
	w.check(err)
	w.add("scheduler", 0)
	w.add("executor", 0)
	w.add("executor", 1)
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("seed %d: %v", w.seed, err)
	}
}

// boot starts the server on the folder of the one before. It does not sync: nothing here loses power.
func (w *world) boot() {
	server, err := bus.Embed(bus.ServerOptions{Dir: filepath.Join(w.dir, "nats"), NoSync: true})
	w.check(err)
	w.net.mu.Lock()
	w.net.server = server
	w.net.mu.Unlock()
}

// add starts a service in a place of its own, where one of its kind may have been killed.
func (w *world) add(name string, number int) *part {
	w.born++
	p := &part{
		name: fmt.Sprint(name, number), instance: fmt.Sprintf("%s%d-%d", name, number, w.born), executor: name == "executor",
		wire: &wire{of: w.net}, since: time.Now(),
	}
	log := slog.New(slog.NewTextHandler(&w.law, &slog.HandlerOptions{Level: slog.LevelWarn})).With("part", p.instance)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		b := w.connect(ctx, p, log)
		if b == nil {
			return
		}
		defer b.Close()
		deps := service.Deps{Bus: b, Blobs: w.blobs, Log: log, Now: time.Now, Instance: p.instance}
		s, err := w.service(name, p, deps)
		if err == nil {
			err = service.Run(ctx, deps, &service.Health{}, s)
		}
		if err != nil && ctx.Err() == nil {
			w.t.Errorf("seed %d: %s ended: %v", w.seed, p.instance, err)
		}
	}()
	w.parts = append(w.parts, p)
	return p
}

// connect tries until the server is there, as a supervisor does by starting a process again.
func (w *world) connect(ctx context.Context, p *part, log *slog.Logger) *bus.Bus {
	for ctx.Err() == nil {
		w.net.mu.Lock()
		server := w.net.server
		w.net.mu.Unlock()
		if server != nil {
			if b, err := server.ConnectThrough(ctx, p.wire, bus.Options{Name: p.instance, Log: log}); err == nil {
				return b
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

func (w *world) service(name string, p *part, deps service.Deps) (service.Service, error) {
	if name == "scheduler" {
		return scheduler.New(scheduler.Config{}, deps)
	}
	return executor.New(executor.Config{
		Pool: pool, Slots: 2, Dir: filepath.Join(w.dir, p.name), MinFree: -1, Drain: time.Second, Grace: time.Second,
		Use: &machine{w: w},
	}, deps, nil)
}

// begin asks for a run of a few builds, as the builder does.
func (w *world) begin() {
	w.runs++
	run := release.RunID(fmt.Sprintf("4f2a9c1d-run%d", w.runs))
	p := plan.Plan{Project: "sim", Trust: release.TrustRelease, Change: release.Change{Kind: release.PullRequest, Repo: "o/r", Ref: "refs/pull/1/head"}}
	for i := range 1 + w.dice.IntN(5) {
		task := plan.Task{ID: release.TaskID(fmt.Sprint("t", i)), Job: "t", Kind: release.Build, Pool: pool, Run: "sim", Checkout: "none"}
		if i > 0 && w.dice.IntN(3) == 0 {
			task.Needs = []release.TaskID{"t0"}
		}
		p.Tasks = append(p.Tasks, task)
	}
	text, digest, err := p.Encode()
	w.check(err)
	_, err = blob.PutBytes(w.t.Context(), w.blobs, text)
	w.check(err)
	say := []event.Payload{event.RunPlanned{Change: p.Change, Trust: release.TrustTrusted, Plan: digest, Builds: int32(len(p.Tasks)), Untested: true}}
	for _, t := range p.Tasks {
		say = append(say, t.Request(digest, p.Trust))
	}
	w.say(run, say...)
}

// say stores facts; while the server is down it waits for it, as whoever asks does.
func (w *world) say(run release.RunID, payloads ...event.Payload) {
	var events []event.Event
	for _, p := range payloads {
		events = append(events, event.Root(run, "/sim/1", time.Now(), p))
	}
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		err := w.tap.Publish(w.t.Context(), events...)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.check(err)
		}
	}
}

// length is how long a command takes.
func (w *world) length() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []time.Duration{100 * time.Millisecond, 3 * time.Second, time.Minute, 10 * time.Minute}[w.lengths.IntN(4)]
}

func (w *world) begins(attempt string) { w.law.begins(attempt) }
func (w *world) ends(attempt string)   { w.law.ends(attempt) }

// close ends everything, so that the bubble can end.
func (w *world) close() {
	for _, p := range w.parts {
		p.wire.set(false)
		p.stop()
	}
	w.tap.Close()
	w.net.server.Close()
}
