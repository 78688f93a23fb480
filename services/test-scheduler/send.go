package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/pkg/service"
)

// inFlight is how many batches of intents may be on their way. While all are, intents gather, and the next batch takes
// all of them: the slower the disk, the larger the batches.
const inFlight = 4

// sender carries intents to the stream beside the desk, so that deciding never waits for a disk.
type sender struct {
	deps  service.Deps
	slots chan struct{}
	freed chan struct{}
	group sync.WaitGroup
}

func newSender(deps service.Deps) *sender {
	return &sender{deps: deps, slots: make(chan struct{}, inFlight), freed: make(chan struct{}, 1)}
}

// send begins to store intents, or reports that too many are on their way; freed tells when to try again.
func (s *sender) send(ctx context.Context, intents []schedule.Intent) bool {
	select {
	case s.slots <- struct{}{}:
	default:
		return false
	}
	events := make([]event.Event, 0, len(intents))
	now := s.deps.Now()
	for _, i := range intents {
		events = append(events, s.event(i, now))
	}
	s.group.Go(func() {
		s.store(ctx, events)
		<-s.slots
		select {
		case s.freed <- struct{}{}:
		default:
		}
	})
	return true
}

// event makes an event of an intent. One that follows from no event, such as the renewal of a lease, is named by its place
// alone: by a cause without a name, what is said of two runs would have one id.
func (s *sender) event(i schedule.Intent, now time.Time) event.Event {
	if i.Cause.ID == "" {
		return event.Root(i.Cause.Run, s.deps.Source(Name), now, i.Payload)
	}
	return event.New(i.Cause, s.deps.Source(Name), now, i.Payload)
}

// store publishes events. What the stream did not take is decided again: nothing is lost with it. One that it will never
// take must not keep the others.
func (s *sender) store(ctx context.Context, events []event.Event) {
	err := s.deps.Bus.Publish(ctx, events...)
	if fault.Is(err, fault.Invalid) && len(events) > 1 {
		for _, e := range events {
			s.store(ctx, []event.Event{e})
		}
		return
	}
	if err != nil && ctx.Err() == nil {
		s.deps.Log.Warn("cannot store decisions; they are made again", "first", events[0].Describe(), "decisions", len(events), "err", err)
	}
}

func (s *sender) wait() { s.group.Wait() }
