package exporter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// world is a bus, a store and the destinations of one exporter.
type world struct {
	*testing.T
	bus    *bus.Bus
	blobs  *blob.Directory
	config Config
	stop   func() // ends the exporter
	seen   []event.Event
	follow *bus.Follower
}

func newWorld(t *testing.T, destinations ...DestinationConfig) *world {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w := &world{T: t, blobs: blob.Dir(t.TempDir()), config: Config{Destinations: destinations}, stop: func() {}}
	if w.bus, err = server.Connect(t.Context(), bus.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.bus.Close)
	t.Cleanup(func() { w.stop() })
	w.follow, err = w.bus.Follow(t.Context(), bus.Following{Name: "test", Types: []event.Type{event.TypeArtifactExported}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start runs the exporter until stop.
func (w *world) start() {
	w.Helper()
	deps := service.Deps{
		Bus: w.bus, Blobs: w.blobs, Log: slog.New(slog.NewTextHandler(w.Output(), nil)), Now: time.Now, Instance: "test",
		Secret: func(name string) (string, error) { return name, nil },
	}
	s, err := New(w.config, deps)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx, deps, new(service.Health), s) }()
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
		w.stop = func() {}
	}
}

// exported waits until n things in all were said to be exported, and returns them as "destination part round".
func (w *world) exported(n int) []string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for len(w.seen) < n {
		batch, err := w.follow.Next(ctx, time.Minute)
		if err != nil {
			w.Fatalf("waiting for %d exports, found %d: %v", n, len(w.seen), err)
		}
		w.seen = append(w.seen, batch.Events...)
	}
	var out []string
	for _, e := range w.seen {
		x := e.Data.(event.ArtifactExported)
		out = append(out, fmt.Sprintf("%s %s %s %d", e.Run, x.Destination, x.Part, x.Round))
	}
	slices.Sort(out)
	return out
}

func (w *world) blob(text string) release.Digest {
	w.Helper()
	d, err := blob.PutBytes(w.Context(), w.blobs, []byte(text))
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) json(v any) release.Digest {
	w.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	return w.blob(string(text))
}

func (w *world) say(run release.RunID, payloads ...event.Payload) {
	w.Helper()
	for _, p := range payloads {
		if err := w.bus.Publish(w.Context(), event.Root(run, "/test/1", time.Now(), p)); err != nil {
			w.Fatal(err)
		}
	}
}

func commitOf(c string) release.Commit { return release.Commit(strings.Repeat(c, 40)) }

func push(branch, commit string) release.Change {
	return release.Change{
		Kind: release.Push, Project: "demo", Repo: "acme/demo", Ref: "refs/heads/" + branch, Branch: branch, Commit: commitOf(commit),
	}
}

// story is a run with one build, of a wheel, and one test, with a log and a report.
type story struct {
	change release.Change
	text   string // of the wheel
	round  int32
}

func (s story) run() release.RunID { return s.change.RunID() }

// plan says the plan, and the attempts.
func (s story) plan(w *world) {
	w.Helper()
	p := plan.Plan{Change: s.change, Tasks: []plan.Task{{ID: "build", Pool: "linux", Kind: release.Build}, {ID: "smoke", Pool: "linux", Kind: release.Test}}}
	w.say(s.run(), event.RunPlanned{Change: s.change, Plan: w.json(p), Release: release.ReleasePolicy{Branch: "master"}, Trust: release.TrustRelease})
}

func (s story) wheel(w *world) release.Artifact {
	return release.Artifact{
		Name: "demo-1.0-py3-none-any.whl", Type: "wheel", Task: "build", Digest: w.blob(s.text), Size: int64(len(s.text)), MediaType: "application/zip",
	}
}

func (s story) build(w *world) {
	w.Helper()
	c := release.NewCandidate(s.run(), s.change.Commit, []release.Artifact{s.wheel(w)})
	w.say(s.run(),
		event.TaskFinished{Task: "build", Attempt: 1 + s.round, Pool: "linux", Outcome: release.Success, Class: release.ClassOK, Artifacts: []release.Artifact{s.wheel(w)}},
		event.CandidateAssembled{Round: s.round, Candidate: c.ID, Blob: w.json(c), Commit: c.Commit, Artifacts: 1})
}

func (s story) test(w *world) {
	w.Helper()
	report := release.Artifact{Name: "report.xml", Type: "report", Task: "smoke", Digest: w.blob("<testsuite/>"), Size: 12}
	w.say(s.run(), event.TaskFinished{
		Pool: "linux",
		Task: "smoke", Attempt: 1 + s.round, Outcome: release.Success, Class: release.ClassOK, Log: w.blob("log of " + s.text), Files: w.blob("files of " + s.text),
		Artifacts: []release.Artifact{report},
	})
}

func (s story) open(w *world) {
	w.Helper()
	c := release.NewCandidate(s.run(), s.change.Commit, []release.Artifact{s.wheel(w)})
	w.say(s.run(), event.GateOpened{Round: s.round, Candidate: c.ID, Blob: w.json(c)})
}

func (s story) finish(w *world) {
	w.Helper()
	w.say(s.run(), event.RunFinished{Round: s.round, Outcome: release.Success})
}

func (s story) tell(w *world) {
	w.Helper()
	s.plan(w)
	s.build(w)
	s.test(w)
	s.open(w)
	s.finish(w)
}

// files lists what is below a directory, without run.json and the manifest's and results' texts, which hold times.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		text, err := os.ReadFile(path)
		if strings.HasSuffix(name, ".json") {
			text = nil
		}
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func folder(t *testing.T) (DestinationConfig, string) {
	dir := t.TempDir()
	return DestinationConfig{Name: "dir", URL: "file://" + dir}, dir
}
