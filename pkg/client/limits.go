package client

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// Limit is one limit or weight as it is now, and what is used of it.
type Limit struct {
	Of       event.LimitOf `json:"of"`
	Name     string        `json:"name"`
	Resource string        `json:"resource,omitempty"` // of a pool or provider
	Limited  bool          `json:"limited"`
	Amount   float64       `json:"amount"` // the limit, or the weight
	Used     float64       `json:"used"`
	Waiting  int           `json:"waiting"`        // tasks that it keeps from starting
	From     string        `json:"from,omitempty"` // "set", "installation" or "definition"
	By       string        `json:"by,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Since    time.Time     `json:"since,omitzero"`
}

// Limits lists the limits and weights.
func (c *Client) Limits(ctx context.Context) ([]Limit, error) {
	page, err := get[struct {
		Limits []Limit `json:"limits"`
	}](ctx, c, nil, "limits")
	return page.Limits, err
}

// SetLimit is what a limit is to be.
type SetLimit struct {
	Of       event.LimitOf `json:"of"`
	Name     string        `json:"name"`
	Resource string        `json:"resource,omitempty"`
	Amount   *float64      `json:"amount,omitempty"`
	Unset    bool          `json:"unset,omitempty"` // back to what definition and installation say
	Reason   string        `json:"reason,omitempty"`
}

// SetLimit changes a limit or a weight.
func (c *Client) SetLimit(ctx context.Context, l SetLimit) (Done, error) {
	return c.act(ctx, "", l, "limits")
}
