package readmodel

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func (b *batch) publication(e event.Event, target string, state release.PublicationState, kind string, round int32) row {
	return b.in("publications").row(string(e.Run), target, string(state)).put("kind", kind).put("round", round)
}

func (b *batch) publicationRequested(e event.Event, p event.PublicationRequested) {
	b.goesOn(e)
	b.publication(e, p.Target, p.State, p.Kind, p.Round).put("requested_at", e.Time)
}

func (b *batch) publicationAdvanced(e event.Event, p event.PublicationAdvanced) {
	b.publication(e, p.Target, p.State, p.Kind, p.Round).put("reached_at", e.Time).put("detail", p.Detail).
		put("files", list(p.Files)).put("fault", "").put("reason", "")
	if p.State == release.Undone { // users see nothing of it any more
		never := time.Time{}.UnixMicro()
		for _, state := range []release.PublicationState{release.Committed, release.Verified} {
			b.publication(e, p.Target, state, p.Kind, p.Round).put("reached_at", never).put("requested_at", never).put("failed_at", never)
		}
	}
}

// publicationDelayed notes what a step waits for; when it is made the note goes.
func (b *batch) publicationDelayed(e event.Event, p event.PublicationDelayed) {
	note := fmt.Sprintf("it waits: %s (tried %d times, next at %s, given up at %s)",
		p.Reason, p.Tried, p.Next.UTC().Format(time.TimeOnly), p.Until.UTC().Format(time.DateTime))
	b.publication(e, p.Target, p.State, p.Kind, p.Round).put("detail", note)
}

// publicationChecked notes what a target said before the gate opened.
func (b *batch) publicationChecked(e event.Event, p event.PublicationChecked) {
	note := "it was asked beforehand and can take the candidate"
	switch {
	case p.Planned && p.Fault != "":
		note = "it was asked when the run was planned and cannot be written: " + p.Reason
	case p.Planned:
		note = "it was asked when the run was planned and can be written"
	case p.Fault != "":
		note = "it was asked beforehand and cannot take the candidate: " + p.Reason
	}
	b.publication(e, p.Target, release.Probed, p.Kind, p.Round).put("detail", note)
}

func (b *batch) publicationFailed(e event.Event, p event.PublicationFailed) {
	b.publication(e, p.Target, p.State, p.Kind, p.Round).put("failed_at", e.Time).put("fault", p.Fault).put("reason", p.Reason)
}

func (b *batch) releasePublished(e event.Event, p event.ReleasePublished) {
	b.run(e).put("released", "published")
	b.in("releases").row(string(e.Run)).put("state", "published").put("round", p.Round).
		put("candidate", string(p.Candidate)).put("targets", list(p.Targets)).put("at", e.Time)
}

func (b *batch) releaseFailed(e event.Event, p event.ReleaseFailed) {
	b.run(e).put("released", "failed")
	b.in("releases").row(string(e.Run)).put("state", "failed").put("round", p.Round).put("reasons", list(p.Reasons)).
		put("at", e.Time)
}

func (b *batch) artifactExported(e event.Event, p event.ArtifactExported) {
	b.in("exports").row(string(e.Run), p.Destination, p.Part).put("round", p.Round).put("location", p.Location).
		put("manifest", string(p.Manifest)).put("files", p.Files).put("bytes", p.Bytes).put("at", e.Time)
}
