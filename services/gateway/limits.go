package gateway

import (
	"context"
	"math"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// limited is what a request says of a limit.
type limited struct {
	Of       event.LimitOf `json:"of,omitempty"`
	Name     string        `json:"name,omitempty"`
	Resource string        `json:"resource,omitempty"`
	Amount   *float64      `json:"amount,omitempty"`
	Unset    bool          `json:"unset,omitempty"`
}

// maxAmount bounds a limit: what is beyond it limits nothing.
const maxAmount = 1e12

// limit changes a limit or a weight. Tasks that wait meet it at once.
func (g *gateway) limit(ctx context.Context, r request) (done, error) {
	l := r.body.limited
	if err := l.check(); err != nil {
		return done{}, err
	}
	say := event.LimitSet{
		Request: r.id, Of: l.Of, Name: l.Name, Resource: l.Resource, Unset: l.Unset, By: r.by, Reason: r.body.Reason,
	}
	if l.Amount != nil {
		say.Amount = *l.Amount
	}
	id, err := g.say(ctx, event.Fleet, say)
	return done{Event: id}, err
}

// check refuses what would limit nothing without a word.
func (l limited) check() error {
	kinds := []event.LimitOf{event.LimitGroup, event.LimitPool, event.LimitProvider, event.WeightProject, event.WeightOwner}
	resources := []string{"cpu", "gpu", "memory", "nodes", "tasks"}
	pooled := l.Of == event.LimitPool || l.Of == event.LimitProvider
	switch {
	case !slices.Contains(kinds, l.Of):
		return fault.New(fault.Invalid, "cannot set a limit of %.100q: expected one of %v", l.Of, kinds)
	case l.Name == "" || !plain(l.Name, maxName):
		return fault.New(fault.Invalid, "cannot set a limit of %s %.100q: expected a name of 1 to %d bytes", l.Of, l.Name, maxName)
	case pooled && !slices.Contains(resources, l.Resource):
		return fault.New(fault.Invalid, "cannot set a limit of %s %s: its resource is %.100q, expected one of %v", l.Of, l.Name, l.Resource, resources)
	case !pooled && l.Resource != "":
		return fault.New(fault.Invalid, "cannot set a limit of %s %s: only a pool or a provider has resources, found %.100q", l.Of, l.Name, l.Resource)
	case l.Unset && l.Amount != nil:
		return fault.New(fault.Invalid, "cannot set and unset the limit of %s %s: leave the amount out", l.Of, l.Name)
	case !l.Unset && l.Amount == nil:
		return fault.New(fault.Invalid, "cannot set the limit of %s %s: its amount is missing", l.Of, l.Name)
	case l.Amount != nil && (*l.Amount < 0 || *l.Amount > maxAmount || math.IsNaN(*l.Amount)):
		return fault.New(fault.Invalid, "cannot set the limit of %s %s to %g: expected 0 to %g", l.Of, l.Name, *l.Amount, float64(maxAmount))
	}
	return nil
}
