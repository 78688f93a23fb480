package reportertest

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func push(n int, title, author string) release.Change {
	return release.Change{
		Kind: release.Push, Ref: "refs/heads/master", Branch: "master", Commit: commit(n), Title: title, Author: author,
		URL: "http://127.0.0.1:3000/rill/rillkit/commit/" + string(commit(n)),
	}
}

func ignored(s *Story, at time.Time) *teller {
	t := begin(s, at, release.Change{
		Kind: release.Push, Ref: "refs/heads/notes", Branch: "notes", Commit: commit(1), Title: "Write down what we learned", Author: "Ines",
	})
	t.wait(90*time.Millisecond).say("builder", event.ChangeIgnored{Kind: release.Push, Reason: "branch notes is in no trigger's branches (master, releases/*)"})
	return t
}

// built is everything until the candidate stands.
func (t *teller) built() {
	t.planned(polyglot())
	t.request(release.Build)
	t.each(release.Build)
	t.wait(120*time.Millisecond).say("builder", event.CandidateAssembled{
		Candidate: digestOf("candidate", t.run), Blob: digestOf("blob", t.run), Plan: t.digest, Commit: t.change.Commit, Artifacts: 13,
	})
	t.request(release.Test)
}

func conditions(tests release.Condition, rest ...release.Condition) []release.Condition {
	return append([]release.Condition{
		{Name: "builds", Met: true, Final: true, Reason: "all 17 build tasks succeeded"},
		{Name: "candidate", Met: true, Final: true, Reason: "13 artifacts, each stamped with this commit"},
		tests,
	}, rest...)
}

func allowed() release.Condition {
	return release.Condition{Name: "release policy", Met: true, Final: true, Reason: "branch master is a release branch"}
}

func testsMet() release.Condition {
	return release.Condition{Name: "tests", Met: true, Final: true, Reason: "all 6 tests that the gate demands succeeded"}
}

// opened is a gate that opens.
func (t *teller) opened() {
	t.built()
	t.each(release.Test)
	t.wait(40*time.Millisecond).say("test-scheduler", event.GateOpened{
		Candidate: digestOf("candidate", t.run), Blob: digestOf("blob", t.run), Plan: t.digest, Conditions: conditions(testsMet(), allowed()),
	})
}

// publish takes a target from one state to the next; the last of the states fails when reason is set.
func (t *teller) publish(target plan.Target, reason string, states ...release.PublicationState) {
	for i, state := range states {
		t.wait(15*time.Millisecond).say("publisher", event.PublicationRequested{Target: target.Name, Kind: target.Kind, State: state, Plan: t.digest})
		t.wait(140 * time.Millisecond)
		if reason != "" && i == len(states)-1 {
			t.say("publisher", event.PublicationFailed{Target: target.Name, Kind: target.Kind, State: state, Fault: "conflict", Reason: reason})
			return
		}
		said := event.PublicationAdvanced{Target: target.Name, Kind: target.Kind, State: state}
		if state.Reached(release.Committed) {
			said.Files = []event.PublishedFile{{Name: "rillkit-1.4.0", Digest: digestOf("file", target.Name), URL: "http://127.0.0.1:8080/" + target.Name + "/rillkit/"}}
			said.Detail = "8 files"
		}
		t.say("publisher", said)
	}
}

func released(s *Story, at time.Time) *teller {
	t := begin(s, at, push(2, "Release 1.4.0: streams that survive a restart", "Ada"))
	t.opened()
	var names []event.TargetName
	for _, target := range t.plan.Targets {
		t.publish(target, "", release.Planned, release.Probed, release.Staged, release.Committed, release.Verified)
		names = append(names, event.TargetName{Name: target.Name, Kind: target.Kind})
	}
	t.say("publisher", event.ReleasePublished{Candidate: digestOf("candidate", t.run), Targets: names})
	t.say("artifact-exporter", event.ArtifactExported{
		Destination: "folder", Part: "candidate", Location: "/var/lib/sluice/exports/master/" + string(t.change.Commit), Files: 13, Bytes: 48_213_004, Manifest: digestOf("manifest"),
	})
	t.say("test-scheduler", event.RunFinished{Outcome: release.Success, Reason: "the candidate is on all 4 targets"})
	return t
}

func brokenRelease(s *Story, at time.Time) *teller {
	t := begin(s, at, push(3, "Rename the package", "Ines"))
	t.opened()
	for i, target := range t.plan.Targets {
		if i == 2 {
			t.publish(target, "rillkit-1.4.0.jar is there with another digest: found sha256:9f1c…, expected sha256:02ab…; raise the version", release.Planned, release.Probed)
			continue
		}
		t.publish(target, "", release.Planned, release.Probed, release.Staged)
	}
	t.say("publisher", event.ReleaseFailed{Reasons: []string{"maven: rillkit-1.4.0.jar is there with another digest", "nothing was committed on any target"}})
	t.say("test-scheduler", event.RunFinished{Outcome: release.Failure, Reason: "the release failed on target maven: rillkit-1.4.0.jar is there with another digest; nothing was committed"})
	return t
}

func pullRequest(s *Story, at time.Time) *teller {
	t := begin(s, at, release.Change{
		Kind: release.PullRequest, Ref: "refs/pull/7/head", Branch: "master", Commit: commit(4), Title: "Make the reference kernel twice as fast", Author: "Grace",
		Number: 7, HeadRepo: "grace/rillkit", HeadRef: "faster", Fork: true, URL: "http://127.0.0.1:3000/rill/rillkit/pulls/7",
	})
	t.wait(80*time.Millisecond).say("builder", event.RunPermissionRequested{Change: t.change, Reason: "pull request 7 comes from grace/rillkit, a fork"})
	t.wait(2*time.Minute).say("gateway", event.RunPermitted{Request: "ok-to-test", By: "Ada"})
	t.built()
	t.each(release.Test)
	reason := "a pull request never publishes"
	t.wait(30*time.Millisecond).say("test-scheduler", event.GateClosed{
		Conditions: conditions(testsMet(), release.Condition{Name: "release policy", Final: true, Reason: reason}), Reason: "release policy: " + reason,
	})
	t.say("test-scheduler", event.RunFinished{Outcome: release.Success, Reason: "built and tested; " + reason})
	return t
}

func rejected(s *Story, at time.Time) *teller {
	t := begin(s, at, release.Change{
		Kind: release.Push, Ref: "refs/heads/gpu-tests", Branch: "gpu-tests", Commit: commit(5), Title: "Run the soak tests on GPUs", Author: "Grace",
	})
	t.wait(150*time.Millisecond).say("builder", event.RunRejected{Change: t.change, Problems: []event.Problem{
		{File: "sluice.yaml", Line: 12, Column: 5, Message: `unknown key "neds" in build "wheel"`, Hint: `did you mean "needs"?`},
		{File: "sluice.yaml", Line: 31, Column: 11, Message: `pool "gpu" is not defined`, Hint: "define it under pools, or use one of linux, arm"},
	}})
	return t
}

const failing release.TaskID = "test-wheels-3_12"

func shut(s *Story, at time.Time) *teller {
	t := begin(s, at, push(6, "Stream rows straight from the kernel", "Ada"))
	t.built()
	t.each(release.Test, failing, "test-jar")
	jar := find(t.plan, "test-jar")
	t.attempt(jar, 1, 900*time.Millisecond, ended{class: release.ClassInfra, reason: "cannot write to the workspace: no space left on device", log: []string{"copying rillkit-1.4.0.jar", "cp: write error: No space left on device"}})
	t.say("test-scheduler", event.TaskDelayed{Task: jar.ID, Attempt: 2, Until: t.now.Add(5 * time.Second), Class: release.ClassInfra, Reason: "infra: 1 of 2 retries, waits 5s"})
	t.wait(5 * time.Second)
	t.start(jar, 2, "retry 1 after infra")
	t.finish(jar, 2, 1400*time.Millisecond, ended{class: release.ClassOK, tests: release.TestCount{Total: 12}})
	t.fails(find(t.plan, failing))
	t.wait(25*time.Millisecond).say("test-scheduler", event.GateClosed{
		Conditions: conditions(release.Condition{Name: "tests", Final: true, Reason: "test-wheels (3.12) failed: 1 of 24 tests failed (test_rows_are_in_order)"}, allowed()),
		Reason:     "tests: test-wheels (3.12) failed: 1 of 24 tests failed (test_rows_are_in_order)",
	})
	t.say("test-scheduler", event.RunFinished{Outcome: release.Failure, Reason: "the gate is shut: test-wheels (3.12) failed: 1 of 24 tests failed (test_rows_are_in_order)"})
	return t
}

// fails is a test that finds a fault of the product.
func (t *teller) fails(task plan.Task) {
	log := []string{"\x1b[1m$ sh tasks/test-wheels.sh\x1b[0m", "collected 24 tests"}
	for i := range 22 {
		log = append(log, fmt.Sprintf("test_rill.py::test_%02d \x1b[32mPASSED\x1b[0m", i))
	}
	log = append(log, "test_rill.py::test_rows_are_in_order \x1b[31mFAILED\x1b[0m", "",
		"    def test_rows_are_in_order():", ">       assert list(rill.rows(3)) == [0, 1, 2]",
		"\x1b[31mE       assert [0, 2, 1] == [0, 1, 2]\x1b[0m", "\x1b[31mE         At index 1 diff: 2 != 1\x1b[0m", "",
		"test_rill.py:41: AssertionError", "\x1b[31m1 failed\x1b[0m, 23 passed in 0.84s")
	t.attempt(task, 1, 2600*time.Millisecond, ended{
		class: release.ClassCommand, reason: "1 of 24 tests failed (test_rows_are_in_order)", exit: 1, log: log,
		tests:    release.TestCount{Total: 24, Failed: 1},
		failures: []event.CaseFailure{{Name: "test_rill.test_rows_are_in_order", Message: "assert [0, 2, 1] == [0, 1, 2]"}},
	})
	t.say("test-scheduler", event.TaskConcluded{Task: task.ID, Attempts: 1, Outcome: release.Failure, Class: release.ClassCommand, Reason: "command is not retried"})
}

func running(s *Story, at time.Time) *teller {
	t := begin(s, at, push(8, "Tune the reader for small pages", "Grace"))
	t.built()
	t.each(release.Test, failing, "test-image", "test-jar", "test-wheels-3_13")
	image := find(t.plan, "test-image")
	t.attempt(image, 1, 700*time.Millisecond, ended{class: release.ClassLost, reason: "executor linux-7f3a vanished: no heartbeat for 2s"})
	t.wait(30 * time.Millisecond)
	t.start(image, 2, "retry 1 after lost")
	t.start(find(t.plan, failing), 1, "")
	jar := find(t.plan, "test-jar")
	t.attempt(jar, 1, 300*time.Millisecond, ended{class: release.ClassInfra, reason: "cannot fetch the input: the store answered 503"})
	t.say("test-scheduler", event.TaskDelayed{Task: jar.ID, Attempt: 2, Until: t.now.Add(10 * time.Minute), Class: release.ClassInfra, Reason: "infra: 1 of 2 retries, waits 5s"})
	return t
}

// Hostile is text that would do harm where it is not escaped.
const Hostile = `<script>alert("sluice")</script>'"` + "`${x}\x00\u202e&amp;"

func hostile(s *Story, at time.Time) *teller {
	t := begin(s, at, release.Change{
		Kind: release.Push, Ref: "refs/heads/" + Hostile, Branch: Hostile, Commit: commit(7), Title: Hostile, Author: Hostile, URL: "javascript:alert(1)",
	})
	task := plan.Task{ID: "evil", Name: Hostile, Job: Hostile, Kind: release.Build, Pool: "linux", Run: Hostile, Outputs: []plan.Output{{Type: Hostile, Path: Hostile}}}
	t.planned(&plan.Plan{Tasks: []plan.Task{task}, Warnings: []string{Hostile}, Skipped: []plan.Skipped{{Name: Hostile, Why: Hostile}}, Targets: []plan.Target{{Name: Hostile, Kind: Hostile}}})
	t.request(release.Build)
	t.attempt(task, 1, time.Second, ended{class: release.ClassOK})
	t.attempt(task, 2, time.Second, ended{class: release.ClassCommand, reason: Hostile, log: []string{Hostile, "\x1b]0;title\x07\x1b[31;<b>m" + Hostile, "\x1b[38;5;300mx"}, failures: []event.CaseFailure{{Name: Hostile, Message: Hostile}}})
	t.say("builder", event.CandidateRejected{Reasons: []string{Hostile}})
	t.say("test-scheduler", event.GateClosed{Conditions: []release.Condition{{Name: Hostile, Reason: Hostile}}, Reason: Hostile})
	t.say("publisher", event.PublicationFailed{Target: Hostile, Kind: Hostile, State: release.Probed, Reason: Hostile})
	t.say("test-scheduler", event.RunFinished{Outcome: release.Failure, Reason: Hostile})
	return t
}
