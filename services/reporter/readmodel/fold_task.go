package readmodel

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func (b *batch) taskRequested(e event.Event, p event.TaskRequested) {
	b.task(e, p.Task).put("name", p.Name).put("job", p.Job).put("kind", string(p.Kind)).put("pool", p.Pool).
		put("needs", list(p.Needs)).put("priority", p.Priority).put("soft_fail", p.SoftFail).
		put("requested_at", e.Time).put("state", TaskWaiting)
}

func (b *batch) taskDispatched(e event.Event, p event.TaskDispatched) {
	b.goesOn(e)
	b.task(e, p.Task).put("state", TaskQueued).put("attempts", p.Attempt).put("reason", p.Reason).put("pool", p.Pool).
		put("outcome", "").put("class", "")
	b.attempt(e, p.Task, p.Attempt).put("pool", p.Pool).put("dispatched_at", e.Time).put("dispatch_reason", p.Reason).
		put("lease", leased(p.Lease))
}

// leased is the JSON of a lease; one of no places says nothing.
func leased(l release.Lease) any {
	if len(l.Places) == 0 {
		return nil
	}
	return text(l)
}

// taskStarted notes a start. An attempt that nobody may start has none: how it or its task ends is said next.
func (b *batch) taskStarted(e event.Event, p event.TaskStarted) {
	if p.Refused != "" {
		return
	}
	b.task(e, p.Task).put("state", TaskRunning).put("attempts", p.Attempt).put("started_at", e.Time).put("reason", "")
	b.attempt(e, p.Task, p.Attempt).put("pool", p.Pool).put("executor", p.Executor).put("started_at", e.Time)
}

func (b *batch) taskFinished(e event.Event, p event.TaskFinished) {
	b.task(e, p.Task).put("state", string(p.Outcome)).put("attempts", p.Attempt).put("outcome", string(p.Outcome)).
		put("class", string(p.Class)).put("reason", p.Reason).put("finished_at", e.Time)
	a := b.attempt(e, p.Task, p.Attempt).put("pool", p.Pool).put("executor", p.Executor).put("finished_at", e.Time).
		put("outcome", string(p.Outcome)).put("class", string(p.Class)).put("reason", p.Reason).
		put("exit_code", p.ExitCode).put("log", string(p.Log)).put("log_lines", p.LogLines).
		put("last_lines", list(p.LastLines)).put("phases", list(p.Phases)).put("failures", list(p.Failures)).
		put("metrics", object(p.Metrics)).put("kept_until", p.KeptUntil)
	if t := p.Tests; t != (release.TestCount{}) {
		a.put("tests_total", t.Total).put("tests_failed", t.Failed).put("tests_skipped", t.Skipped).put("tests_flaky", t.Flaky)
	}
	for _, artifact := range p.Artifacts {
		b.artifact(e, p.Task, p.Attempt, artifact)
	}
}

func (b *batch) artifact(e event.Event, task release.TaskID, attempt int32, a release.Artifact) {
	b.in("artifacts").row(string(e.Run), string(task), a.Name, a.Type).put("attempt", attempt).put("job", a.Job).
		put("digest", string(a.Digest)).put("size", a.Size).put("media_type", a.MediaType).put("directory", a.Directory).
		put("stamped", a.Stamped).put("matrix", object(a.Matrix))
}

func (b *batch) taskDelayed(e event.Event, p event.TaskDelayed) {
	b.task(e, p.Task).put("state", TaskDelayed).put("class", string(p.Class)).put("reason", p.Reason).
		put("delayed_until", p.Until)
}

func (b *batch) taskConcluded(e event.Event, p event.TaskConcluded) {
	state := string(p.Outcome)
	if p.Attempts == 0 && p.Outcome != release.Cancelled {
		state = TaskSkipped
	}
	b.task(e, p.Task).put("state", state).put("attempts", p.Attempts).put("outcome", string(p.Outcome)).
		put("class", string(p.Class)).put("reason", p.Reason).put("finished_at", e.Time)
}
