package scheduler

import (
	"context"

	"github.com/sluiceci/sluice/pkg/schedule"
)

// TopicLimits is the question for all limits and weights: Everything → []schedule.Quota.
const TopicLimits = "limits"

func (d *desk) quotas(context.Context, Everything) ([]schedule.Quota, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return schedule.Quotas(d.state), nil
}
