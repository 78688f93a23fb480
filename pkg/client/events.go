package client

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// pageMost is the longest page that the server gives.
const pageMost = 1000

// FactsQuery says which facts of a run to list, in their order.
type FactsQuery struct {
	Run   release.RunID
	After uint64
	Limit int    // of a page
	Type  string // a type, or its first part: "gate" for every "gate.…"
}

func (q FactsQuery) values() url.Values {
	query := url.Values{}
	number(query, "after", q.After)
	number(query, "limit", uint64(max(q.Limit, 0)))
	if q.Type != "" {
		query.Set("type", q.Type)
	}
	return query
}

// TimelinePage is a part of a run's facts as sentences. Next is the After of the page after it, 0 when there is none.
type TimelinePage struct {
	Timeline []Moment `json:"timeline"`
	Next     uint64   `json:"next,omitempty"`
}

// Timeline lists facts of a run as sentences.
func (c *Client) Timeline(ctx context.Context, q FactsQuery) (TimelinePage, error) {
	return get[TimelinePage](ctx, c, q.values(), "runs", string(q.Run), "timeline")
}

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

// EventsPage is a part of a run's facts. Next is the After of the page after it, 0 when there is none.
type EventsPage struct {
	Events []Event `json:"events"`
	Next   uint64  `json:"next,omitempty"`
}

// Events lists facts of a run with all that they say.
func (c *Client) Events(ctx context.Context, q FactsQuery) (EventsPage, error) {
	return get[EventsPage](ctx, c, q.values(), "runs", string(q.Run), "events")
}

// History returns every fact of a run that is stored now.
func (c *Client) History(ctx context.Context, run release.RunID) ([]event.Event, error) {
	var out []event.Event
	q := FactsQuery{Run: run, Limit: pageMost}
	for range maxPages {
		page, err := c.Events(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			decoded, err := e.Decode()
			if err != nil {
				return nil, err
			}
			out = append(out, decoded)
		}
		if q.After = page.Next; page.Next == 0 {
			return out, nil
		}
	}
	return nil, fault.New(fault.Invalid, "cannot read the events of run %s: they do not end", run)
}

// Decode makes the event of its JSON.
func (e Event) Decode() (event.Event, error) {
	entry, known := event.Find(e.Type)
	if !known {
		return event.Event{}, fault.New(fault.Invalid, "cannot read event %d: its type %q is newer than this program", e.Seq, Line(string(e.Type)))
	}
	data, err := entry.Decode(e.Data)
	if err != nil {
		return event.Event{}, fault.New(fault.Invalid, "cannot read event %d: its data is no %s: %w", e.Seq, entry.Message(), err)
	}
	return event.Event{
		ID: e.ID, Type: e.Type, Source: e.Source, Run: e.Run, Key: data.Key(), Time: e.Time, Cause: e.Cause, Data: data,
		Seq: e.Seq, Stored: e.Stored,
	}, nil
}
