package publisher

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
)

// childVariable makes the test's binary a publisher that its parent may kill.
const childVariable = "PUBLISHER_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		if err := child(spec); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// childSpec is what a child publisher needs.
type childSpec struct{ URL, Blobs, Root string }

func child(text string) error {
	var spec childSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	ctx := context.Background()
	b, err := bus.Connect(ctx, spec.URL, bus.Options{})
	if err != nil {
		return err
	}
	return serve(ctx, b, blob.Dir(spec.Blobs), spec.Root, fmt.Sprint(os.Getpid()))
}

// serve runs a publisher until ctx ends.
func serve(ctx context.Context, b *bus.Bus, blobs blob.Store, root, instance string) error {
	deps := service.Deps{
		Bus: b, Blobs: blobs, Log: slog.New(slog.DiscardHandler), Now: time.Now, Instance: instance,
		Secret: func(name string) (string, error) { return map[string]string{"TOKEN": secretValue}[name], nil },
	}
	grants := secret.Grants{{Names: []string{"TOKEN"}, Projects: []string{"demo"}, Targets: []string{"*"}}}
	s, err := New(Config{Grants: grants, Root: root, AckWait: 300 * time.Millisecond, StepTimeout: 20 * time.Second}, deps)
	if err != nil {
		return err
	}
	return service.Run(ctx, deps, &service.Health{}, s)
}

// house is everything around a publisher: the bus, the blobs, four targets, a run whose gate opened.
type house struct {
	t      *testing.T
	bus    *bus.Bus
	spec   childSpec
	worlds []*world
	run    release.RunID
	plan   plan.Plan
}

func newHouse(t *testing.T) *house {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), Port: -1})
	check(t, err)
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	check(t, err)
	t.Cleanup(b.Close)
	h := &house{t: t, bus: b, run: "abababab-service", spec: childSpec{URL: server.URL(), Blobs: t.TempDir()}}
	h.worlds = []*world{pypiIndexWorld(t), pypiWorld(t, false), mavenServerWorld(t, true), mavenFolderWorld(t), ociWorld(t, true)}
	h.plan = plan.Plan{
		Project: "demo", Release: release.ReleasePolicy{Branch: "master"}, Gate: plan.Gate{On: []string{"push"}},
		Trust: release.TrustRelease, Change: release.Change{Kind: release.Push, Project: "demo", Repo: "acme/demo", Ref: "refs/heads/master", Branch: "master", Commit: release.Commit(strings.Repeat("ab", 20))},
	}
	for i, w := range h.worlds {
		w.target.Name = fmt.Sprintf("t%d", i)
		w.target.Select = []string{w.name[:2]}
		h.plan.Targets = append(h.plan.Targets, w.target)
	}
	return h
}

// open stores the candidate and the plan, and says that the run was planned and its gate opened.
func (h *house) open(content string) {
	h.t.Helper()
	planned, opened := h.store(content)
	h.say(planned, opened)
}

// assemble says that the run was planned and its candidate assembled.
func (h *house) assemble(content string) {
	h.t.Helper()
	planned, opened := h.store(content)
	h.say(planned, event.CandidateAssembled{Candidate: opened.Candidate, Blob: opened.Blob, Plan: opened.Plan})
}

// store keeps the candidate and the plan as blobs.
func (h *house) store(content string) (event.RunPlanned, event.GateOpened) {
	h.t.Helper()
	ctx := h.t.Context()
	blobs := blob.Dir(h.spec.Blobs)
	artifacts := map[string]release.Artifact{}
	for _, w := range h.worlds {
		for name, b := range w.release(h.t, content) {
			d, err := blob.PutBytes(ctx, blobs, b)
			check(h.t, err)
			artifacts[name] = release.Artifact{Name: name, Type: w.name[:2], Job: "build", Task: release.TaskID(release.Slug(name)), Digest: d, Size: int64(len(b))}
		}
	}
	var all []release.Artifact
	for _, a := range artifacts {
		all = append(all, a)
	}
	c := release.NewCandidate(h.run, h.plan.Change.Commit, all)
	text, err := json.Marshal(c)
	check(h.t, err)
	candidateBlob, err := blob.PutBytes(ctx, blobs, text)
	check(h.t, err)
	encoded, _, err := h.plan.Encode()
	check(h.t, err)
	planBlob, err := blob.PutBytes(ctx, blobs, encoded)
	check(h.t, err)
	planned := event.RunPlanned{Change: h.plan.Change, Plan: planBlob, Release: h.plan.Release, GateOn: []release.ChangeKind{release.Push}}
	for _, t := range h.plan.Targets {
		planned.Targets = append(planned.Targets, event.TargetName{Name: t.Name, Kind: t.Kind})
	}
	return planned, event.GateOpened{Candidate: c.ID, Blob: candidateBlob, Plan: planBlob}
}

func (h *house) say(payloads ...event.Payload) {
	h.t.Helper()
	for _, p := range payloads {
		check(h.t, h.bus.Publish(h.t.Context(), event.Root(h.run, "/test/1", time.Now(), p)))
	}
}

// facts follows the run until stop says so, and returns everything that was said.
func (h *house) facts(stop func(event.Event) bool) []event.Event {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 40*time.Second)
	defer cancel()
	f, err := h.bus.Follow(ctx, bus.Following{Name: "test", Run: string(h.run)})
	check(h.t, err)
	defer f.Close()
	var all []event.Event
	for {
		batch, err := f.Next(ctx, time.Second)
		if err != nil {
			for _, e := range all {
				h.t.Log(e.Describe(), e.Data)
			}
			h.t.Fatal(err)
		}
		for _, e := range batch.Events {
			all = append(all, e)
			if stop(e) {
				return all
			}
		}
	}
}

func over(e event.Event) bool {
	return e.Type == event.TypeReleasePublished || e.Type == event.TypeReleaseFailed
}

// start runs a publisher in this process.
func (h *house) start() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, h.bus, blob.Dir(h.spec.Blobs), h.spec.Root, "one") }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
}

// complete checks that every target has every file, whole, and took each exactly once.
func (h *house) complete() {
	h.t.Helper()
	for _, w := range h.worlds {
		seen := w.visible(h.t)
		for name, b := range w.release(h.t, "one") {
			got, ok := seen[name]
			if w.name == "oci" {
				ok, got = len(seen) == 2 && seen["1.0"] == seen["latest"], release.DigestOf(b)
			}
			if !ok || got != release.DigestOf(b) {
				h.t.Errorf("%s (%s): %s has %q", w.target.Name, w.name, name, got)
			}
		}
		once(h.t, w)
	}
}

func TestServicePublishesOverAllKinds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.start()
	h.open("one")
	all := h.facts(over)
	end, ok := all[len(all)-1].Data.(event.ReleasePublished)
	if !ok || len(end.Targets) != len(h.worlds) {
		t.Fatalf("ended with %v", all[len(all)-1].Data)
	}
	committed := map[string]int{}
	for i, e := range all {
		if p, ok := e.Data.(event.PublicationAdvanced); ok {
			if p.State == release.Committed {
				committed[p.Kind] = i
			}
			if p.State == release.Probed && len(p.Files) == 0 {
				t.Errorf("%s: probed, and no files are named", p.Target)
			}
		}
		if strings.Contains(fmt.Sprint(e.Data), secretValue) {
			t.Errorf("a secret in %s", e.Describe())
		}
	}
	if committed["pypi-index"] > committed["oci"] || committed["oci"] > committed["maven"] || committed["maven"] > committed["pypi"] {
		t.Errorf("committed in the order %v", committed)
	}
	h.complete()
}

// TestServiceKilledBetweenAllSteps runs the publisher as a process of its own and kills it with SIGKILL after every fact
// that it says, and at odd moments between.
func TestServiceKilledBetweenAllSteps(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.open("one")
	text, err := json.Marshal(h.spec)
	check(t, err)
	known, kills := 2, 0
	for finished := false; !finished; kills++ {
		cmd := exec.Command(os.Args[0]) //nolint:gosec // the test itself
		cmd.Env = append(os.Environ(), childVariable+"="+string(text))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		check(t, cmd.Start())
		n := 0
		want := known + 1 + kills%3
		all := h.facts(func(e event.Event) bool {
			n++
			return over(e) || n >= want
		})
		if kills%2 == 1 { // in the middle of what follows, too
			<-time.After(time.Duration(kills%7) * 3 * time.Millisecond)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if stderr.Len() > 0 {
			t.Fatal(stderr.String())
		}
		known, finished = len(all), over(all[len(all)-1])
		if finished {
			if _, ok := all[len(all)-1].Data.(event.ReleasePublished); !ok {
				t.Fatalf("ended with %v", all[len(all)-1].Data)
			}
		}
	}
	t.Logf("killed %d times", kills)
	h.complete()
}

func TestServiceStopsAtAConflictBeforeAnythingIsVisible(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	taken := h.worlds[3] // the Maven directory has the version already, with other bytes
	check(t, publish(t, taken, candidate(t, taken.release(t, "other"))))
	before := taken.visible(t)
	h.start()
	h.open("one")
	all := h.facts(over)
	end, ok := all[len(all)-1].Data.(event.ReleaseFailed)
	if !ok || !strings.Contains(strings.Join(end.Reasons, "\n"), "has it already with digest sha256:") {
		t.Fatalf("ended with %v", all[len(all)-1].Data)
	}
	for i, w := range h.worlds {
		if seen := w.visible(t); i != 3 && len(seen) > 0 || i == 3 && len(seen) != len(before) {
			t.Errorf("%s: visible: %v", w.target.Name, seen)
		}
	}
}

func TestServiceGoesOnWhenAPersonAsks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.worlds[1].front.set("403")
	h.start()
	h.open("one")
	if end := h.last(h.facts(over)); end.Type != event.TypeReleaseFailed {
		t.Fatalf("ended with %v", end.Data)
	}
	h.worlds[1].front.set("")
	h.say(event.PublicationRetryRequested{Request: "again", By: "ann"})
	h.facts(func(e event.Event) bool { return e.Type == event.TypeReleasePublished })
	h.complete()
}

func (h *house) last(all []event.Event) event.Event { return all[len(all)-1] }

func TestServiceWaitsForARegistryThatIsAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.worlds[1].front.wait = "0"
	h.worlds[1].front.set("500")
	h.start()
	h.open("one")
	h.facts(func(e event.Event) bool {
		p, ok := e.Data.(event.PublicationAdvanced)
		return ok && p.Kind == "oci" && p.State == release.Staged
	})
	h.worlds[1].front.set("")
	if end := h.last(h.facts(over)); end.Type != event.TypeReleasePublished {
		t.Fatalf("ended with %v", end.Data)
	}
	h.complete()
}

// TestServiceBelievesNoRequest asks for a publication that no gate let through, as somebody with access to the bus could.
func TestServiceBelievesNoRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.start()
	h.say(event.PublicationRequested{
		Target: "t0", Kind: "pypi-index", State: release.Committed,
		Plan: release.DigestOf([]byte("plan")), Blob: release.DigestOf([]byte("candidate")),
	})
	all := h.facts(func(e event.Event) bool { return e.Type == event.TypePublicationFailed })
	if p := h.last(all).Data.(event.PublicationFailed); p.Fault != "denied" || !strings.Contains(p.Reason, "did not open") {
		t.Fatalf("answered %v", p)
	}
}

// TestAServerThatLagsShutsNoGate: a server of a cluster that was away says that the gate did not open, since it has not heard of it
// yet. Then the facts count, read in their order up to the request.
func TestAServerThatLagsShutsNoGate(t *testing.T) {
	t.Parallel()
	h := newHouse(t) // its stream has no opening, as that server's
	p := &publisher{deps: service.Deps{Bus: h.bus}, book: newBook(nil)}
	want := event.PublicationRequested{Plan: release.DigestOf([]byte("plan")), Blob: release.DigestOf([]byte("candidate"))}
	answer := make(chan error, 1)
	go func() { answer <- p.gateOpened(t.Context(), "one", want, 7) }()
	p.book.take(bus.Batch{Last: 7, Events: []event.Event{{Type: event.TypeGateOpened, Run: "one", Seq: 5, Data: event.GateOpened{Plan: want.Plan, Blob: want.Blob}}}})
	if err := <-answer; err != nil {
		t.Error(err)
	}
	want.Blob = release.DigestOf([]byte("another"))
	if err := p.gateOpened(t.Context(), "one", want, 7); !fault.Is(err, fault.Denied) {
		t.Errorf("for another candidate: %v", err)
	}
}

// TestServiceNeverPublishesAPullRequest opens a gate that should never have opened.
func TestServiceNeverPublishesAPullRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.plan.Change.Kind = release.PullRequest
	h.start()
	h.open("one")
	if end, ok := h.last(h.facts(over)).Data.(event.ReleaseFailed); !ok || !strings.Contains(end.Reasons[0], "a pull request never publishes") {
		t.Fatalf("ended with %v", end)
	}
	h.say(event.PublicationRequested{Target: "t0", Kind: "pypi-index", State: release.Committed, Plan: h.opened().Plan, Blob: h.opened().Blob})
	all := h.facts(func(e event.Event) bool { return e.Type == event.TypePublicationFailed })
	if p := h.last(all).Data.(event.PublicationFailed); p.Fault != "denied" {
		t.Fatalf("answered %v", p)
	}
	for _, w := range h.worlds {
		if seen := w.visible(t); len(seen) > 0 {
			t.Errorf("%s: visible: %v", w.target.Name, seen)
		}
	}
}

// TestATakenNameIsKnownBeforeTheTests: when the candidate is assembled, long before the gate opens.
func TestATakenNameIsKnownBeforeTheTests(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	taken := h.worlds[3]
	check(t, publish(t, taken, candidate(t, taken.release(t, "other"))))
	h.worlds[1].front.set("read-only")
	h.worlds[4].front.set("read-only")
	h.start()
	h.assemble("one")
	first, seen := map[string]event.PublicationChecked{}, map[string]event.PublicationChecked{}
	h.facts(func(e event.Event) bool {
		if p, ok := e.Data.(event.PublicationChecked); ok {
			map[bool]map[string]event.PublicationChecked{true: first, false: seen}[p.Planned][p.Target] = p
		}
		return len(seen) == len(h.worlds) && len(first) == len(h.worlds)
	})
	for i, w := range h.worlds {
		early, want := map[int]string{1: "denied"}[i], map[int]string{1: "denied", 3: "conflict", 4: "denied"}[i]
		if got := seen[w.target.Name]; got.Fault != want || want == "" && len(got.Files) == 0 {
			t.Errorf("%s (%s) was checked: %q %s, %d files; want %q", w.target.Name, w.name, got.Fault, got.Reason, len(got.Files), want)
		}
		if got := first[w.target.Name]; got.Fault != early {
			t.Errorf("%s (%s) was checked when the run was planned: %q %s, want %q", w.target.Name, w.name, got.Fault, got.Reason, early)
		}
	}
}

func (h *house) opened() event.GateOpened {
	all := h.facts(func(e event.Event) bool { return e.Type == event.TypeGateOpened })
	return h.last(all).Data.(event.GateOpened)
}
