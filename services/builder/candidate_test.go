package builder

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// The join and the scheduler fold the same facts. What tests are given (task.dispatched, from the scheduler) must be what the
// candidate holds (candidate.assembled, from the join): law 6. These tests let both follow one stream.

// line is a stream with one fact per place, and both who follow it.
type line struct {
	t      testing.TB
	state  *schedule.State
	joins  joins
	places map[string]bool
	facts  []event.Event
	frozen map[release.Digest][]release.Artifact // by candidate
	now    time.Time
}

func newLine(t testing.TB) *line {
	return &line{
		t: t, state: schedule.New(schedule.Config{}), joins: joins{}, places: map[string]bool{},
		frozen: map[release.Digest][]release.Artifact{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

// say stores facts; it reports whether the last was new.
func (l *line) say(payloads ...event.Payload) (stored bool) {
	for _, p := range payloads {
		e := event.Root(run, "/test/1", l.now, p)
		if stored = !l.places[e.Subject()]; !stored {
			continue
		}
		l.places[e.Subject()] = true
		e.Seq, e.Stored = uint64(len(l.facts)+1), l.now
		l.facts = append(l.facts, e)
		l.state.Apply(e)
		l.joins.apply(e)
	}
	return stored
}

// decide lets the scheduler say what follows once.
func (l *line) decide() int {
	intents, _ := schedule.Decide(l.state, l.now)
	l.state.Sent(intents)
	for _, i := range intents {
		l.say(i.Payload)
	}
	return len(intents)
}

// assemble lets the join freeze what is complete.
func (l *line) assemble() int {
	ready := l.joins.ready()
	for _, c := range ready {
		if len(c.failures) > 0 {
			l.say(event.CandidateRejected{Round: c.round, Reasons: c.failures})
			continue
		}
		frozen := release.NewCandidate(run, c.planned.Change.Commit, c.artifacts)
		l.frozen[frozen.ID] = frozen.Artifacts
		l.say(event.CandidateAssembled{Round: c.round, Candidate: frozen.ID, Blob: frozen.ID, Plan: c.planned.Plan, Artifacts: int32(len(frozen.Artifacts))})
	}
	return len(ready)
}

func (l *line) follow() {
	for range 100 {
		if l.decide()+l.assemble() == 0 {
			return
		}
	}
	l.t.Fatal("it never ends")
}

func releasePlan(builds, tests int32, required ...release.TaskID) event.RunPlanned {
	return event.RunPlanned{
		Change: release.Change{Kind: release.Push, Project: "p", Repo: "o/r", Ref: "refs/heads/master", Branch: "master", Commit: release.Commit(strings.Repeat("ab", 20))},
		Plan:   release.DigestOf([]byte("plan")), Release: release.ReleasePolicy{Branch: "master"}, GateOn: []release.ChangeKind{release.Push},
		Builds: builds, Tests: tests, GateTests: required, Targets: []event.TargetName{{Name: "pypi", Kind: "pypi"}},
	}
}

func wanted(id release.TaskID, kind release.TaskKind, soft bool, needs ...release.TaskID) event.TaskRequested {
	return event.TaskRequested{Task: id, Name: string(id), Kind: kind, Pool: "linux", Plan: release.DigestOf([]byte("plan")), SoftFail: soft, Needs: needs}
}

func success(id release.TaskID, attempt int32, bytes string) event.TaskFinished {
	done := event.TaskFinished{Task: id, Attempt: attempt, Pool: "linux", Executor: "x", Outcome: release.Success, Class: release.ClassOK}
	if bytes != "" {
		done.Artifacts = []release.Artifact{{Name: string(id) + "-1.0-py3-none-any.whl", Type: "wheel", Task: id, Job: "wheel", Digest: release.DigestOf([]byte(bytes))}}
	}
	return done
}

func failure(id release.TaskID, attempt int32, class release.Class) event.TaskFinished {
	return event.TaskFinished{Task: id, Attempt: attempt, Pool: "linux", Executor: "x", Outcome: class.Outcome(), Class: class}
}

// tested holds law 6 against the stream: whatever the gate let through, each required test succeeded with exactly that of it
// which the test takes.
func (l *line) tested() {
	l.t.Helper()
	opened := event.GateOpened{}
	given := map[string]event.TaskDispatched{}
	passed := map[release.TaskID][]event.TaskDispatched{}
	for _, e := range l.facts {
		switch p := e.Data.(type) {
		case event.TaskDispatched:
			given[fmt.Sprint(p.Task, p.Attempt)] = p
		case event.TaskFinished:
			if p.Succeeded() && opened.Candidate == "" {
				passed[p.Task] = append(passed[p.Task], given[fmt.Sprint(p.Task, p.Attempt)])
			}
		case event.GateOpened:
			opened = p
		}
	}
	if opened.Candidate == "" {
		return
	}
	for _, e := range l.facts {
		if p, is := e.Data.(event.TaskRequested); is && p.Kind == release.Test {
			l.testedBy(p, passed[p.Task], l.frozen[opened.Candidate])
		}
	}
}

func (l *line) testedBy(test event.TaskRequested, passed []event.TaskDispatched, frozen []release.Artifact) {
	l.t.Helper()
	for _, attempt := range passed {
		whole := true
		for _, need := range test.Needs {
			whole = whole && fmt.Sprint(digestsOf(need, frozen)) == fmt.Sprint(digestsOf(need, given(attempt)))
		}
		if whole {
			return
		}
	}
	l.t.Fatalf("the gate opened for a candidate that %s never tested:\n%s", test.Task, l.told())
}

func given(d event.TaskDispatched) (out []release.Artifact) {
	for _, in := range d.Inputs {
		out = append(out, in.Artifacts...)
	}
	return out
}

func digestsOf(task release.TaskID, artifacts []release.Artifact) (out []release.Digest) {
	for _, a := range artifacts {
		if a.Task == task {
			out = append(out, a.Digest)
		}
	}
	return out
}

func (l *line) told() string {
	var out strings.Builder
	for _, e := range l.facts {
		fmt.Fprintf(&out, "%d %s %+v\n", e.Seq, e.Describe(), e.Data)
	}
	return out.String()
}

// TestALaterArtifactIsTested: a build that may fail fails, a test that takes all wheels passes without it, another test fails. In
// the next round the build succeeds: the first test runs again, with its wheel.
func TestALaterArtifactIsTested(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.say(releasePlan(2, 2, "smoke", "other"), wanted("wheel", release.Build, false), wanted("next", release.Build, true))
	l.follow()
	l.say(success("wheel", 1, "the wheel"), failure("next", 1, release.ClassCommand))
	l.follow()
	l.say(wanted("smoke", release.Test, false, "wheel", "next"), wanted("other", release.Test, false, "wheel"))
	l.follow()
	l.say(success("smoke", 1, ""), failure("other", 1, release.ClassCommand))
	l.follow()
	l.say(event.RunRetryRequested{Request: "again", By: "ann"})
	l.follow()
	l.say(success("next", 2, "a wheel that nobody tested"), success("other", 2, ""))
	l.follow()
	if why := schedule.Explain(l.state, run, "smoke", l.now); l.opened() || why.Attempt != 2 {
		t.Fatalf("open: %t; smoke is %s, attempt %d: %s", l.opened(), why.State, why.Attempt, why.Reason)
	}
	l.say(success("smoke", 2, ""))
	l.follow()
	if l.tested(); !l.opened() {
		t.Fatal("the gate did not open:\n" + l.told())
	}
}

func (l *line) opened() bool {
	return l.places[event.Root(run, "/x/1", l.now, event.GateOpened{Round: 0}).Subject()] || l.places[event.Root(run, "/x/1", l.now, event.GateOpened{Round: 1}).Subject()]
}

// TestOfTwoSuccessesTheFirstCounts: whatever the numbers of the attempts, and whoever looks when.
func TestOfTwoSuccessesTheFirstCounts(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int32{{1, 2}, {2, 1}} {
		l := newLine(t)
		l.say(releasePlan(1, 1, "smoke"), wanted("wheel", release.Build, false))
		l.follow()
		l.say(failure("wheel", 3, release.ClassLost), success("wheel", order[0], "first"), success("wheel", order[1], "second"))
		l.follow()
		l.say(wanted("smoke", release.Test, false, "wheel"))
		l.follow()
		l.say(success("smoke", 1, ""))
		l.follow()
		if l.tested(); !l.opened() {
			t.Fatal("the gate did not open:\n" + l.told())
		}
		for _, artifacts := range l.frozen {
			if artifacts[0].Digest != release.DigestOf([]byte("first")) {
				t.Errorf("attempts %v: the candidate holds the second success", order)
			}
		}
	}
}

// TestWhatIsPublishedWasTested lets the scheduler, the join, executors that are slow, and people who cancel and retry meet in
// every order. Each attempt of a build makes other bytes, as builds do that put a time into an archive.
func TestWhatIsPublishedWasTested(t *testing.T) {
	t.Parallel()
	opened, again := 0, 0
	for seed := range uint64(800) {
		l := newLine(t)
		d := rand.New(rand.NewPCG(seed, 9)) //nolint:gosec // a fixed seed
		l.say(releasePlan(3, 2, "smoke", "other"), wanted("a", release.Build, false), wanted("b", release.Build, false, "a"), wanted("soft", release.Build, true))
		for turn := range 80 {
			l.turn(d, turn)
		}
		for range 20 {
			l.follow()
			l.work(d, 0)
		}
		l.tested()
		if l.opened() {
			opened++
		}
		if l.places[event.Root(run, "/x/1", l.now, event.TaskDispatched{Task: "smoke", Attempt: 2, Pool: "linux"}).Subject()] {
			again++
		}
	}
	if opened < 20 || again < 50 {
		t.Errorf("the gate opened %d times, a test was made again %d times: this test shows too little", opened, again)
	}
}

func (l *line) turn(d *rand.Rand, turn int) {
	l.now = l.now.Add(time.Second)
	switch n := d.IntN(100); {
	case n < 30:
		l.decide()
	case n < 50:
		l.assemble()
	case n < 92:
		l.work(d, 5)
	case n < 94:
		l.say(event.RunCancelRequested{Request: fmt.Sprint(turn), By: "ann"})
	default:
		l.say(event.RunRetryRequested{Request: fmt.Sprint(turn), By: "ann"})
	}
	for _, e := range l.facts {
		if _, is := e.Data.(event.CandidateAssembled); is {
			l.say(wanted("smoke", release.Test, false, "a", "b", "soft"), wanted("other", release.Test, false, "b"))
		}
	}
}

// work lets an executor start an attempt that was given to the pool, at any time after, or end one.
func (l *line) work(d *rand.Rand, failures int) {
	var given []event.TaskDispatched
	for _, e := range l.facts {
		if p, is := e.Data.(event.TaskDispatched); is {
			given = append(given, p)
		}
	}
	for _, i := range d.Perm(len(given)) {
		p := given[i]
		if l.say(event.TaskStarted{Task: p.Task, Attempt: p.Attempt, Pool: p.Pool, Executor: "x"}) {
			return
		}
		start := event.Root(run, "/x/1", l.now, event.TaskStarted{Task: p.Task, Attempt: p.Attempt, Pool: p.Pool}).Subject()
		for _, e := range l.facts {
			if s, is := e.Data.(event.TaskStarted); is && e.Subject() == start && s.Refused == "" && l.end(d, p, failures) {
				return
			}
		}
	}
}

func (l *line) end(d *rand.Rand, p event.TaskDispatched, failures int) bool {
	bytes := ""
	if p.Task == "a" || p.Task == "b" || p.Task == "soft" {
		bytes = fmt.Sprint(p.Task, p.Attempt)
	}
	switch d.IntN(10) - failures {
	case -5, -4:
		return l.say(failure(p.Task, p.Attempt, release.ClassCommand))
	case -3:
		return l.say(failure(p.Task, p.Attempt, release.ClassLost))
	default:
		return l.say(success(p.Task, p.Attempt, bytes))
	}
}
