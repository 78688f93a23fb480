package builder

import (
	"context"
	"errors"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/definition/tree"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/pkg/release"
)

// Planner makes plans of definitions. What is wrong with a definition is a definition.Errors, that it takes too much is of
// kind Invalid, and an error of the host comes back as it is.
type Planner interface {
	Plan(ctx context.Context, job planner.Job, host planner.Host) (planner.Outcome, error)
}

// host gives the plan of a change what it needs from outside.
type host struct {
	b *builder
	definition.Loader
	change release.Change
	base   release.Commit // what the change is compared with
	trust  release.Trust

	require []string // of the gate, beside what the definition says
}

// tree reads the files of the commit, or of repositories that the installation allows for such a change.
func (b *builder) tree(change release.Change, trust release.Trust) definition.Loader {
	allowed := b.config.Includes
	if !trust.Covers(release.TrustTrusted) {
		allowed = b.config.Untrusted.Includes
	}
	return tree.Git{Cache: b.git, URL: change.CloneURL, Commit: change.Commit, Allowed: allowed}
}

// refusal is an error of the host that is the change's own.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Request implements planner.Host.
func (h host) Request(ctx context.Context) (definition.Request, error) {
	r, err := h.b.request(h.change, h.b.changed(ctx, h.change, h.base))
	if err != nil {
		return r, refusal{err}
	}
	r.Trust, r.Require = h.trust, h.require
	r.Jailed, err = h.b.jailed(ctx, r)
	return r, err
}

// Answers implements planner.Host. Questions are asked once: what comes of the answers is frozen in the plan.
func (h host) Answers(ctx context.Context, questions []definition.Question) (map[string]string, error) {
	out := map[string]string{}
	for _, q := range questions {
		answer := h.b.config.Answers[q.Dialect]
		if _, known := out[q.Text]; known || answer == nil {
			continue
		}
		text, err := answer(ctx, q.Text)
		if fault.Is(err, fault.Transient) {
			return nil, err
		}
		if err != nil {
			return nil, refusal{err}
		}
		out[q.Text] = text
	}
	return out, nil
}

// wrong tells what is the change's own fault as a verdict. That a forge does not answer is none.
func wrong(change release.Change, err error) (*plan.Plan, event.Payload, error) {
	var problems definition.Errors
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return nil, rejected(change, refused.error), nil
	case errors.As(err, &problems), fault.Is(err, fault.Invalid):
		return nil, rejected(change, asComment(change, err)), nil
	}
	return nil, nil, err
}
