package scheduler

import (
	"context"
	"fmt"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/schedule"
)

const maxPlan = 64 << 20 // bytes

// requestTests asks for the tests of a plan, now that there is something to test. In a later round most are asked for
// already, and the stream keeps each once.
func (s *scheduler) requestTests(ctx context.Context, d *bus.Delivery[event.CandidateAssembled]) error {
	text, err := blob.ReadAll(ctx, s.deps.Blobs, d.Data.Plan, maxPlan)
	if err != nil {
		return fmt.Errorf("cannot request the tests of %s: %w", d.Event.Run, err)
	}
	p, err := plan.Decode(text)
	if err != nil {
		return fmt.Errorf("cannot request the tests of %s: %w", d.Event.Run, err)
	}
	var tests []event.Payload
	for _, t := range p.Tasks {
		if schedule.AfterCandidate(t.Kind) {
			tests = append(tests, t.Request(d.Data.Plan, p.Trust))
		}
	}
	return d.Emit(ctx, tests...)
}
