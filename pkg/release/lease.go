package release

import "time"

// LeaseRequest asks for places: machines, clusters, devices. The zero request asks for none.
type LeaseRequest struct {
	Provider string   `json:"provider,omitempty"` // whose places
	Places   []string `json:"places,omitempty"`   // globs of the names that will do; empty means any
	Nodes    int32    `json:"nodes,omitempty"`    // places at once, all or none; 0 means 1
	Shared   bool     `json:"shared,omitempty"`   // others may use a place at the same time, as many as it takes
	For      Duration `json:"for,omitempty"`      // the longest that it is held, in whole; 0 means as long as its attempt lives
	Limit    int32    `json:"limit,omitempty"`    // places of the provider at once, for all tasks of the project, where its definition makes them; 0 means no limit
}

// Wanted reports whether it asks for anything.
func (r LeaseRequest) Wanted() bool { return r.Provider != "" }

// Count is how many places it asks for.
func (r LeaseRequest) Count() int32 { return max(1, r.Nodes) }

// Lease is the right of one attempt to use places.
type Lease struct {
	Provider string    `json:"provider,omitempty"`
	Places   []Held    `json:"places,omitempty"`
	Shared   bool      `json:"shared,omitempty"`
	Until    time.Time `json:"until,omitzero"` // unless it is renewed
}

// Held is a place and the token under which it is held. Each grant of a place has a higher token than all before: whoever
// shows a lower one holds it no more.
type Held struct {
	Place   string `json:"place,omitempty"`
	Token   int64  `json:"token,omitempty,string"`
	Address string `json:"address,omitempty"` // how the place is reached: "ssh://user@host:22"; empty for this machine
}

// PlaceRuns begins the names of the runs in which places are cleaned and checked. No run of a change begins so.
const PlaceRuns = "place-"

// PlaceState is what a place is good for.
type PlaceState string

// The states of a place that nobody holds.
const (
	PlaceFree           PlaceState = "free"
	PlaceCleanupPending PlaceState = "cleanup-pending" // it must be cleaned before it is used again
	PlaceQuarantined    PlaceState = "quarantined"     // its health check failed
	PlaceDrained        PlaceState = "drained"         // a person keeps it from being used
)
