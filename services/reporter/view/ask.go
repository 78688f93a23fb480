package view

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// The topics on which the test-scheduler answers.
const (
	topicWhy    = "why"
	topicQueues = "queues"
)

// The topics on which the publisher answers.
const (
	topicPublications = "publications"
	topicRehearsal    = "publications.dry"
)

// askWithin is what the scheduler has to answer: a page is better without its answer than late.
const askWithin = 1500 * time.Millisecond

// Question asks why a run, or a task of it, is where it is.
type Question struct {
	Run  release.RunID  `json:"run"`
	Task release.TaskID `json:"task,omitempty"`
}

// Why asks the test-scheduler why a run, or a task of it, is where it is.
func (s *Source) Why(ctx context.Context, run release.RunID, task release.TaskID) (schedule.Why, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return bus.Ask[Question, schedule.Why](ctx, s.Bus, topicWhy, Question{Run: run, Task: task})
}

// maxWaits bounds how many tasks of a run are asked about for one view.
const maxWaits = 24

// Waits asks why the first of a run's tasks that wait do so, and when they are expected to start. What is not answered in
// time is left out.
func (s *Source) Waits(ctx context.Context, d *Detail) map[release.TaskID]schedule.Why {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	out := map[release.TaskID]schedule.Why{}
	for _, t := range d.Tasks {
		if !t.Waits() || d.Run.Ended() {
			continue
		}
		why, err := s.Why(ctx, d.Run.ID, t.ID)
		if err != nil {
			return out
		}
		if out[t.ID] = why; len(out) == maxWaits {
			return out
		}
	}
	return out
}

// Pools asks the test-scheduler how the pools and their queues are.
func (s *Source) Pools(ctx context.Context) ([]schedule.Pool, error) {
	return bus.Ask[struct{}, []schedule.Pool](ctx, s.Bus, topicQueues, struct{}{})
}

// Topics are what the pages ask other services about.
func Topics() []string {
	return []string{topicWhy, topicQueues, topicLimits, lease.Topic, topicPublications, topicRehearsal}
}
