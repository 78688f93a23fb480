package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const testRun release.RunID = "4f2a9c1d-testtest"

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// bench is a scheduler on a workbench: a stream that keeps one event per place, a clock, and a State that follows.
type bench struct {
	t      testing.TB
	s      *State
	cfg    Config
	now    time.Time
	stream []event.Event
	places map[string]bool
	beats  uint64
}

func newBench(t testing.TB, cfg Config) *bench {
	return &bench{t: t, s: New(cfg), cfg: cfg, now: noon(), places: map[string]bool{}}
}

// store appends events to the stream, unless their places are taken, and applies them.
func (b *bench) store(run release.RunID, payloads ...event.Payload) {
	for _, p := range payloads {
		e := event.Root(run, "/test/1", b.now, p)
		if b.places[e.Subject()] {
			continue
		}
		b.places[e.Subject()] = true
		e.Seq, e.Stored = uint64(len(b.stream)+1), b.now
		b.stream = append(b.stream, e)
		b.s.Apply(e)
	}
}

func (b *bench) say(payloads ...event.Payload) { b.store(testRun, payloads...) }

// beat lets an executor live; running are "task.attempt" of the test's run.
func (b *bench) beat(pool, name string, slots int32, running ...string) {
	beat := event.ExecutorHeartbeat{Pool: pool, Executor: name, Slots: slots}
	for _, r := range running {
		task, n, _ := strings.Cut(r, ".")
		var attempt int32
		_, _ = fmt.Sscan(n, &attempt)
		beat.Running = append(beat.Running, event.AttemptRef{Run: testRun, Task: release.TaskID(task), Attempt: attempt})
	}
	b.hear(beat)
}

func (b *bench) hear(beat event.ExecutorHeartbeat) {
	b.beats++
	e := event.Root(event.Fleet, "/executor/x", b.now, beat)
	e.Seq, e.Stored = b.beats, b.now
	b.s.Apply(e)
}

// decide makes one decision, sends it, and returns it in short.
func (b *bench) decide() []string {
	intents, _ := Decide(b.s, b.now)
	b.s.Sent(intents)
	return short(intents)
}

// follow decides, and stores what was decided, until nothing more follows; it returns all of it in short.
func (b *bench) follow() []string {
	var out []string
	for range 1000 {
		intents, _ := Decide(b.s, b.now)
		if len(intents) == 0 {
			return out
		}
		b.s.Sent(intents)
		out = append(out, short(intents)...)
		for _, i := range intents {
			b.store(i.Cause.Run, i.Payload)
		}
	}
	b.t.Fatal("decisions never end")
	return nil
}

// pass lets time pass in which nobody decides: to the scheduler it is a gap.
func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

// watch lets time pass second by second, with decisions, and returns these.
func (b *bench) watch(d time.Duration, each ...func()) []string {
	var out []string
	for ; d > 0; d -= time.Second {
		b.pass(min(d, time.Second))
		for _, do := range each {
			do()
		}
		out = append(out, b.follow()...)
	}
	return out
}

func short(intents []Intent) []string {
	var out []string
	for _, i := range intents {
		out = append(out, tell(i.Payload))
	}
	return out
}

// tell is a payload in short.
func tell(p event.Payload) string {
	switch p := p.(type) {
	case event.TaskDispatched:
		return fmt.Sprintf("dispatch %s.%d", p.Task, p.Attempt)
	case event.TaskStarted:
		return fmt.Sprintf("refuse %s.%d", p.Task, p.Attempt)
	case event.TaskDelayed:
		return fmt.Sprintf("delay %s.%d", p.Task, p.Attempt)
	case event.TaskConcluded:
		return fmt.Sprintf("conclude %s %s %s after %d in round %d", p.Task, p.Outcome, p.Class, p.Attempts, p.Round)
	case event.TaskFinished:
		return fmt.Sprintf("finish %s.%d %s", p.Task, p.Attempt, p.Class)
	case event.TaskCancelRequested:
		return fmt.Sprintf("stop %s.%d", p.Task, p.Attempt)
	case event.GateOpened:
		return fmt.Sprintf("open %d", p.Round)
	case event.GateClosed:
		return fmt.Sprintf("close %d", p.Round)
	case event.RunFinished:
		return fmt.Sprintf("end %d %s", p.Round, p.Outcome)
	}
	return string(p.EventType())
}

func (b *bench) want(got []string, want ...string) {
	b.t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Fatalf("decided\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// requested is a task of kind build in pool linux, changed as the options say.
func requested(id release.TaskID, options ...func(*event.TaskRequested)) event.TaskRequested {
	r := event.TaskRequested{Task: id, Kind: release.Build, Pool: "linux", Plan: release.DigestOf([]byte("plan"))}
	for _, o := range options {
		o(&r)
	}
	return r
}

func needs(ids ...release.TaskID) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Needs = ids }
}

func asTest(r *event.TaskRequested) { r.Kind = release.Test }
func soft(r *event.TaskRequested)   { r.SoftFail = true }

func priority(n int32) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Priority = n }
}

func retries(list ...release.Retry) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Retry = list }
}

func timeouts(t release.Timeouts) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Timeouts = t }
}

// push is a plan of a push to the release branch.
func push(builds, tests int32, required ...release.TaskID) event.RunPlanned {
	return event.RunPlanned{
		Trust:  release.TrustTrusted,
		Change: release.Change{Kind: release.Push, Repo: "o/r", Ref: "refs/heads/master", Branch: "master"},
		Plan:   release.DigestOf([]byte("plan")), Release: release.ReleasePolicy{Branch: "master"},
		Builds: builds, Tests: tests, GateTests: required, Targets: []event.TargetName{{Name: "pypi", Kind: "pypi"}},
	}
}

func start(task release.TaskID, n int32) event.TaskStarted {
	return event.TaskStarted{Task: task, Attempt: n, Pool: "linux", Executor: "x"}
}

func finish(task release.TaskID, n int32, class release.Class) event.TaskFinished {
	out := event.TaskFinished{Task: task, Attempt: n, Pool: "linux", Executor: "x", Class: class, Outcome: class.Outcome()}
	if class == release.ClassOK {
		out.Artifacts = []release.Artifact{{Name: string(task) + ".whl", Task: task}}
	}
	return out
}

func ok(task release.TaskID, n int32) []event.Payload {
	return []event.Payload{start(task, n), finish(task, n, release.ClassOK)}
}

func approve(by string) event.GateApproved {
	return event.GateApproved{By: by, Candidate: assembled(0).Candidate}
}

func approveAs(subject, by string) event.GateApproved {
	p := approve(by)
	p.Approver = subject
	return p
}

func assembled(round int32) event.CandidateAssembled {
	return event.CandidateAssembled{Round: round, Candidate: release.DigestOf([]byte("candidate")), Artifacts: 1}
}
