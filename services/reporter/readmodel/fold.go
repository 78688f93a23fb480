package readmodel

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// batch is what some facts say, as rows.
type batch struct {
	sets map[string]*rowset
	runs map[release.RunID]uint64 // the runs that the facts are of, and the newest fact of each
}

func newBatch(layouts []*layout) *batch {
	b := &batch{sets: make(map[string]*rowset, len(layouts)), runs: map[release.RunID]uint64{}}
	for _, l := range layouts {
		b.sets[l.name] = &rowset{layout: l, at: map[rowKey]int{}}
	}
	return b
}

func (b *batch) in(table string) *rowset { return b.sets[table] }

// add folds one fact: into the rows that it is about, and into the timeline.
func (b *batch) add(e event.Event) {
	line, tone := Line(e)
	b.in("timeline").row(string(e.Run), e.Seq).put("id", e.ID).put("type", string(e.Type)).put("key", e.Key).
		put("task", string(TaskOf(e.Data))).put("at", e.Time).put("source", e.Source).put("cause", e.Cause).
		put("line", line).put("tone", string(tone))
	if who := doer(e); who != "" {
		act := b.in("acts").row(string(e.Run), e.Seq).put("id", e.ID).put("type", string(e.Type)).put("at", e.Time).put("who", who).
			put("subject", e.Actor.Subject).put("method", e.Actor.Method).put("remote", e.Actor.Remote).put("line", line)
		if project := projectOf(e.Data); project != "" {
			act.put("project", project)
		}
	}
	if e.Run == event.Fleet {
		return
	}
	b.runs[e.Run] = e.Seq
	b.in("announced").row(string(e.Run)).put("born", e.Seq)
	b.run(e).put("seq", e.Seq).put("updated_at", e.Time)
	b.fold(e)
}

// fold is the table of what each fact means. Facts that only the timeline tells are not in it.
func (b *batch) fold(e event.Event) {
	switch p := e.Data.(type) {
	case event.ChangeReceived:
		b.changeReceived(e, p)
	case event.ChangeIgnored:
		b.changeIgnored(e, p)
	case event.RunPlanned:
		b.runPlanned(e, p)
	case event.RunPermissionRequested:
		b.permissionRequested(e, p)
	case event.RunRejected:
		b.runRejected(e, p)
	case event.RunFinished:
		b.runFinished(e, p)
	case event.TaskRequested:
		b.taskRequested(e, p)
	case event.TaskDispatched:
		b.taskDispatched(e, p)
	case event.TaskStarted:
		b.taskStarted(e, p)
	case event.TaskFinished:
		b.taskFinished(e, p)
	case event.TaskDelayed:
		b.taskDelayed(e, p)
	case event.TaskConcluded:
		b.taskConcluded(e, p)
	case event.TaskCancelRequested:
		b.attempt(e, p.Task, p.Attempt).put("stop_reason", p.Reason)
	case event.CandidateAssembled:
		b.candidateAssembled(e, p)
	case event.CandidateRejected:
		b.candidateRejected(e, p)
	case event.GateOpened:
		b.gate(e, p.Round, "open", "", p.Candidate, p.Conditions)
	case event.GateClosed:
		b.gate(e, p.Round, "closed", p.Reason, "", p.Conditions)
	case event.PublicationRequested:
		b.publicationRequested(e, p)
	case event.PublicationAdvanced:
		b.publicationAdvanced(e, p)
	case event.PublicationDelayed:
		b.publicationDelayed(e, p)
	case event.PublicationChecked:
		b.publicationChecked(e, p)
	case event.PublicationFailed:
		b.publicationFailed(e, p)
	case event.ReleasePublished:
		b.releasePublished(e, p)
	case event.ReleaseFailed:
		b.releaseFailed(e, p)
	case event.ArtifactExported:
		b.artifactExported(e, p)
	}
}

func (b *batch) run(e event.Event) row { return b.in("runs").row(string(e.Run)) }

func (b *batch) task(e event.Event, id release.TaskID) row {
	return b.in("tasks").row(string(e.Run), string(id)).put("born", e.Seq)
}

func (b *batch) attempt(e event.Event, id release.TaskID, n int32) row {
	return b.in("attempts").row(string(e.Run), string(id), n)
}
