package view

import (
	"context"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/schedule"
)

const topicLimits = "limits"

// Limits asks the test-scheduler which limits and weights there are, and what is used of them.
func (s *Source) Limits(ctx context.Context) ([]schedule.Quota, error) {
	return bus.Ask[struct{}, []schedule.Quota](ctx, s.Bus, topicLimits, struct{}{})
}
