package view_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/lipgloss"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

const (
	commit release.Commit = "4f2a9c1d00000000000000000000000000000001"
	run    release.RunID  = "4f2a9c1d-k3m2pa7q"
)

func failed() client.Status {
	tasks := []client.Task{
		{ID: "lock-3_12", Job: "lock", State: "success", Tried: 1, Started: ago(200 * time.Second), Finished: ago(190 * time.Second)},
		{ID: "wheel-3_12", Name: "wheel (3.12)", Job: "wheel", State: "success", Tried: 1},
		{ID: "wheel-3_13", Name: "wheel (3.13)", Job: "wheel", State: "success", Tried: 1},
		{
			ID: "smoke-3_12", Name: "smoke (3.12)", Job: "smoke", State: "failure", Tried: 2, Class: "command", Outcome: "failure",
			Reason: "the command exited with 1", Started: ago(90 * time.Second), Finished: ago(50 * time.Second),
			Attempts: []client.Attempt{{
				Task: "smoke-3_12", Number: 2,
				Failures:  []event.CaseFailure{{Name: "test_import", Message: "No module named 'demo'"}},
				LastLines: []string{"collected 3 items", "\x1b[31mFAILED\x1b[0m test_import", "own title \x1b]0;pwned\a", "1 failed, 2 passed"},
			}},
		},
		{ID: "gpu-long", State: client.TaskRunning, Started: ago(12 * time.Second), Reason: ""},
		{ID: "scale", State: client.TaskDelayed, Delayed: now.Add(30 * time.Second), Reason: "attempt 1 was lost: the executor vanished"},
		{ID: "report", State: client.TaskSkipped, Reason: "smoke-3_12 failed"},
	}
	return client.Status{
		Run: client.Run{
			ID: run, Project: "polyglot", Kind: release.Push, Branch: "master", Commit: commit, Title: "Fix the \x1b[2Jfrobnicator",
			Author: "Ada", State: "failure", Outcome: release.Failure, Reason: "the gate is closed: tests.stable: smoke-3_12 failed",
			Received: ago(4 * time.Minute), Finished: ago(40 * time.Second), Gate: "closed",
			Targets: []event.TargetName{{Name: "pypi", Kind: "pypi"}}, Warnings: []string{"timeout of smoke is longer than its pool allows"},
		},
		Tasks: tasks,
		Gates: []client.Gate{{State: "closed", Reason: "smoke-3_12 failed"}},
		Conditions: []release.Condition{
			{Name: "builds", Met: true, Final: true, Reason: "3 of 3 succeeded"},
			{Name: "tests.stable", Final: true, Reason: "smoke-3_12 failed: the command exited with 1, and this explanation goes on for longer than a line"},
			{Name: "approvals", Reason: "0 of 1 given"},
		},
	}
}

// retried is a run in which a test passed on a retry, one is kept for a person, and one holds places.
func retried() client.Status {
	first := client.Attempt{Task: "flaky", Number: 1, Class: "command", Outcome: "failure", Reason: "exit status 1"}
	lab := release.Lease{Provider: "lab", Places: []release.Held{{Place: "rack-1", Token: 7}, {Place: "rack-2", Token: 3}}}
	return client.Status{
		Run: client.Run{ID: run, Project: "polyglot", Kind: release.Push, Branch: "master", Commit: commit, State: client.StateRunning, Received: ago(time.Minute)},
		Tasks: []client.Task{
			{ID: "wheel", State: "success", Tried: 1, Attempts: []client.Attempt{{Number: 1, Outcome: "success", Class: "ok"}}},
			{ID: "flaky", State: "success", Tried: 2, Attempts: []client.Attempt{first, {Task: "flaky", Number: 2, Outcome: "success", Class: "ok"}}},
			{ID: "kept", State: "failure", Class: "command", Tried: 1, Attempts: []client.Attempt{
				{Number: 1, Outcome: "failure", Class: "command", Reason: "exit status 3", Executor: "box-1", KeptUntil: now.Add(20 * time.Minute)},
			}},
			{ID: "soak", State: client.TaskRunning, Started: ago(30 * time.Second), Tried: 1, Attempts: []client.Attempt{{Number: 1, Lease: lab}}},
		},
	}
}

func released() client.Status {
	step := func(target string, state release.PublicationState) client.Step {
		return client.Step{Target: target, Kind: target, State: state, Requested: ago(time.Minute), Reached: ago(50 * time.Second)}
	}
	return client.Status{
		Run: client.Run{
			ID: run, Kind: release.PullRequest, Number: 7, Branch: "master", Commit: commit, Title: "Größer →", State: client.StateRunning,
			Received: ago(75 * time.Second), Targets: []event.TargetName{{Name: "pypi", Kind: "pypi"}, {Name: "maven", Kind: "maven"}, {Name: "oci", Kind: "oci"}},
		},
		Why:        &client.Why{Reason: "the gate opened; the publisher has not ended"},
		Gates:      []client.Gate{{State: "open"}},
		Conditions: []release.Condition{{Name: "builds", Met: true, Final: true, Reason: "3 of 3 succeeded"}},
		Tasks:      []client.Task{{ID: "wheel", State: "success"}},
		Exports:    []client.Export{{Destination: "folder", Part: "candidate", Location: "/srv/exports/master/4f2a9c1d", Bytes: 48 << 20}},
		Steps: []client.Step{
			{Target: "oci", State: release.Committed, Reached: ago(time.Second), Files: []event.PublishedFile{{Name: "demo", URL: "http://registry.example/demo:1.0"}}},
			step("pypi", release.Planned), step("pypi", release.Probed),
			{Target: "pypi", State: release.Staged, Failed: ago(time.Second), Reason: "cannot stage demo-1.0.whl: the index has other bytes of that name"},
			step("maven", release.Planned),
			{Target: "maven", State: release.Probed, Requested: ago(time.Second)},
		},
	}
}

func rejected() client.Status {
	return client.Status{Run: client.Run{
		ID: run, Kind: release.Tag, Ref: "refs/tags/v1.2", Commit: commit, State: client.StateRejected, Outcome: release.Failure,
		Received: ago(50 * time.Hour), Finished: ago(50*time.Hour - 300*time.Millisecond),
		Problems: []event.Problem{
			{File: "sluice.yaml", Line: 3, Column: 5, Message: `found "buidls", expected one of the keys of a definition`, Hint: `did you mean "builds"?`},
			{Message: "there is no sluice.yaml at this commit"},
		},
	}}
}

func top() view.Top {
	return view.Top{
		Runs:    []client.Run{{ID: run}},
		Missing: []string{"streams: cannot look at stream LOGS"},
		Pools: []client.Pool{
			{Name: "default", Slots: 4, Running: 2, Given: 5, Waiting: 12, Executors: []client.Executor{
				{Name: "host-1", Alive: true, Held: []string{"user", "pid", "mount", "ipc", "kill"}, Missing: []string{"cgroup controller cpu: no hierarchy with it may be written to"}},
				{Name: "host-2"},
				{Name: "host-3", Alive: true, Missing: []string{"users and namespaces: clone: operation not permitted"}, Refusal: "cannot run an untrusted change here"},
			}},
			{Name: "gpu", Drained: true, Reason: "drained by ada: new driver"},
		},
		Streams: []client.Stream{{
			Name: "FACTS", Messages: 1_204_000, Bytes: 3 << 29, MaxBytes: 3 << 29, LastTime: ago(2 * time.Second), Description: "facts, one message per place",
			Consumers: []client.Consumer{
				{Name: "builder-plan", Durable: true, LastActive: ago(3 * time.Second)},
				{Name: "follower"},
				{Name: "publisher-pypi", Durable: true, Pending: 31, AckPending: 1, Redelivered: 2},
			},
		}},
	}
}

// pages are all that is shown, by name.
func pages() map[string]func(io.Writer, view.Style) error {
	return map[string]func(io.Writer, view.Style) error{
		"runs": func(w io.Writer, s view.Style) error {
			return view.Runs(w, s, []client.Run{
				released().Run, failed().Run, rejected().Run,
				{ID: "00000000-x", State: "teleported"},
				{ID: "00000000-y", State: client.StateIgnored, Kind: release.Push, Branch: "a-branch-with-a-rather-long-name", Received: ago(time.Hour)},
			})
		},
		"runs-none": func(w io.Writer, s view.Style) error { return view.Runs(w, s, nil) },
		"failed":    func(w io.Writer, s view.Style) error { return view.Status(w, s, failed()) },
		"released":  func(w io.Writer, s view.Style) error { return view.Status(w, s, released()) },
		"rejected":  func(w io.Writer, s view.Style) error { return view.Status(w, s, rejected()) },
		"no-candidate": func(w io.Writer, s view.Style) error {
			return view.Status(w, s, client.Status{Run: client.Run{ID: run, State: "failure"}, Candidates: []client.Candidate{
				{State: "rejected", Reasons: []string{"demo-1.0.whl carries commit 0000000, expected 4f2a9c1d"}},
			}})
		},
		"top":   func(w io.Writer, s view.Style) error { return top().Show(w, s) },
		"pools": func(w io.Writer, s view.Style) error { return view.Pools(w, s, top().Pools) },
		"artifacts": func(w io.Writer, s view.Style) error {
			return view.Artifacts(w, s, []client.Artifact{
				{Task: "wheel-3_12", Name: "demo-1.0-cp312-cp312-linux_x86_64.whl", Type: "wheel", Size: 12_345, Digest: release.DigestOf(nil)},
				{Task: "docs", Name: "site\x1b[1m", Type: "site", Directory: true, Size: 3 << 20, Digest: release.DigestOf(nil)},
			})
		},
		"why": func(w io.Writer, s view.Style) error {
			return view.Why(w, s, client.Why{
				Run: run, Task: "gpu-long", State: "ready", Reason: "it waits for its turn among 3 in pool gpu: 2 attempts are given to it, at most 2 are (2 slots)",
				Since: ago(3 * time.Minute), Attempt: 1, Note: "the test-scheduler did not say",
				Holders: []client.Holder{{Run: "other-run", Task: "train", State: "running", Executor: "gpu-7f", Since: ago(2 * time.Hour)}},
			})
		},
		"why-run": func(w io.Writer, s view.Style) error {
			return view.Why(w, s, client.Why{
				Run: run, State: "publishing", Reason: "the gate opened; the publisher has not ended", Since: ago(time.Minute),
				Publications: []client.Publishing{
					{Target: "pypi", State: release.Staged, Since: ago(20 * time.Second), Reason: "nothing is committed before all is staged: it waits for oci"},
					{Target: "oci", State: release.Probed, Since: ago(9 * time.Second), Broken: true, Reason: "it cannot be staged: the registry has other bytes"},
					{Target: "maven", State: release.Verified, Since: ago(time.Second), Reason: "it is there, downloaded again and compared"},
					{Target: "late", Reason: "it waits for the gate"},
				},
			})
		},
		"retried": func(w io.Writer, s view.Style) error { return view.Status(w, s, retried()) },
		"letters": func(w io.Writer, s view.Style) error {
			letter := client.DeadLetter{
				Seq: 3, Consumer: "builder-plan", Subject: "sluice.fact.r.change.received.push", Source: 17, Fault: "invalid",
				Reason: "cannot read the definition: it is larger than 1048576 bytes", Deliveries: 1, Time: ago(time.Hour),
			}
			if err := view.DeadLetters(w, s, []client.DeadLetter{letter}); err != nil {
				return err
			}
			return view.DeadLetter(w, s, letter)
		},
		"moments": func(w io.Writer, s view.Style) error {
			return view.Moments(w, s, []client.Moment{
				{Seq: 1, Type: "change.received", At: ago(72 * time.Hour), Line: "push of master received from Ada: a title \x1b]0;x\a that is long enough for two lines"},
				{Seq: 2, Type: "task.finished", At: ago(time.Second), Line: "smoke attempt 1 ended: failure (command)", Tone: "bad"},
			})
		},
		"replay": func(w io.Writer, s view.Style) error {
			return view.Replay(w, s, []view.ReplayStep{
				{Seq: 4, Line: "run planned: 1 to build", Decided: nil},
				{Seq: 5, Line: "wheel wanted on pool default", Decided: []view.Decision{
					{Line: "wheel attempt 1 given to pool default", Fact: 6}, {Line: "gate opened: 2 conditions met"},
				}},
			}, "building: builds: wheel is running")
		},
		"ending": func(w io.Writer, s view.Style) error { return view.Ending(w, s, failed().Run) },
	}
}

// TestPages compares each page with what is kept of it: without colour at any width, and in colour at 80 columns. The
// environment variable SLUICE_UPDATE=1 keeps what is shown now.
func TestPages(t *testing.T) {
	for name, show := range pages() {
		for suffix, style := range map[string]view.Style{"file": {}, "terminal": {Width: 80, Colour: true}} {
			style.Now = now
			t.Run(name+"."+suffix, func(t *testing.T) {
				var b strings.Builder
				if err := show(&b, style); err != nil {
					t.Fatal(err)
				}
				compare(t, filepath.Join("testdata", name+"."+suffix), b.String())
			})
		}
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("SLUICE_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; SLUICE_UPDATE=1 keeps the new one. It is\n%s\nwant\n%s", file, got, want)
	}
}

// TestPagesFit holds every page to its width, and to what a terminal may be sent.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, show := range pages() {
		for _, columns := range []int{80, 100, 132} {
			var b strings.Builder
			if err := show(&b, view.Style{Width: columns, Now: now}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if w := lipgloss.Width(line); w > columns {
					t.Errorf("%s at %d columns has a line of %d: %q", name, columns, w, line)
				}
				if strings.ContainsFunc(colours.ReplaceAllString(line, ""), unicode.IsControl) {
					t.Errorf("%s sends a control character: %q", name, line)
				}
			}
		}
	}
}

func TestNothingIsColouredInAFile(t *testing.T) {
	t.Parallel()
	for name, show := range pages() {
		var b strings.Builder
		if err := show(&b, view.Style{Now: now}); err != nil || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s, %v: %q", name, err, b.String())
		}
	}
}

func ExampleRuns() {
	runs := []client.Run{{ID: "4f2a9c1d-k3m2pa7q", State: "failure", Branch: "master", Commit: "4f2a9c1d0000", Title: "Fix it", Received: ago(time.Hour), Finished: ago(50 * time.Minute)}}
	_ = view.Runs(os.Stdout, view.Style{Now: now}, runs)
	fmt.Println(len(runs))
	// Output:
	// RUN                OUTCOME    BRANCH  COMMIT    TITLE   AGE    TOOK
	// 4f2a9c1d-k3m2pa7q  ✗ failure  master  4f2a9c1d  Fix it   1h  10m00s
	// 1
}
