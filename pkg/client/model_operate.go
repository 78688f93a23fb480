package client

import (
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// Why says where a run or a task stands, what keeps it there, and who could change that. It comes from the functions
// that decide.
type Why struct {
	Run        release.RunID       `json:"run"`
	Task       release.TaskID      `json:"task,omitempty"`
	State      string              `json:"state"`
	Reason     string              `json:"reason"` // one sentence
	Attempt    int32               `json:"attempt,omitempty"`
	Round      int32               `json:"round,omitempty"`
	Outcome    release.Outcome     `json:"outcome,omitempty"`
	Class      release.Class       `json:"class,omitempty"`
	Since      time.Time           `json:"since,omitzero"`
	Until      time.Time           `json:"until,omitzero"`       // when time alone changes it
	Expected   time.Time           `json:"expected,omitzero"`    // when it is expected to start; zero when nobody can tell
	Expects    string              `json:"expects,omitempty"`    // what that rests on, or why nobody can tell
	Retried    bool                `json:"retried,omitempty"`    // it succeeded, and not at once
	Holders    []Holder            `json:"holders,omitempty"`    // who has what it waits for; the first 20
	Conditions []release.Condition `json:"conditions,omitempty"` // of the gate
	Retries    []RetriesLeft       `json:"retries,omitempty"`    // budgets that its tasks share, while it goes on
	By         string              `json:"by,omitempty"`         // who says it: "test-scheduler", or "reporter" from what was stored
	Note       string              `json:"note,omitempty"`       // who did not answer

	Publications []Publishing `json:"publications,omitempty"` // of a run: how far each target is, and what it waits for
	Approves     string       `json:"approves,omitempty"`     // the protected environment whose reviewers it waits for
}

// RetriesLeft is how much of a budget of retries is used.
type RetriesLeft struct {
	Of    string `json:"of"` // "the run", or its release by name
	Used  int32  `json:"used"`
	Limit int32  `json:"limit"`
}

// Publishing is how far a target of a run has come, and what it waits for.
type Publishing struct {
	Target string                   `json:"target"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"` // the last that it reached; none before the gate opens
	Reason string                   `json:"reason"`          // what it waits for, or why it cannot go on
	Since  time.Time                `json:"since,omitzero"`
	Broken bool                     `json:"broken,omitempty"` // it goes on when somebody asks for it
	Error  string                   `json:"error,omitempty"`  // the last, of a step that is tried again
	Tried  int32                    `json:"tried,omitempty"`  // how often
	Next   time.Time                `json:"next,omitzero"`    // it is tried again
	Until  time.Time                `json:"until,omitzero"`   // when it is given up
}

// Holder is a task that has what another waits for.
type Holder struct {
	Run      release.RunID  `json:"run"`
	Task     release.TaskID `json:"task"`
	State    string         `json:"state"`
	Attempt  int32          `json:"attempt,omitempty"`
	Executor string         `json:"executor,omitempty"`
	Since    time.Time      `json:"since,omitzero"`
	Ends     time.Time      `json:"ends,omitzero"`  // when it is expected to give it back; zero when nobody can tell
	Until    time.Time      `json:"until,omitzero"` // when its lease ends at the latest; zero when nothing bounds that
}

// Pool is what is known of a pool and its queue now.
type Pool struct {
	Name      string     `json:"name"`
	Waiting   int        `json:"waiting"` // tasks that could be given to it
	Given     int        `json:"given"`   // attempts that it has and that have not ended
	Running   int        `json:"running"` // of these, on an executor
	Slots     int        `json:"slots"`   // of its live executors
	Window    int        `json:"window"`  // attempts that it may have at once
	Drained   bool       `json:"drained,omitempty"`
	Reason    string     `json:"reason,omitempty"` // why it is drained
	Executors []Executor `json:"executors,omitempty"`
}

// Executor is a member of a pool.
type Executor struct {
	Name     string    `json:"name"`
	Host     string    `json:"host,omitempty"`
	Slots    int       `json:"slots"`
	Running  int       `json:"running"`
	Alive    bool      `json:"alive"`
	Draining bool      `json:"draining,omitempty"`
	Reason   string    `json:"reason,omitempty"` // why it takes no more
	Seen     time.Time `json:"seen,omitzero"`

	Held    []string `json:"held,omitempty"`    // what commands are held back by
	Missing []string `json:"missing,omitempty"` // what its machine cannot give of that
	Refusal string   `json:"refusal,omitempty"` // why no untrusted change runs there

	Accepts []release.Trust `json:"accepts,omitempty"` // changes that it takes
}

// Stream is how a stream of the bus is now.
type Stream struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Messages    uint64     `json:"messages"`
	Bytes       uint64     `json:"bytes"`
	MaxBytes    int64      `json:"max_bytes"` // -1 is without a limit
	FirstSeq    uint64     `json:"first_seq"`
	LastSeq     uint64     `json:"last_seq"`
	LastTime    time.Time  `json:"last_time,omitzero"`
	Created     time.Time  `json:"created"`
	Consumers   []Consumer `json:"consumers"`
}

// Full is how much of its limit a stream uses, from 0 to 1; 0 without a limit.
func (s Stream) Full() float64 {
	if s.MaxBytes <= 0 {
		return 0
	}
	return float64(s.Bytes) / float64(s.MaxBytes)
}

// Consumer is how a reader of a stream is now.
type Consumer struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Durable     bool      `json:"durable"` // a route's; the others are followers, which come and go
	Filters     []string  `json:"filters,omitempty"`
	Pending     uint64    `json:"pending"`     // messages that it has not been given
	AckPending  int       `json:"ack_pending"` // given, and neither acknowledged nor given up
	Redelivered int       `json:"redelivered"` // of these, given more than once
	Waiting     int       `json:"waiting"`     // workers that ask for more
	Delivered   uint64    `json:"delivered"`   // sequence of the newest that was given
	LastActive  time.Time `json:"last_active,omitzero"`
}

// Lag is how many messages a consumer has before it.
func (c Consumer) Lag() uint64 { return c.Pending + uint64(max(0, c.AckPending)) }

// DeadLetter is a message that a consumer could not handle.
type DeadLetter struct {
	Seq        uint64    `json:"seq"` // in the stream of dead letters
	Consumer   string    `json:"consumer"`
	Subject    string    `json:"subject"`
	Source     uint64    `json:"source_seq"` // in the stream of facts
	Reason     string    `json:"reason"`
	Fault      string    `json:"fault"`
	Deliveries uint64    `json:"deliveries"`
	Time       time.Time `json:"time"`
}
