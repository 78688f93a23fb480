package readmodel

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Gate is the verdict on one round of a run.
type Gate struct {
	Round      int32               `json:"round"`
	State      string              `json:"state"` // "open" or "closed"
	Reason     string              `json:"reason,omitempty"`
	Candidate  release.Digest      `json:"candidate,omitempty"`
	At         time.Time           `json:"at,omitzero"`
	Conditions []release.Condition `json:"conditions"`
}

// Candidate is what the builds of one round gave.
type Candidate struct {
	Round     int32          `json:"round"`
	State     string         `json:"state"` // "assembled" or "rejected"
	ID        release.Digest `json:"candidate,omitempty"`
	Content   release.Digest `json:"content,omitempty"` // blob
	Artifacts int32          `json:"artifacts"`
	Reasons   []string       `json:"reasons,omitempty"`
	At        time.Time      `json:"at,omitzero"`
}

// Step is how far one target came towards one state.
type Step struct {
	Target    string                   `json:"target"`
	Kind      string                   `json:"kind,omitempty"`
	State     release.PublicationState `json:"state"`
	Round     int32                    `json:"round"`
	Requested time.Time                `json:"requested_at,omitzero"`
	Reached   time.Time                `json:"reached_at,omitzero"`
	Detail    string                   `json:"detail,omitempty"`
	Files     []event.PublishedFile    `json:"files,omitempty"`
	Failed    time.Time                `json:"failed_at,omitzero"`
	Fault     string                   `json:"fault,omitempty"`
	Reason    string                   `json:"reason,omitempty"`
}

// Broken reports whether the step failed and was not made since.
func (s Step) Broken() bool { return !s.Failed.IsZero() && s.Reached.Before(s.Failed) }

// Release is how the publication of a run ended.
type Release struct {
	State     string             `json:"state"` // "published" or "failed"
	Round     int32              `json:"round"`
	Candidate release.Digest     `json:"candidate,omitempty"`
	Targets   []event.TargetName `json:"targets,omitempty"`
	Reasons   []string           `json:"reasons,omitempty"`
	At        time.Time          `json:"at,omitzero"`
}

// Export is a part of a run that is kept elsewhere.
type Export struct {
	Destination string         `json:"destination"`
	Part        string         `json:"part"`
	Round       int32          `json:"round"`
	Location    string         `json:"location,omitempty"`
	Manifest    release.Digest `json:"manifest,omitempty"`
	Files       int32          `json:"files"`
	Bytes       int64          `json:"bytes"`
	At          time.Time      `json:"at,omitzero"`
}

type conditionRow struct {
	round int32
	release.Condition
}

// Gates lists the verdicts on a run by round.
func (m *Model) Gates(ctx context.Context, run release.RunID) ([]Gate, error) {
	args := []any{string(run)}
	gates, err := collect(ctx, m, "SELECT round, state, reason, candidate, at FROM gates WHERE run = ? ORDER BY round", args,
		func(g *Gate) []any {
			return []any{&g.Round, opt(&g.State), opt(&g.Reason), opt(&g.Candidate), moment(&g.At)}
		})
	if err != nil {
		return nil, err
	}
	conditions, err := collect(ctx, m,
		"SELECT round, name, met, final, reason FROM conditions WHERE run = ? ORDER BY round, n", args,
		func(c *conditionRow) []any {
			return []any{&c.round, opt(&c.Name), opt(&c.Met), opt(&c.Final), opt(&c.Reason)}
		})
	for i := range gates {
		gates[i].Conditions = []release.Condition{}
		for _, c := range conditions {
			if c.round == gates[i].Round {
				gates[i].Conditions = append(gates[i].Conditions, c.Condition)
			}
		}
	}
	return gates, err
}

// Candidates lists what the builds of each round gave.
func (m *Model) Candidates(ctx context.Context, run release.RunID) ([]Candidate, error) {
	return collect(ctx, m,
		"SELECT round, state, candidate, content, artifacts, reasons, at FROM candidates WHERE run = ? ORDER BY round",
		[]any{string(run)}, func(c *Candidate) []any {
			return []any{&c.Round, opt(&c.State), opt(&c.ID), opt(&c.Content), opt(&c.Artifacts), decoded(&c.Reasons), moment(&c.At)}
		})
}

// Steps lists the steps of every target of a run.
func (m *Model) Steps(ctx context.Context, run release.RunID) ([]Step, error) {
	return collect(ctx, m,
		"SELECT target, kind, state, round, requested_at, reached_at, detail, files, failed_at, fault, reason"+
			" FROM publications WHERE run = ? ORDER BY target, state", []any{string(run)}, func(s *Step) []any {
			return []any{
				&s.Target, opt(&s.Kind), &s.State, opt(&s.Round), moment(&s.Requested), moment(&s.Reached), opt(&s.Detail),
				decoded(&s.Files), moment(&s.Failed), opt(&s.Fault), opt(&s.Reason),
			}
		})
}

// Release returns how the publication of a run ended, nil while it has not.
func (m *Model) Release(ctx context.Context, run release.RunID) (*Release, error) {
	found, err := collect(ctx, m, "SELECT state, round, candidate, targets, reasons, at FROM releases WHERE run = ?",
		[]any{string(run)}, func(r *Release) []any {
			return []any{
				opt(&r.State), opt(&r.Round), opt(&r.Candidate), decoded(&r.Targets), decoded(&r.Reasons), moment(&r.At),
			}
		})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Exports lists what of a run is kept elsewhere.
func (m *Model) Exports(ctx context.Context, run release.RunID) ([]Export, error) {
	return collect(ctx, m,
		"SELECT destination, part, round, location, manifest, files, bytes, at FROM exports WHERE run = ?"+
			" ORDER BY destination, part", []any{string(run)}, func(e *Export) []any {
			return []any{
				&e.Destination, &e.Part, opt(&e.Round), opt(&e.Location), opt(&e.Manifest), opt(&e.Files), opt(&e.Bytes), moment(&e.At),
			}
		})
}
