package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/blob/blobtest"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

func TestExportsARelease(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	server := blobtest.Serve(t)
	server.Bucket(t, "exports", "")
	w := newWorld(t, dir, DestinationConfig{
		Name: "s3", URL: server.URL("exports", "team"), AccessKey: blobtest.AccessKey, SecretKey: blobtest.SecretKey,
	})
	w.start()
	s := story{change: push("master", "a"), text: "wheel of a"}
	s.tell(w)
	got := w.exported(6)
	id := string(s.run())
	want := []string{id + " dir candidate 0", id + " dir latest 0", id + " dir results 0", id + " s3 candidate 0", id + " s3 latest 0", id + " s3 results 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	home := "master/" + string(commitOf("a"))
	below := map[string]string{
		"run.json": "", "plan.json": "", "candidate.json": "", "manifest.json": "",
		"artifacts/wheel/demo-1.0-py3-none-any.whl": "wheel of a",
		"results/build/1.json":                      "", "results/smoke/1.json": "", "results/smoke/1/report/report.xml": "<testsuite/>",
		"results/round-0.json": "", "logs/smoke/1.log.zst": "log of wheel of a", "results/smoke/1.artifacts.tar": "files of wheel of a",
	}
	if diff := cmp.Diff(below, files(t, filepath.Join(path, home))); diff != "" {
		t.Error("directory:", diff)
	}
	if diff := cmp.Diff(below, files(t, filepath.Join(server.Dir, "exports/team", home))); diff != "" {
		t.Error("bucket:", diff)
	}
	if diff := cmp.Diff(below, files(t, filepath.Join(path, "latest")+"/")); diff != "" {
		t.Error("latest:", diff)
	}
	inDir, inBucket := readManifest(t, filepath.Join(path, "latest")), readManifest(t, filepath.Join(server.Dir, "exports/team/latest"))
	if diff := cmp.Diff(inDir, inBucket); diff != "" || inDir.Home != home || inDir.Run != s.run() {
		t.Errorf("manifests of latest/: %+v %s", inDir, diff)
	}
	for _, e := range w.seen {
		checkExported(t, path, "s3://exports/team", home, e.Data.(event.ArtifactExported))
	}
}

// A run that is cancelled before it has a plan ends, and left nothing: that is no dead letter.
func TestRunThatWasNeverPlanned(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	never, good := story{change: push("master", "b")}, story{change: push("master", "a"), text: "the release"}
	never.finish(w)
	good.tell(w)
	w.exported(3)
	if letters, err := w.bus.DeadLetters(t.Context(), 0, 100); err != nil || len(letters) != 0 {
		t.Errorf("dead letters %v, %v", letters, err)
	}
	if entries, err := os.ReadDir(filepath.Join(path, "master")); err != nil || len(entries) != 1 {
		t.Errorf("master/ has %v, %v; want what the other run left", entries, err)
	}
}

// TestPlacesLeaveNothing: the cleaning and the health check of a place are attempts of no plan, and no dead letters.
func TestPlacesLeaveNothing(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	for _, task := range []release.TaskID{"clean-1", "check-1"} {
		w.say(release.PlaceRuns+"lab-rack-1", event.TaskFinished{
			Task: task, Attempt: 1, Pool: "lab", Outcome: release.Success, Class: release.ClassOK, Log: w.blob("cleaned"),
		})
	}
	good := story{change: push("master", "a"), text: "the release"}
	good.tell(w)
	w.exported(3)
	if letters, err := w.bus.DeadLetters(t.Context(), 0, 100); err != nil || len(letters) != 0 {
		t.Errorf("dead letters %v, %v", letters, err)
	}
	if places, err := filepath.Glob(filepath.Join(path, "*", "*", "results", "c*")); err != nil || len(places) != 0 {
		t.Errorf("the destination has %v, %v; want nothing of places", places, err)
	}
}

func readManifest(t *testing.T, dir string) (m manifest) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkExported(t *testing.T, dir, bucket, home string, x event.ArtifactExported) {
	t.Helper()
	at := map[string]string{"dir": dir, "s3": bucket}[x.Destination] + "/" + home
	list, files := at+"/"+manifestFile, int32(3)
	switch x.Part {
	case "latest":
		at = strings.TrimSuffix(at, home) + "latest"
	case "results":
		list, files = dir+"/"+home+"/results/round-0.json", 5
	}
	if x.Location != at || x.Files != files || x.Bytes == 0 {
		t.Errorf("%s %s is at %s with %d files, %d bytes; want %s with %d files", x.Destination, x.Part, x.Location, x.Files, x.Bytes, at, files)
	}
	if text, err := os.ReadFile(list); err == nil && release.DigestOf(text) != x.Manifest {
		t.Errorf("%s %s has list %s, want the digest of %s", x.Destination, x.Part, x.Manifest, list)
	}
}

// Nothing of a pull request, a fork, a tag or another branch ever reaches latest/, even if a gate were to open for it.
func TestOnlyTheReleaseBranchReachesLatest(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	pull := push("master", "b")
	pull.Kind, pull.Number, pull.Ref, pull.HeadRef = release.PullRequest, 7, "refs/pull/7/head", "quick"
	fork := push("master", "c")
	fork.Kind, fork.Number, fork.Ref, fork.Fork = release.PullRequest, 8, "refs/pull/8/head", true
	hostile := push("latest/../../master", "d")
	tag := push("", "e")
	tag.Kind, tag.Ref = release.Tag, "refs/tags/v1"
	nightly := push("master", "f")
	nightly.Kind = release.Schedule
	changes := []release.Change{pull, fork, hostile, tag, nightly, push("feature", "1")}
	for _, c := range changes {
		story{change: c, text: "wheel of " + string(c.Kind)}.tell(w)
	}
	good := story{change: push("master", "a"), text: "the release"}
	good.tell(w)
	w.exported(2*len(changes) + 3) // candidate and results of all, latest of one
	if m := readManifest(t, filepath.Join(path, "latest")); m.Run != good.run() {
		t.Errorf("latest/ is of run %s", m.Run)
	}
	for _, e := range w.seen {
		if x := e.Data.(event.ArtifactExported); x.Part == "latest" && e.Run != good.run() {
			t.Errorf("run %s was said to be the latest", e.Run)
		}
	}
	waitFor(t, "dead letters", func() bool {
		letters, err := w.bus.DeadLetters(t.Context(), 0, 100)
		return err == nil && len(letters) == len(changes)
	})
	for _, home := range []string{"pull/7/", "pull/8/", "tags/v1/", "feature/"} {
		if _, err := os.Stat(filepath.Join(path, home)); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(path, "master"))
	if err != nil || len(entries) != 2 { // the release and the nightly
		t.Errorf("master/ has %v, %v", entries, err)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline.C:
			t.Fatalf("waited 20 s for %s", what)
		case <-tick.C:
		}
	}
}

// A run that was planned earlier but took longer does not take latest/ back.
func TestLatestOnlyGoesForward(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	slow, quick := story{change: push("master", "a"), text: "slow"}, story{change: push("master", "b"), text: "quick"}
	slow.plan(w)
	quick.tell(w)
	w.exported(3)
	slow.build(w)
	slow.open(w)
	slow.finish(w)
	w.exported(5)
	again := story{change: push("master", "c"), text: "again"}
	again.tell(w) // its gate is heard after the slow one's
	w.exported(8)
	for _, e := range w.seen {
		if x := e.Data.(event.ArtifactExported); x.Part == "latest" && e.Run == slow.run() {
			t.Error("the slow run took latest/ back")
		}
	}
	if m := readManifest(t, filepath.Join(path, "latest")); m.Run != again.run() {
		t.Errorf("latest/ is of run %s, want %s", m.Run, again.run())
	}
}

// Another run of the same commit, and another candidate of the same run, get folders of their own: no file is replaced.
func TestNothingIsReplaced(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	first := story{change: push("master", "a"), text: "first"}
	first.tell(w)
	w.exported(3)
	home := filepath.Join(path, "master", string(commitOf("a")))
	before := files(t, home)

	second := first
	second.text, second.round = "second", 1
	second.build(w)
	second.test(w)
	second.open(w)
	second.finish(w)
	w.exported(6)
	again := story{change: push("master", "a"), text: "again"}
	again.change.Kind, again.change.Nonce = release.Manual, "n1"
	again.tell(w)
	w.exported(9)

	after := files(t, home)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was %q and is %q", name, text, after[name])
		}
	}
	var wheels []string
	for name, text := range after {
		if strings.HasSuffix(name, ".whl") {
			wheels = append(wheels, text)
		}
	}
	slices.Sort(wheels)
	if diff := cmp.Diff([]string{"again", "first", "second"}, wheels); diff != "" {
		t.Errorf("%s in %q", diff, slices.Sorted(maps.Keys(after)))
	}
	if m := readManifest(t, filepath.Join(path, "latest")); m.Home != "master/"+string(commitOf("a"))+"/runs/"+string(again.run()) {
		t.Errorf("latest/ leads to %s", m.Home)
	}
}

// A destination that is down delays its own exports only, and gets everything once it is back.
func TestADeadDestinationOnlyGrowsItsOwnLag(t *testing.T) {
	t.Parallel()
	dir, _ := folder(t)
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	w := newWorld(t, dir, DestinationConfig{Name: "broken", URL: "file://" + broken})
	w.start()
	story{change: push("master", "a"), text: "a"}.tell(w)
	w.exported(3)
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	w.exported(6)
	if m := readManifest(t, filepath.Join(broken, "latest")); m.Commit != commitOf("a") {
		t.Errorf("latest/ is of %s", m.Commit)
	}
}

// What was said while the exporter was away is exported when it comes back, and what it had begun is finished.
func TestGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	s := story{change: push("master", "a"), text: "a"}
	w.start()
	s.plan(w)
	s.build(w)
	w.exported(1)
	w.stop()
	s.test(w)
	s.open(w)
	s.finish(w)
	// As if it had been killed within the candidate: half of the files are there, and the manifest is not.
	home := filepath.Join(path, "master", string(commitOf("a")))
	if err := os.Remove(filepath.Join(home, manifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(home, "artifacts")); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.exported(3)
	if m := readManifest(t, filepath.Join(path, "latest")); len(m.Files) != 3 {
		t.Errorf("the manifest lists %+v", m.Files)
	}
	if text, err := os.ReadFile(filepath.Join(path, "latest/artifacts/wheel/demo-1.0-py3-none-any.whl")); err != nil || string(text) != "a" {
		t.Errorf("the wheel is %q, %v", text, err)
	}
}

// A destination takes the projects that it names.
func TestProjects(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	dir.Projects = []string{"de*"}
	w := newWorld(t, dir)
	w.start()
	other := story{change: push("master", "b"), text: "b"}
	other.change.Project = "secret"
	other.tell(w)
	story{change: push("master", "a"), text: "a"}.tell(w)
	w.exported(3)
	if _, err := os.Stat(filepath.Join(path, "master", string(commitOf("b")))); err == nil {
		t.Error("a project that the destination does not name was exported")
	}
}

// A damaged or forged candidate is refused, and nothing of it is listed.
func TestRefusesForgedCandidates(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	s := story{change: push("master", "a"), text: "a"}
	s.plan(w)
	c := release.NewCandidate(s.run(), s.change.Commit, []release.Artifact{s.wheel(w)})
	swapped := c
	swapped.Artifacts = []release.Artifact{{Name: "evil.whl", Type: "wheel", Digest: w.blob("evil"), Size: 4}}
	foreign := release.NewCandidate("00000000-other", s.change.Commit, c.Artifacts)
	for round, forged := range []release.Candidate{swapped, foreign} {
		w.say(s.run(), event.CandidateAssembled{Round: int32(round), Candidate: c.ID, Blob: w.json(forged)},
			event.GateOpened{Round: int32(round), Candidate: c.ID, Blob: w.json(forged)})
	}
	waitFor(t, "four dead letters", func() bool {
		letters, err := w.bus.DeadLetters(t.Context(), 0, 100)
		return err == nil && len(letters) == 4
	})
	for name, text := range files(t, path) {
		if strings.Contains(name, "evil") || strings.Contains(text, "evil") {
			t.Errorf("%s was exported", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(path, "latest")); err == nil {
		t.Error("latest/ leads to a forged candidate")
	}
}

func TestWithoutDestinations(t *testing.T) {
	s, err := New(Config{}, service.Deps{Log: slog.New(slog.DiscardHandler)})
	if err != nil || len(s.Routes) != 0 || len(s.Loops) != 1 {
		t.Fatalf("New = %d routes, %d loops, %v", len(s.Routes), len(s.Loops), err)
	}
	var b bytes.Buffer
	for _, link := range service.Topology(s) {
		fmt.Fprintln(&b, link.Hears, link.Says)
	}
	want := "[candidate.assembled task.finished gate.opened release.published run.finished] [artifact.exported]\n"
	if b.String() != want {
		t.Errorf("topology is %q, want %q", b.String(), want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Loops[0].Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestNewRefusesTwoOfAName(t *testing.T) {
	d := DestinationConfig{Name: "a", URL: "file:///nowhere"}
	if _, err := New(Config{Destinations: []DestinationConfig{d, d}}, service.Deps{Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("New = nil, want an error: their consumers would be the same")
	}
}

// TestARerunIsAsOldAsItsRun makes the run of an old commit again after a newer one was released: its files are kept, and
// latest/ stays where it is.
func TestARerunIsAsOldAsItsRun(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	old, newer := story{change: push("master", "a"), text: "old"}, story{change: push("master", "b"), text: "newer"}
	old.tell(w)
	w.exported(3)
	newer.tell(w)
	w.exported(6)
	again := story{change: old.change.Rerun(old.run(), "ann", "r1"), text: "again"}
	again.tell(w)
	w.exported(8)
	last := story{change: push("master", "c"), text: "last"}
	last.tell(w) // its gate is heard after the rerun's
	w.exported(11)
	for _, e := range w.seen {
		if x := e.Data.(event.ArtifactExported); x.Part == "latest" && e.Run == again.run() {
			t.Error("the rerun of an old commit took latest/ back")
		}
	}
	if m := readManifest(t, filepath.Join(path, "latest")); m.Run != last.run() {
		t.Errorf("latest/ is of run %s, want %s", m.Run, last.run())
	}
}
