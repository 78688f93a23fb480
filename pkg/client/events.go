package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
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
	After  uint64  `json:"after"` // behind which place in the stream it begins
}

// Events lists facts of a run with all that they say.
func (c *Client) Events(ctx context.Context, q FactsQuery) (EventsPage, error) {
	return get[EventsPage](ctx, c, q.values(), "runs", string(q.Run), "events")
}

// tailPause is between two looks for new facts, as long as there are none.
const tailPause = time.Second

// Tail hands over the facts of all runs as they come, beginning with the last ones, until ctx ends. It needs the role maintainer in
// all projects. A server that is away for a while is asked again.
func (c *Client) Tail(ctx context.Context, kind string, last uint64, fn func(event.Event) error) error {
	query := FactsQuery{Type: kind, Limit: pageMost}.values()
	query.Set("last", strconv.FormatUint(last, 10))
	for answered := time.Now(); ; {
		more, err := c.tailPage(ctx, query, fn)
		switch {
		case err == nil:
			answered = time.Now()
		case !fault.Is(err, fault.Transient) || ctx.Err() != nil || time.Since(answered) > watchSilent:
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return fault.As(fault.Transient, context.Cause(ctx))
		case <-time.After(tailPause):
		}
	}
}

// tailPage hands over a page of facts, and lets the query go on behind it.
func (c *Client) tailPage(ctx context.Context, query url.Values, fn func(event.Event) error) (more bool, err error) {
	page, err := get[EventsPage](ctx, c, query, "events")
	if err != nil {
		return false, err
	}
	query.Del("last")
	number(query, "after", page.After)
	for _, e := range page.Events {
		decoded, err := e.Decode()
		if err == nil {
			err = fn(decoded)
		}
		if err != nil {
			return false, err
		}
		number(query, "after", e.Seq)
	}
	return page.Next != 0, nil
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
