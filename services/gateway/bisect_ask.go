package gateway

import (
	"cmp"
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// searched is what a request says of a bisection.
type searched struct {
	Task     string         `json:"task,omitempty"`
	Good     release.Commit `json:"good,omitempty"`
	Bad      release.Commit `json:"bad,omitempty"`
	Ways     int32          `json:"ways,omitempty"`
	Runs     int32          `json:"runs,omitempty"`
	Confirm  *int32         `json:"confirm,omitempty"`
	Budget   int32          `json:"budget,omitempty"`
	Deadline time.Time      `json:"deadline,omitzero"`
}

const (
	bisectTime    = 24 * time.Hour
	bisectLongest = 30 * 24 * time.Hour
)

// orDefault fills in what a request leaves out.
func (s searched) orDefault(now time.Time) searched {
	s.Ways, s.Runs, s.Budget = cmp.Or(s.Ways, 3), cmp.Or(s.Runs, 1), cmp.Or(s.Budget, 30)
	if s.Confirm == nil {
		one := int32(1)
		s.Confirm = &one
	}
	if s.Deadline.IsZero() {
		s.Deadline = now.Add(bisectTime)
	}
	return s
}

func (s searched) check(now time.Time) error {
	for what, n := range map[string][3]int32{
		"ways": {s.Ways, 1, 50}, "runs": {s.Runs, 1, 30}, "confirm": {*s.Confirm, 0, 30}, "budget": {s.Budget, 2, 10_000},
	} {
		if n[0] < n[1] || n[0] > n[2] {
			return fault.New(fault.Invalid, "cannot bisect with %s %d, expected %d to %d", what, n[0], n[1], n[2])
		}
	}
	switch {
	case s.Task == "" || !plain(s.Task, maxName):
		return fault.New(fault.Invalid, "cannot bisect task %.100q: expected the id or the name of a task", s.Task)
	case !s.Good.Valid() || !s.Bad.Valid() || s.Good == s.Bad:
		return fault.New(fault.Invalid, "cannot bisect from %.50q to %.50q: expected the whole names of two commits", s.Good, s.Bad)
	case !s.Deadline.After(now) || s.Deadline.After(now.Add(bisectLongest)):
		return fault.New(fault.Invalid, "cannot bisect until %s: expected a time within the next 30 days", s.Deadline.Format(time.RFC3339))
	}
	return nil
}

// askBisect asks for the commit that broke a test. The same request again is the same bisection.
func (g *gateway) askBisect(ctx context.Context, r request) (done, error) {
	p, err := g.in(r, access.Developer)
	if err != nil {
		return done{}, err
	}
	now := g.deps.Now()
	s := r.body.searched.orDefault(now)
	if err := s.check(now); err != nil {
		return done{}, err
	}
	for name, value := range r.body.Parameters {
		if !plain(name, maxName) || !plain(value, maxText) {
			return done{}, fault.New(fault.Invalid, "cannot bisect with parameter %.50q: expected plain text", name)
		}
	}
	say := event.BisectRequested{
		Bisect: release.Derive("bisect", r.id), Project: p.Name, Test: cmp.Or(r.body.Test, s.Task), Task: s.Task, Good: s.Good, Bad: s.Bad,
		Ways: s.Ways, Runs: s.Runs, Confirm: *s.Confirm, Budget: s.Budget, Deadline: s.Deadline.UTC(), By: r.by, Reason: r.body.Reason,
		Parameters: r.body.Parameters,
	}
	id, err := g.say(ctx, event.Fleet, say)
	return done{Event: id, Bisect: say.Bisect}, err
}
