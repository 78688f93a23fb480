package event

import "github.com/sluiceci/sluice/pkg/release"

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

// EventType, Key: see Payload.
func (ExecutorHeartbeat) EventType() Type { return TypeExecutorHeartbeat }
func (e ExecutorHeartbeat) Key() string   { return e.Pool + "." + e.Executor }

func (PoolDrainRequested) EventType() Type { return TypePoolDrainRequested }
func (p PoolDrainRequested) Key() string   { return p.Pool + "." + p.Request }
