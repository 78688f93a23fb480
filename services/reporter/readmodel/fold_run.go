package readmodel

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func (b *batch) changeReceived(e event.Event, p event.ChangeReceived) {
	c := p.Change
	putChange(b.in("announced").row(string(e.Run)), c).put("received_at", e.Time)
	b.in("changes").row(string(e.Run), string(c.Kind)).put("seq", e.Seq).put("ref", c.Ref).put("branch", c.Branch).
		put("author", c.Author).put("title", c.Title).put("url", c.URL).put("forge", c.Forge).put("delivery", c.Delivery).
		put("verified", c.Verified).put("received_at", e.Time)
}

func putChange(r row, c release.Change) row {
	return r.put("project", c.Project).put("repo", c.Repo).put("forge", c.Forge).put("kind", string(c.Kind)).
		put("branch", c.Branch).put("ref", c.Ref).put("commit_id", string(c.Commit)).put("title", c.Title).
		put("author", c.Author).put("url", c.URL).put("number", c.Number).put("head_repo", c.HeadRepo).
		put("head_ref", c.HeadRef).put("fork", c.Fork).put("rerun_of", some(string(c.RerunOf))).put("rerun_by", some(c.RerunBy))
}

func (b *batch) changeIgnored(e event.Event, p event.ChangeIgnored) {
	b.run(e).put("ignored", p.Reason)
	b.in("changes").row(string(e.Run), string(p.Kind)).put("ignored", p.Reason)
}

// runPlanned notes the plan. It does not say that the run goes on: a run that was cancelled before it was planned has ended,
// and stays so until work is given out.
func (b *batch) runPlanned(e event.Event, p event.RunPlanned) {
	putChange(b.run(e), p.Change).put("planned_at", e.Time).put("plan", string(p.Plan)).
		put("builds", p.Builds).put("tests", p.Tests).put("skipped", p.Skipped).put("gate_on", list(p.GateOn)).
		put("gate_tests", list(p.GateTests)).put("targets", list(p.Targets)).put("warnings", list(p.Warnings)).
		put("trust", some(string(p.Trust))).put("trust_reason", some(p.TrustReason))
}

func (b *batch) permissionRequested(e event.Event, p event.RunPermissionRequested) {
	putChange(b.run(e), p.Change).put("unpermitted", p.Reason).put("trust", string(release.TrustUntrusted)).put("trust_reason", p.Reason)
}

func (b *batch) runRejected(e event.Event, p event.RunRejected) {
	line, _ := Line(e)
	putChange(b.run(e), p.Change).put("state", StateRejected).put("finished_at", e.Time).
		put("outcome", string(release.Failure)).put("reason", line).put("problems", list(p.Problems))
}

func (b *batch) runFinished(e event.Event, p event.RunFinished) {
	b.run(e).put("state", string(p.Outcome)).put("outcome", string(p.Outcome)).put("reason", p.Reason).
		put("round", p.Round).put("finished_at", e.Time)
}

// goesOn says that work is given out: a run that had ended is open again.
func (b *batch) goesOn(e event.Event) { b.run(e).put("state", StateRunning) }

func (b *batch) candidateAssembled(e event.Event, p event.CandidateAssembled) {
	b.in("candidates").row(string(e.Run), p.Round).put("state", "assembled").put("candidate", string(p.Candidate)).
		put("content", string(p.Blob)).put("artifacts", p.Artifacts).put("at", e.Time)
}

func (b *batch) candidateRejected(e event.Event, p event.CandidateRejected) {
	b.in("candidates").row(string(e.Run), p.Round).put("state", "rejected").put("reasons", list(p.Reasons)).put("at", e.Time)
}

func (b *batch) gate(
	e event.Event, round int32, state, reason string, candidate release.Digest, conditions []release.Condition,
) {
	b.run(e).put("gate", state).put("gate_reason", reason)
	b.in("gates").row(string(e.Run), round).put("state", state).put("reason", reason).
		put("candidate", string(candidate)).put("at", e.Time)
	for i, c := range conditions {
		b.in("conditions").row(string(e.Run), round, i).put("name", c.Name).put("met", c.Met).put("final", c.Final).
			put("reason", c.Reason)
	}
}
