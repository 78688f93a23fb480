package event

import (
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// ExecutorHeartbeat says that an executor lives, what it has in hand and what it could take. It is no fact: each
// replaces the one before.
type ExecutorHeartbeat struct {
	Pool     string       `json:"pool,omitempty"`
	Executor string       `json:"executor,omitempty"` // instance: a new one at each start
	Host     string       `json:"host,omitempty"`
	Slots    int32        `json:"slots,omitempty"` // attempts that it runs at once
	Running  []AttemptRef `json:"running,omitempty"`
	Draining bool         `json:"draining,omitempty"` // takes no more
	Reason   string       `json:"reason,omitempty"`   // why it takes no more
	Gone     bool         `json:"gone,omitempty"`     // the last one: it ends

	Isolation Isolation `json:"isolation,omitzero"` // what commands are held back by; nothing while the driver is not open

	Accepts []release.Trust `json:"accepts,omitempty"` // changes that it takes
}

// Isolation is what the place where an executor runs commands holds them back by.
type Isolation struct {
	Held    []string `json:"held,omitempty"`    // user, pid, mount, ipc, network, memory, pids, cpu, kill
	Missing []string `json:"missing,omitempty"` // what its machine cannot give, with the reason
	Refusal string   `json:"refusal,omitempty"` // why no untrusted change runs there; empty where one can
}

// SchedulerHeartbeat is what a scheduler says to itself through the bus: as long as it comes back, silence of others is
// theirs. It is no fact: each replaces the one before.
type SchedulerHeartbeat struct {
	Scheduler string `json:"scheduler,omitempty"` // instance: a new one at each start
	Number    int64  `json:"number,omitempty,string"`
}

// AttemptRef names an attempt.
type AttemptRef struct {
	Run     release.RunID  `json:"run,omitempty"`
	Task    release.TaskID `json:"task,omitempty"`
	Attempt int32          `json:"attempt,omitempty"`
}

// PoolDrainRequested stops, or with Resume starts again, the dispatch of work to a pool.
type PoolDrainRequested struct {
	Request string `json:"request,omitempty"`
	Pool    string `json:"pool,omitempty"`
	Resume  bool   `json:"resume,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// ExecutorDraining says that an executor was told to end, or that its machine will be taken away: it takes no more work,
// and what it cannot finish by the deadline is to be made again elsewhere.
type ExecutorDraining struct {
	Pool     string       `json:"pool,omitempty"`
	Executor string       `json:"executor,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Deadline time.Time    `json:"deadline,omitzero"`
	Running  []AttemptRef `json:"running,omitempty"`
}

// LimitSet changes a limit, whatever definitions and installation say. Tasks that wait meet it at once.
type LimitSet struct {
	Request  string  `json:"request,omitempty"`
	Of       LimitOf `json:"of,omitempty"`
	Name     string  `json:"name,omitempty"`     // of the group, pool, provider, project or owner
	Resource string  `json:"resource,omitempty"` // of a pool or provider: cpu, gpu, memory, nodes, tasks
	Amount   float64 `json:"amount,omitempty"`
	Unset    bool    `json:"unset,omitempty"` // back to what definition and installation say
	By       string  `json:"by,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// LimitOf says what a limit is of.
type LimitOf string

// What can be limited. The weight of a project or an owner is its share of a pool beside others.
const (
	LimitGroup    LimitOf = "group"
	LimitPool     LimitOf = "pool"
	LimitProvider LimitOf = "provider"
	WeightProject LimitOf = "weight-project"
	WeightOwner   LimitOf = "weight-owner"
)

// PlaceRegistered says that a place can be leased, and how. A place that is registered again is changed.
type PlaceRegistered struct {
	Provider string `json:"provider,omitempty"`
	Place    string `json:"place,omitempty"`
	Version  string `json:"version,omitempty"`  // derived from all that follows
	Pool     string `json:"pool,omitempty"`     // whose executors check and clean it
	Plan     string `json:"plan,omitempty"`     // blob: the tasks "health" and "clean" of the provider
	Capacity int32  `json:"capacity,omitempty"` // shared leases at once; 0 means that it is never shared
	Address  string `json:"address,omitempty"`
	Health   bool   `json:"health,omitempty"`  // it is checked before a lease and after an attempt that failed by the platform's fault
	Clean    bool   `json:"clean,omitempty"`   // it is cleaned after each exclusive lease
	Removed  bool   `json:"removed,omitempty"` // it can no longer be leased
}

// PlaceChanged says that a place that nobody holds is now in another state.
type PlaceChanged struct {
	Provider string             `json:"provider,omitempty"`
	Place    string             `json:"place,omitempty"`
	Change   int64              `json:"change,omitempty,string"` // counts up
	State    release.PlaceState `json:"state,omitempty"`
	Until    time.Time          `json:"until,omitzero"` // of a quarantine
	Reason   string             `json:"reason,omitempty"`
	By       string             `json:"by,omitempty"` // a person; empty when the scheduler decided
}

// PlaceDrainRequested keeps a place from being leased once its holders are done, or with Resume lets it be leased again.
type PlaceDrainRequested struct {
	Request  string `json:"request,omitempty"`
	Provider string `json:"provider,omitempty"`
	Place    string `json:"place,omitempty"`
	Resume   bool   `json:"resume,omitempty"`
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// LeaseGranted gives a place to an attempt. Token counts up with each grant of the place, and the stream keeps one grant
// per token: a place has one holder, or as many shared ones as it takes.
type LeaseGranted struct {
	Provider string     `json:"provider,omitempty"`
	Place    string     `json:"place,omitempty"`
	Token    int64      `json:"token,omitempty,string"`
	Holder   AttemptRef `json:"holder,omitzero"`
	Shared   bool       `json:"shared,omitempty"`
	Until    time.Time  `json:"until,omitzero"` // unless it is renewed
	Reason   string     `json:"reason,omitempty"`
}

// LeaseRenewed says that the holder of a lease lives, and may keep its place longer.
type LeaseRenewed struct {
	Provider string    `json:"provider,omitempty"`
	Place    string    `json:"place,omitempty"`
	Token    int64     `json:"token,omitempty,string"`
	Number   int32     `json:"number,omitempty"` // counts up
	Until    time.Time `json:"until,omitzero"`
}

// LeaseEnded says that a place is no longer held under a token, and what state that leaves it in.
type LeaseEnded struct {
	Provider string             `json:"provider,omitempty"`
	Place    string             `json:"place,omitempty"`
	Token    int64              `json:"token,omitempty,string"`
	Holder   AttemptRef         `json:"holder,omitzero"`
	State    release.PlaceState `json:"state,omitempty"` // never free unless the holder, or nobody, had to clean it
	Reason   string             `json:"reason,omitempty"`
}

// EventType, Key: see Payload.
func (SchedulerHeartbeat) EventType() Type { return TypeSchedulerHeartbeat }
func (e SchedulerHeartbeat) Key() string   { return e.Scheduler }

func (ExecutorHeartbeat) EventType() Type { return TypeExecutorHeartbeat }
func (e ExecutorHeartbeat) Key() string   { return e.Pool + "." + e.Executor }

func (PoolDrainRequested) EventType() Type { return TypePoolDrainRequested }
func (p PoolDrainRequested) Key() string   { return p.Pool + "." + p.Request }

func (ExecutorDraining) EventType() Type { return TypeExecutorDraining }
func (e ExecutorDraining) Key() string   { return e.Pool + "." + e.Executor }

func (LimitSet) EventType() Type { return TypeLimitSet }
func (l LimitSet) Key() string   { return l.Request }

func (PlaceRegistered) EventType() Type { return TypePlaceRegistered }
func (p PlaceRegistered) Key() string   { return place(p.Provider, p.Place) + "." + p.Version }

func (PlaceChanged) EventType() Type { return TypePlaceChanged }
func (p PlaceChanged) Key() string   { return place(p.Provider, p.Place) + "." + long(p.Change) }

func (PlaceDrainRequested) EventType() Type { return TypePlaceDrainRequested }
func (p PlaceDrainRequested) Key() string   { return place(p.Provider, p.Place) + "." + p.Request }

func (LeaseGranted) EventType() Type { return TypeLeaseGranted }
func (l LeaseGranted) Key() string   { return place(l.Provider, l.Place) + "." + long(l.Token) }

func (LeaseRenewed) EventType() Type { return TypeLeaseRenewed }
func (l LeaseRenewed) Key() string {
	return place(l.Provider, l.Place) + "." + long(l.Token) + "." + number(l.Number)
}

func (LeaseEnded) EventType() Type { return TypeLeaseEnded }
func (l LeaseEnded) Key() string   { return place(l.Provider, l.Place) + "." + long(l.Token) }

func place(provider, name string) string { return release.Slug(provider) + "." + release.Slug(name) }

func long(n int64) string { return strconv.FormatInt(n, 10) }
