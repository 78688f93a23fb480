package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
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
	now := s.deps.Now()
	s.group.Go(func() {
		s.store(ctx, s.events(ctx, intents, now))
		<-s.slots
		select {
		case s.freed <- struct{}{}:
		default:
		}
	})
	return true
}

// events makes events of intents. One that cannot be made is decided again.
func (s *sender) events(ctx context.Context, intents []schedule.Intent, now time.Time) []event.Event {
	out := make([]event.Event, 0, len(intents))
	for _, i := range intents {
		if d, is := i.Payload.(event.TaskDispatched); is {
			fitted, err := s.fit(ctx, d)
			if err != nil {
				s.deps.Log.Warn("cannot give out an attempt; trying again", "run", i.Cause.Run, "task", d.Task, "err", err)
				continue
			}
			i.Payload = fitted
		}
		out = append(out, s.event(i, now))
	}
	return out
}

// maxInline is how many bytes of inputs a dispatch carries by itself; a blob holds more than that. Every scheduler, every reader of
// facts and every copy of the stream would hold them all.
const maxInline = 256 << 10

// fewInputs are so few artifacts that they fit in a message, whatever they are called: nobody measures them.
const fewInputs = 512

// fit puts the inputs of a dispatch into a blob when they are too many for a message.
func (s *sender) fit(ctx context.Context, d event.TaskDispatched) (event.TaskDispatched, error) {
	artifacts := 0
	for _, p := range d.Inputs {
		artifacts += 1 + len(p.Artifacts)
	}
	if artifacts <= fewInputs {
		return d, nil
	}
	text, err := json.Marshal(d.Inputs)
	if err != nil || len(text) <= maxInline {
		return d, err
	}
	digest, err := blob.PutBytes(ctx, s.deps.Blobs, text)
	if err != nil {
		return d, fmt.Errorf("cannot store the list of its inputs: %w", err)
	}
	return d.Outside(digest), nil
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
