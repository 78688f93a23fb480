package view

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Event is a fact as the stream has it.
type Event struct {
	Seq    uint64          `json:"seq"`
	ID     string          `json:"id"`
	Type   event.Type      `json:"type"`
	Key    string          `json:"key,omitempty"`
	Time   time.Time       `json:"time"`
	Stored time.Time       `json:"stored"`
	Source string          `json:"source"`
	Cause  string          `json:"cause,omitempty"`
	Run    release.RunID   `json:"run"`
	Data   json.RawMessage `json:"data"`
}

// EventsQuery says which facts of a run to read, in their order.
type EventsQuery struct {
	Run   release.RunID
	After uint64
	Limit int
	Type  string // a type, or its first part: "gate" for every "gate.…"
}

// eventsWait is how long the stream may take to give the next facts.
const eventsWait = 2 * time.Second

// Events reads facts out of the stream. next is the After of the next page, 0 when there is none.
func (s *Source) Events(ctx context.Context, q EventsQuery) (events []Event, next uint64, err error) {
	events = []Event{}
	types, ok := typesOf(q.Type)
	if !ok {
		return nil, 0, fault.New(fault.Invalid, "cannot list events of type %q: expected a type such as task.finished, or its first part", q.Type)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, err := s.Bus.Follow(ctx, bus.Following{Name: "reporter-events", From: q.After + 1, Types: types, Run: string(q.Run)})
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	wait := 100 * time.Millisecond // nothing may be there at all
	for {
		batch, err := f.Next(ctx, wait)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range batch.Events {
			if len(events) == q.Limit {
				return events, events[q.Limit-1].Seq, nil
			}
			if e.Seq > q.After {
				events = append(events, raw(e))
			}
		}
		if batch.Live || len(batch.Events) == 0 {
			return events, 0, nil
		}
		wait = eventsWait
	}
}

func raw(e event.Event) Event {
	data, err := json.Marshal(e.Data)
	if err != nil {
		data = []byte("null") // it came as JSON
	}
	return Event{e.Seq, e.ID, e.Type, e.Key, e.Time, e.Stored, e.Source, e.Cause, e.Run, data}
}

// typesOf lists the types that a word means; an empty one means all.
func typesOf(word string) ([]event.Type, bool) {
	if word == "" {
		return nil, true
	}
	var out []event.Type
	for _, e := range event.Catalogue() {
		if string(e.Type) == word || strings.HasPrefix(string(e.Type), word+".") {
			out = append(out, e.Type)
		}
	}
	return out, len(out) > 0
}
