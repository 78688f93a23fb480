package scheduler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// patience bounds every wait of a test.
const patience = time.Minute

// house is a real bus with everything around a scheduler: blobs, a plan, a builder and a publisher of few words.
type house struct {
	t      *testing.T
	server *bus.Server
	bus    *bus.Bus
	blobs  blob.Store
	plan   plan.Plan
	facts  *bus.Follower
	heard  []event.Event
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return newHouseOn(t, bus.ServerOptions{})
}

func newHouseOn(t *testing.T, options bus.ServerOptions) *house {
	t.Helper()
	options.Dir = t.TempDir()
	server, err := bus.Embed(options)
	check(t, err)
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	check(t, err)
	t.Cleanup(b.Close)
	h := &house{t: t, server: server, bus: b, blobs: blob.Dir(t.TempDir())}
	h.facts, err = b.Follow(t.Context(), bus.Following{Name: "test"})
	check(t, err)
	return h
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scheduler runs the service, on a connection of its own as a process has, until the function that it returns is called.
func (h *house) scheduler(instance string, config Config) (stop func()) {
	h.t.Helper()
	b, err := h.server.Connect(h.t.Context(), bus.Options{Log: testLog(h.t)})
	check(h.t, err)
	deps := service.Deps{
		Bus: b, Blobs: h.blobs, Log: testLog(h.t), Now: time.Now, Instance: instance,
	}
	s, err := New(config, deps)
	check(h.t, err)
	return h.keep(func(ctx context.Context) error {
		defer b.Close()
		return service.Run(ctx, deps, &service.Health{}, s)
	})
}

// keep runs something until the test ends, or the function that it returns is called.
func (h *house) keep(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			h.t.Errorf("ended: %v", err)
		}
	})
	stop = func() { cancel(); group.Wait() }
	h.t.Cleanup(stop)
	return stop
}

// say stores facts of a run.
func (h *house) say(run release.RunID, payloads ...event.Payload) {
	h.t.Helper()
	var events []event.Event
	for _, p := range payloads {
		events = append(events, event.Root(run, "/test/1", time.Now(), p))
	}
	check(h.t, h.bus.Publish(h.t.Context(), events...))
}

// until waits for a fact of a type of a run, whose key is as given unless that is empty.
func (h *house) until(run release.RunID, t event.Type, key string) event.Event {
	h.t.Helper()
	matches := func(e event.Event) bool { return e.Run == run && e.Type == t && (key == "" || e.Key == key) }
	for deadline := time.Now().Add(patience); ; {
		for _, e := range h.heard {
			if matches(e) {
				return e
			}
		}
		batch, err := h.facts.Next(h.t.Context(), time.Until(deadline))
		check(h.t, err)
		h.heard = append(h.heard, batch.Events...)
		if time.Now().After(deadline) {
			h.t.Fatalf("no %s %s of %s within %s; heard:\n%s", t, key, run, patience, h.story())
		}
	}
}

func (h *house) story() string {
	out := ""
	for _, e := range h.heard {
		out += fmt.Sprintf("%d %s %s %+v\n", e.Seq, e.Describe(), e.Source, e.Data)
	}
	return out
}

// count counts the facts of a type, of those that were heard.
func (h *house) count(t event.Type) int {
	n := 0
	for _, e := range h.heard {
		if e.Type == t {
			n++
		}
	}
	return n
}

// begin announces a run of builds and tests, as the builder does.
func (h *house) begin(run release.RunID, builds, tests int, change func(*plan.Plan)) {
	h.t.Helper()
	p := plan.Plan{Project: "demo", Change: release.Change{Kind: release.Push, Repo: "o/r", Ref: "refs/heads/master", Branch: "master"}}
	p.Release = release.ReleasePolicy{Branch: "master"}
	for i := range builds {
		p.Tasks = append(p.Tasks, plan.Task{ID: release.TaskID(fmt.Sprint("build-", i)), Kind: release.Build, Pool: "linux"})
	}
	for i := range tests {
		id := release.TaskID(fmt.Sprint("test-", i))
		p.Tasks = append(p.Tasks, plan.Task{ID: id, Kind: release.Test, Pool: "linux", Needs: []release.TaskID{"build-0"}})
		p.Gate.Tests = append(p.Gate.Tests, id)
	}
	if change != nil {
		change(&p)
	}
	h.plan = p
	text, digest, err := p.Encode()
	check(h.t, err)
	_, err = blob.PutBytes(h.t.Context(), h.blobs, text)
	check(h.t, err)
	planned := event.RunPlanned{
		Change: p.Change, Plan: digest, Release: p.Release, Builds: int32(builds), Tests: int32(tests), GateTests: p.Gate.Tests,
		Targets: []event.TargetName{{Name: "pypi", Kind: "pypi"}},
	}
	facts := []event.Payload{planned}
	for _, t := range p.Tasks {
		if t.Kind == release.Build {
			facts = append(facts, t.Request(digest, p.Trust))
		}
	}
	h.say(run, facts...)
}

// assemble waits for every build and says that there is a candidate.
func (h *house) assemble(run release.RunID, builds int) {
	h.t.Helper()
	for i := range builds {
		h.untilSuccess(run, release.TaskID(fmt.Sprint("build-", i)))
	}
	_, digest, err := h.plan.Encode()
	check(h.t, err)
	h.say(run, event.CandidateAssembled{Candidate: release.DigestOf([]byte("c")), Blob: digest, Plan: digest})
}

func (h *house) untilSuccess(run release.RunID, task release.TaskID) {
	h.t.Helper()
	for n := range 100 {
		e := h.until(run, event.TypeTaskFinished, fmt.Sprintf("linux.%s.%d", task, n+1))
		if e.Data.(event.TaskFinished).Outcome == release.Success {
			return
		}
	}
	h.t.Fatalf("%s never succeeds", task)
}
