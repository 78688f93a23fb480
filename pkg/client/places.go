package client

import (
	"context"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// PlaceStatus is how something that attempts lease is now: a machine, a cluster, a device.
type PlaceStatus struct {
	Provider string        `json:"provider"`
	Place    string        `json:"place"`
	State    string        `json:"state"` // free, held, kept, cleaning, checking, cleanup-pending, quarantined, drained, removed
	Reason   string        `json:"reason,omitempty"`
	Since    time.Time     `json:"since,omitzero"`
	Until    time.Time     `json:"until,omitzero"`
	Holders  []PlaceHolder `json:"holders,omitempty"`
	Waiting  int           `json:"waiting,omitempty"` // asks that it would do for
	Pool     string        `json:"pool,omitempty"`    // whose executors clean and check it
	Address  string        `json:"address,omitempty"`
	Capacity int32         `json:"capacity,omitempty"`
	Token    int64         `json:"token"`
	Change   int64         `json:"change"`
	Clean    bool          `json:"clean,omitempty"` // it is cleaned after each use
}

// PlaceHolder is an attempt that has a place.
type PlaceHolder struct {
	Run     release.RunID  `json:"run,omitempty"`
	Task    release.TaskID `json:"task,omitempty"`
	Attempt int32          `json:"attempt,omitempty"`
	Token   int64          `json:"token"`
	Shared  bool           `json:"shared,omitempty"`
	Since   time.Time      `json:"since"`
	Until   time.Time      `json:"until"`
	Most    time.Time      `json:"most,omitzero"`  // the longest that it is held; zero when nothing bounds that
	Kept    bool           `json:"kept,omitempty"` // its attempt has ended; the place is left for a person
}

// Places lists the places.
func (c *Client) Places(ctx context.Context) ([]PlaceStatus, error) {
	page, err := get[struct {
		Places []PlaceStatus `json:"places"`
	}](ctx, c, nil, "places")
	return page.Places, err
}

// DrainPlace keeps a place, named "provider/place", from being leased, or lets it be leased again.
func (c *Client) DrainPlace(ctx context.Context, place string, resume bool, reason string) (Done, error) {
	provider, name, err := placeName(place)
	if err != nil {
		return Done{}, err
	}
	return c.act(ctx, "", struct {
		Resume bool   `json:"resume"`
		Reason string `json:"reason,omitempty"`
	}{resume, reason}, "places", provider, name, "drain")
}

// ReleasePlace says that a place, named "provider/place", is not needed by a person any more, or that it is well.
func (c *Client) ReleasePlace(ctx context.Context, place, reason string) (Done, error) {
	provider, name, err := placeName(place)
	if err != nil {
		return Done{}, err
	}
	return c.act(ctx, "", struct {
		Reason string `json:"reason,omitempty"`
	}{reason}, "places", provider, name, "release")
}

func placeName(text string) (provider, place string, err error) {
	provider, place, _ = strings.Cut(text, "/")
	if !release.Token(provider) || !release.Token(place) {
		return "", "", fault.New(fault.Invalid, "cannot tell which place %q is: expected PROVIDER/PLACE, as \"sluice places\" lists them", Line(text))
	}
	return provider, place, nil
}
