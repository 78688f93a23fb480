package event

import (
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// PlacesCreated says that an executor begins to make places for an attempt with commands of its definition: from now on
// there may be something to destroy, and by when. The pool is the first token of its key: an executor of that pool
// destroys what is left.
type PlacesCreated struct {
	Task     release.TaskID `json:"task,omitempty"`
	Attempt  int32          `json:"attempt,omitempty"`
	Pool     string         `json:"pool,omitempty"`
	Provider string         `json:"provider,omitempty"`
	Plan     release.Digest `json:"plan,omitempty"`
	Owner    string         `json:"owner,omitempty"`
	Expires  time.Time      `json:"expires,omitzero"`
	Lease    release.Lease  `json:"lease,omitzero"`
}

// PlacesDestroyed says that nothing is left of the places that were made for an attempt.
type PlacesDestroyed struct {
	Task     release.TaskID `json:"task,omitempty"`
	Attempt  int32          `json:"attempt,omitempty"`
	Pool     string         `json:"pool,omitempty"`
	Provider string         `json:"provider,omitempty"`
}

// EventType, Key: see Payload.
func (PlacesCreated) EventType() Type { return TypePlacesCreated }
func (p PlacesCreated) Key() string   { return p.Pool + "." + attempt(p.Task, p.Attempt) }

func (PlacesDestroyed) EventType() Type { return TypePlacesDestroyed }
func (p PlacesDestroyed) Key() string   { return p.Pool + "." + attempt(p.Task, p.Attempt) }
