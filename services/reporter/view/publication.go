package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// Publishing is how far a target of a run has come, and what it waits for.
type Publishing struct {
	Target string                   `json:"target"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"` // the last that it reached; none before the gate opens
	Reason string                   `json:"reason"`          // what it waits for, or why it cannot go on
	Since  time.Time                `json:"since,omitzero"`
	Broken bool                     `json:"broken,omitempty"` // it goes on when somebody asks for it
	Error  string                   `json:"error,omitempty"`  // the last, of a step that is tried again
	Tried  int32                    `json:"tried,omitempty"`  // how often
	Next   time.Time                `json:"next,omitzero"`    // it is tried again
	Until  time.Time                `json:"until,omitzero"`   // when it is given up
}

// rehearsalPatience is how long the targets of a run may take to answer, all together.
const rehearsalPatience = 75 * time.Second

// Rehearse asks the publisher what a publication of a run would do now. Its answer is passed on as it is.
func (s *Source) Rehearse(ctx context.Context, run release.RunID) (json.RawMessage, error) {
	return bus.AskFor[Question, json.RawMessage](ctx, s.Bus, topicRehearsal, Question{Run: run}, rehearsalPatience)
}

// publishing says how the targets of a run are: as the publisher does that decides about them, or as the last facts do when it does
// not answer, or has nothing to decide.
func (s *Source) publishing(ctx context.Context, r readmodel.Run) ([]Publishing, error) {
	if r.Gate == "open" && r.Released != "published" {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		if said, err := bus.Ask[Question, []Publishing](asked, s.Bus, topicPublications, Question{Run: r.ID}); err == nil && len(said) > 0 {
			return said, nil
		}
	}
	return s.published(ctx, r)
}

// published says how the targets of a run are, in the order of its plan, by the facts.
func (s *Source) published(ctx context.Context, r readmodel.Run) ([]Publishing, error) {
	steps, err := s.Model.Steps(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return publications(r, steps), nil
}

func publications(r readmodel.Run, steps []readmodel.Step) []Publishing {
	out := make([]Publishing, 0, len(r.Targets))
	for _, t := range r.Targets {
		out = append(out, reached(Publishing{Target: t.Name, Kind: t.Kind}, r, steps))
	}
	for i := range out {
		out[i].explain(r, steps, out)
	}
	return out
}

// reached is the last state that a target is in. With the gate open it is planned, said or not.
func reached(p Publishing, r readmodel.Run, steps []readmodel.Step) Publishing {
	if r.Gate == "open" {
		p.State = release.Planned
	}
	for _, step := range steps {
		if step.State != release.Undone && step.Target == p.Target && !step.Reached.IsZero() && (p.State == "" || step.State.Reached(p.State)) {
			p.State, p.Since = step.State, step.Reached
		}
	}
	return p
}

// explain says what a target waits for. all are how far the others are: nothing is committed before all are staged, and
// what is hardest to undo waits until the rest is verified.
func (p *Publishing) explain(r readmodel.Run, steps []readmodel.Step, all []Publishing) {
	next := p.State.Next()
	i := slices.IndexFunc(steps, func(s readmodel.Step) bool { return s.Target == p.Target && s.State == next })
	behind := func(state release.PublicationState) string { return p.behind(all, state) }
	switch {
	case p.State == "":
		p.Reason = beforeGate(r)
		if j := slices.IndexFunc(steps, func(s readmodel.Step) bool { return s.Target == p.Target && s.State == release.Probed }); j >= 0 && steps[j].Detail != "" {
			p.Reason += "; " + steps[j].Detail
		}
	case p.State == release.Verified:
		p.Reason = "it is there, downloaded again and compared"
	case i >= 0 && steps[i].Broken():
		p.Broken, p.Since = true, steps[i].Failed
		p.Reason = fmt.Sprintf("it cannot be %s: %s; sluice retry %s tries again", next, steps[i].Reason, r.ID)
	case i >= 0 && !steps[i].Requested.IsZero():
		p.Since, p.Reason = steps[i].Requested, fmt.Sprintf("it is being %s", next)
		if steps[i].Reached.IsZero() && steps[i].Detail != "" {
			p.Reason = fmt.Sprintf("it is to be %s; %s", next, steps[i].Detail)
		}
	case r.Released == "failed":
		p.Broken, p.Reason = true, "nothing more of it is published, since another target failed; sluice retry "+string(r.ID)+" goes on"
	case next == release.Committed && behind(release.Staged) != "":
		p.Reason = "nothing is committed before all is staged: it waits for " + behind(release.Staged)
	case next == release.Committed && behind(release.Verified) != "":
		p.Reason = "what is hardest to undo goes last: it waits until " + behind(release.Verified) + " is verified"
	default:
		p.Reason = "it waits for the publisher"
	}
}

func beforeGate(r readmodel.Run) string {
	if r.Gate == "closed" {
		return "nothing is published: the gate is shut"
	}
	return "it waits for the gate"
}

// behind names the other targets that have not reached a state.
func (p *Publishing) behind(all []Publishing, state release.PublicationState) string {
	var names []string
	for _, o := range all {
		if o.Target != p.Target && !o.State.Reached(state) {
			names = append(names, o.Target)
		}
	}
	return strings.Join(names, ", ")
}
