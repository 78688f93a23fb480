package client

import (
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// The states of a run that has no outcome. A run that ended has its outcome as its state.
const (
	StateReceived = "received" // a change arrived; no plan yet
	StateIgnored  = "ignored"  // no trigger wants it
	StateRejected = "rejected" // the definition gives no plan
	StateRunning  = "running"

	StateUnpermitted = "unpermitted" // of an untrusted change; waits until somebody lets it run
)

// The states of a task that has no outcome. A task whose last attempt ended has that outcome as its state.
const (
	TaskPlanned = "planned" // in the plan, not yet wanted
	TaskWaiting = "waiting" // wanted; waits for what it needs, or for a place
	TaskQueued  = "queued"  // given to a pool
	TaskRunning = "running"
	TaskDelayed = "delayed" // waits for its next attempt
	TaskSkipped = "skipped" // never tried, since what it needs failed
)

// Run is a run as the list shows it.
type Run struct {
	ID       release.RunID      `json:"run"`
	Born     uint64             `json:"born"` // place of its first event in the stream; runs are listed by it
	Seq      uint64             `json:"seq"`  // place of its newest event
	Updated  time.Time          `json:"updated_at,omitzero"`
	Project  string             `json:"project,omitempty"`
	Repo     string             `json:"repo,omitempty"`
	Forge    string             `json:"forge,omitempty"`
	Kind     release.ChangeKind `json:"kind,omitempty"`
	Branch   string             `json:"branch,omitempty"`
	Ref      string             `json:"ref,omitempty"`
	Commit   release.Commit     `json:"commit,omitempty"`
	Title    string             `json:"title,omitempty"`
	Author   string             `json:"author,omitempty"`
	URL      string             `json:"url,omitempty"` // of the change on the forge
	Number   int32              `json:"number,omitempty"`
	HeadRepo string             `json:"head_repo,omitempty"`
	HeadRef  string             `json:"head_ref,omitempty"`
	Fork     bool               `json:"fork,omitempty"`
	RerunOf  release.RunID      `json:"rerun_of,omitempty"` // all of that run was to be made again, on its plan
	RerunBy  string             `json:"rerun_by,omitempty"` // who asked for that
	Received time.Time          `json:"received_at,omitzero"`
	Planned  time.Time          `json:"planned_at,omitzero"`
	Finished time.Time          `json:"finished_at,omitzero"` // of the last round; before Updated when it goes on
	State    string             `json:"state"`
	Outcome  release.Outcome    `json:"outcome,omitempty"` // of the last round that ended
	Reason   string             `json:"reason,omitempty"`
	Round    int32              `json:"round"`
	Plan     release.Digest     `json:"plan,omitempty"`
	Builds   int32              `json:"builds"`
	Tests    int32              `json:"tests"`
	Skipped  int32              `json:"skipped"`
	Gate     string             `json:"gate,omitempty"` // "open" or "closed" once it is decided
	GateWhy  string             `json:"gate_reason,omitempty"`
	Released string             `json:"released,omitempty"` // "published" or "failed"

	GateOn    []release.ChangeKind `json:"gate_on,omitempty"`
	GateTests []release.TaskID     `json:"gate_tests,omitempty"`
	Targets   []event.TargetName   `json:"targets,omitempty"`
	Warnings  []string             `json:"warnings,omitempty"`
	Trust     release.Trust        `json:"trust,omitempty"`        // of the change
	TrustWhy  string               `json:"trust_reason,omitempty"` // why it is no higher
	Problems  []event.Problem      `json:"problems,omitempty"`
	Reruns    []release.RunID      `json:"reruns,omitempty"` // runs that make all of this one again, the oldest first; not in lists

	Tasks map[string]int `json:"tasks"` // how many are in which state
}

// Ended reports whether nothing more is expected of the run, unless somebody retries it.
func (r Run) Ended() bool {
	return r.State != StateRunning && r.State != StateReceived && r.State != StateUnpermitted
}

// ExitCode is what a command exits with that waited for the run: the code of its outcome. A definition that gives no
// plan is a failure; a change that no trigger wants is none.
func (r Run) ExitCode() int {
	switch r.State {
	case StateIgnored:
		return release.Success.ExitCode()
	case StateRejected:
		return release.Failure.ExitCode()
	default:
		return release.Outcome(r.State).ExitCode()
	}
}

// Task is a task with its attempts.
type Task struct {
	ID        release.TaskID   `json:"task"`
	Born      uint64           `json:"born"` // place of the request in the stream; 0 while it is only planned
	Name      string           `json:"name,omitempty"`
	Job       string           `json:"job,omitempty"`
	Kind      release.TaskKind `json:"kind,omitempty"`
	Pool      string           `json:"pool,omitempty"`
	Needs     []release.TaskID `json:"needs,omitempty"`
	Priority  int32            `json:"priority,omitempty"`
	SoftFail  bool             `json:"soft_fail,omitempty"`
	Requested time.Time        `json:"requested_at,omitzero"`
	State     string           `json:"state"`
	Tried     int32            `json:"tried"` // attempts so far
	Outcome   release.Outcome  `json:"outcome,omitempty"`
	Class     release.Class    `json:"class,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Started   time.Time        `json:"started_at,omitzero"`
	Finished  time.Time        `json:"finished_at,omitzero"`
	Delayed   time.Time        `json:"delayed_until,omitzero"`
	Attempts  []Attempt        `json:"attempts,omitempty"`
}

// Ended reports whether nothing more is expected of the task in this round.
func (t Task) Ended() bool { return t.Outcome != "" && t.State != TaskDelayed }

// Attempt is one try of a task.
type Attempt struct {
	Task       release.TaskID      `json:"task"`
	Number     int32               `json:"attempt"`
	Pool       string              `json:"pool,omitempty"`
	Executor   string              `json:"executor,omitempty"`
	Dispatched time.Time           `json:"dispatched_at,omitzero"`
	Why        string              `json:"dispatch_reason,omitempty"`
	Started    time.Time           `json:"started_at,omitzero"`
	Finished   time.Time           `json:"finished_at,omitzero"`
	StopReason string              `json:"stop_reason,omitempty"`
	Outcome    release.Outcome     `json:"outcome,omitempty"`
	Class      release.Class       `json:"class,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	ExitCode   int32               `json:"exit_code"`
	Log        release.Digest      `json:"log,omitempty"`
	LogLines   int64               `json:"log_lines"`
	LastLines  []string            `json:"last_lines,omitempty"`
	Phases     []event.Phase       `json:"phases,omitempty"`
	Tests      release.TestCount   `json:"tests,omitzero"`
	Failures   []event.CaseFailure `json:"failures,omitempty"`
	Metrics    map[string]float64  `json:"metrics,omitempty"`
	Lease      release.Lease       `json:"lease,omitzero"`      // the places that it was given
	KeptUntil  time.Time           `json:"kept_until,omitzero"` // its workspace and places are left for a person until then
}

// Retried reports whether the task succeeded, and not at once: attempts that somebody cancelled count for nothing.
func (t Task) Retried() bool {
	return t.State == string(release.Success) && slices.ContainsFunc(t.Attempts, func(a Attempt) bool {
		return a.Class != "" && a.Outcome != release.Success && a.Class != release.ClassCancelled
	})
}

// Attempt returns an attempt, the last one for 0.
func (t Task) Attempt(n int32) (Attempt, bool) {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if n == 0 || t.Attempts[i].Number == n {
			return t.Attempts[i], true
		}
	}
	return Attempt{}, false
}
