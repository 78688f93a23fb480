package view

import (
	"context"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/schedule"
)

const topicLimits = "limits"

// Limits asks the test-scheduler which limits and weights there are, and what is used of them.
func (s *Source) Limits(ctx context.Context) ([]schedule.Quota, error) {
	return bus.Ask[struct{}, []schedule.Quota](ctx, s.Bus, topicLimits, struct{}{})
}

// Places asks the test-scheduler for every place that attempts lease: who holds it, and what is wrong with it.
func (s *Source) Places(ctx context.Context) ([]lease.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return bus.Ask[lease.Everything, []lease.Place](ctx, s.Bus, lease.Topic, lease.Everything{})
}
