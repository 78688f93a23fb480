package publisher

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// The topics on which the publisher answers.
const (
	TopicStandings = "publications"     // how far the targets of a run are, and what they wait for
	TopicRehearsal = "publications.dry" // what a publication would do now
)

// question names a run.
type question struct {
	Run release.RunID `json:"run"`
}

// rehearsal is what a publication would do now, in the order of its commits.
type rehearsal struct {
	Run       release.RunID              `json:"run"`
	Candidate release.Digest             `json:"candidate"`
	Refused   string                     `json:"refused,omitempty"` // why nothing would be published
	Targets   []event.PublicationChecked `json:"targets"`
}

// answer answers questions until ctx ends.
func (p *publisher) answer(ctx context.Context) error {
	return errors.Join(
		bus.Answer(ctx, p.deps.Bus, TopicStandings, func(_ context.Context, q question) ([]standing, error) {
			return p.book.standings(q.Run, p.deps.Now()), nil
		}),
		bus.Answer(ctx, p.deps.Bus, TopicRehearsal, p.rehearse),
	)
}

// rehearse asks every target of a run what it would be asked in a publication, and changes nothing.
func (p *publisher) rehearse(ctx context.Context, q question) (rehearsal, error) {
	out := rehearsal{Run: q.Run, Targets: []event.PublicationChecked{}}
	e, err := p.deps.Bus.Get(ctx, event.TypeCandidateAssembled.FilterRun(q.Run))
	if bus.Empty(err) {
		return out, fault.New(fault.Conflict, "cannot rehearse the publication of run %s: it has no candidate yet", q.Run)
	}
	if err != nil {
		return out, err
	}
	assembled := e.Data.(event.CandidateAssembled)
	out.Candidate = assembled.Candidate
	frozen, err := p.plan(ctx, assembled.Plan)
	if fault.Is(err, fault.Denied) {
		out.Refused = err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	c, err := p.candidate(ctx, q.Run, frozen, assembled.Blob)
	if err != nil {
		return out, err
	}
	out.Refused = p.book.refuses(q.Run)
	for _, checked := range p.asked(frozen, func(t plan.Target) event.Payload {
		probe, err := p.probe(ctx, q.Run, frozen, c, t)
		return heard(event.PublicationChecked{Target: t.Name, Kind: t.Kind, Round: assembled.Round, Files: published(probe)}, err)
	}) {
		out.Targets = append(out.Targets, checked.(event.PublicationChecked))
	}
	for _, t := range frozen.Targets {
		if p.guarded(frozen, t) {
			out.Targets = append(out.Targets, event.PublicationChecked{
				Target: t.Name, Kind: t.Kind, Fault: string(fault.Denied), Reason: "it is asked when its protected environment lets the run in, not before",
			})
		}
	}
	slices.SortStableFunc(out.Targets, func(a, b event.PublicationChecked) int {
		return cmp.Compare(rankOf(a.Kind), rankOf(b.Kind))
	})
	return out, nil
}
