package event

import (
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// TaskRequested asks for a task: all that scheduling it needs. What it does stands in the plan.
type TaskRequested struct {
	Task      release.TaskID     `json:"task,omitempty"`
	Name      string             `json:"name,omitempty"`
	Job       string             `json:"job,omitempty"`
	Kind      release.TaskKind   `json:"kind,omitempty"`
	Pool      string             `json:"pool,omitempty"`
	Plan      release.Digest     `json:"plan,omitempty"` // blob
	Needs     []release.TaskID   `json:"needs,omitempty"`
	Priority  int32              `json:"priority,omitempty"` // higher goes first
	Timeouts  release.Timeouts   `json:"timeouts,omitzero"`
	Retry     []release.Retry    `json:"retry,omitempty"`
	SoftFail  bool               `json:"softFail,omitempty"` // its failure fails nothing else
	Resources map[string]float64 `json:"resources,omitempty"`
	Owner     string             `json:"owner,omitempty"`

	Group      string               `json:"group,omitempty"`      // concurrency group: attempts in it at once are limited
	GroupLimit int32                `json:"groupLimit,omitempty"` // as the definition says; a limit that was set since counts
	Lease      release.LeaseRequest `json:"lease,omitzero"`

	Trust release.Trust `json:"trust,omitempty"` // of the change; empty is untrusted

	Environment string `json:"environment,omitempty"` // that the plan puts it in, protected or not
}

// TaskDispatched gives an attempt to a pool. The pool is the first token of its key, so that each pool has a consumer.
type TaskDispatched struct {
	Task     release.TaskID   `json:"task,omitempty"`
	Attempt  int32            `json:"attempt,omitempty"` // from 1
	Pool     string           `json:"pool,omitempty"`
	Plan     release.Digest   `json:"plan,omitempty"`
	Timeouts release.Timeouts `json:"timeouts,omitzero"`
	Inputs   []Produced       `json:"inputs,omitempty"` // artifacts of the tasks that it needs
	Reason   string           `json:"reason,omitempty"`
	Lease    release.Lease    `json:"lease,omitzero"`     // the places that it may use
	Measured []string         `json:"measured,omitempty"` // variants that earlier attempts have measured

	Environment string `json:"environment,omitempty"` // the protected one that the run was let into; empty for none

	InputsIn release.Digest `json:"inputsIn,omitempty"` // blob of Inputs, as JSON, where they are too many for a message
	Given    string         `json:"given,omitempty"`    // with InputsIn: their fingerprint, 16 hexadecimal digits
}

// Produced are the artifacts that a task left.
type Produced struct {
	Task      release.TaskID     `json:"task,omitempty"`
	Artifacts []release.Artifact `json:"artifacts,omitempty"`
}

// TaskAwaited says that what an attempt is to fetch is not there yet. It is said now and then while the wait goes on, for
// people: nothing follows from it.
type TaskAwaited struct {
	Task    release.TaskID `json:"task,omitempty"`
	Attempt int32          `json:"attempt,omitempty"`
	Asked   int32          `json:"asked,omitempty"`  // how often
	Answer  string         `json:"answer,omitempty"` // the last: "404 Not Found"
	Next    time.Time      `json:"next,omitzero"`    // it is asked again
	Until   time.Time      `json:"until,omitzero"`   // when the wait is given up
}

// TaskStarted says that an executor has claimed an attempt. The stream keeps one of each pool: the executor of the pool
// that said it first runs it. What a pool says counts only for attempts that were given to it (see SaidByPool). The
// scheduler claims the place of an attempt that it ends before anybody has started it: then nobody ever will.
type TaskStarted struct {
	Task     release.TaskID `json:"task,omitempty"`
	Attempt  int32          `json:"attempt,omitempty"`
	Pool     string         `json:"pool,omitempty"`
	Executor string         `json:"executor,omitempty"` // instance
	Refused  string         `json:"refused,omitempty"`  // why nobody may start it; it is not running then
	Class    release.Class  `json:"class,omitempty"`    // with Refused: what it ends as; none when its task ends with it

	Withdrawn bool `json:"withdrawn,omitempty"` // with Refused: the next attempt is no retry
}

// TaskFinished says how an attempt ended. The stream keeps one per attempt: a late result of an executor that was
// declared lost is refused.
type TaskFinished struct {
	Task      release.TaskID     `json:"task,omitempty"`
	Attempt   int32              `json:"attempt,omitempty"`
	Pool      string             `json:"pool,omitempty"`
	Executor  string             `json:"executor,omitempty"`
	Outcome   release.Outcome    `json:"outcome,omitempty"`
	Class     release.Class      `json:"class,omitempty"`
	Reason    string             `json:"reason,omitempty"`
	ExitCode  int32              `json:"exitCode,omitempty"`
	Artifacts []release.Artifact `json:"artifacts,omitempty"`
	Tests     release.TestCount  `json:"tests,omitzero"`
	Failures  []CaseFailure      `json:"failures,omitempty"` // the first of the failed test cases
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	Log       release.Digest     `json:"log,omitempty"` // blob, zstd; empty when nothing was printed
	LogLines  int64              `json:"logLines,omitempty,string"`
	LastLines []string           `json:"lastLines,omitempty"` // of the log; fewer when the attempt succeeded
	Phases    []Phase            `json:"phases,omitempty"`
	Measured  []string           `json:"measured,omitempty"` // variants that succeeded, those of earlier attempts too
	Unclean   string             `json:"unclean,omitempty"`  // why its places are not clean; empty when they are
	KeptUntil time.Time          `json:"keptUntil,omitzero"` // its workspace and places are left for a person until then
	Files     release.Digest     `json:"files,omitempty"`    // blob, tar: what it left in $SLUICE_ARTIFACTS, whatever its outcome

	Withdrawn bool `json:"withdrawn,omitempty"` // by the scheduler, before it was started: the next attempt is no retry
}

// Succeeded reports whether an attempt was a success: outcome and class must both say so.
func (t TaskFinished) Succeeded() bool {
	return t.Outcome == release.Success && t.Class == release.ClassOK
}

// Phase is the time that one phase of an attempt took: prepare, command, collect, cleanup.
type Phase struct {
	Name  string           `json:"name,omitempty"`
	Start time.Time        `json:"start,omitzero"`
	Took  release.Duration `json:"took,omitempty"`
}

// CaseFailure is one failed test case.
type CaseFailure struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
}

// TaskDelayed says that an attempt will be made again, not before Until: the verdict on the attempt before.
type TaskDelayed struct {
	Task    release.TaskID `json:"task,omitempty"`
	Attempt int32          `json:"attempt,omitempty"` // the next one
	Until   time.Time      `json:"until,omitzero"`
	Class   release.Class  `json:"class,omitempty"` // of the attempt before
	Reason  string         `json:"reason,omitempty"`
}

// TaskConcluded says that a task will not succeed: given up after its attempts, skipped since what it needs failed, or
// cancelled. Success needs no verdict: a finished attempt of class ok is the end of its task.
type TaskConcluded struct {
	Task     release.TaskID  `json:"task,omitempty"`
	Attempts int32           `json:"attempts,omitempty"` // made so far
	Round    int32           `json:"round,omitempty"`
	Outcome  release.Outcome `json:"outcome,omitempty"`
	Class    release.Class   `json:"class,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Moot     bool            `json:"moot,omitempty"` // the run had failed: whatever it did would not have changed that
}

// TaskCancelRequested tells the executor that holds an attempt to stop it. The pool is the first token of its key, so that
// each pool hears its own.
type TaskCancelRequested struct {
	Task    release.TaskID `json:"task,omitempty"`
	Attempt int32          `json:"attempt,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Pool    string         `json:"pool,omitempty"`
}

// EventType, Key: see Payload.
func (TaskRequested) EventType() Type { return TypeTaskRequested }
func (t TaskRequested) Key() string   { return string(t.Task) }

func (TaskDispatched) EventType() Type { return TypeTaskDispatched }
func (t TaskDispatched) Key() string   { return t.Pool + "." + attempt(t.Task, t.Attempt) }

func (TaskAwaited) EventType() Type { return TypeTaskAwaited }
func (t TaskAwaited) Key() string   { return attempt(t.Task, t.Attempt) + "." + number(t.Asked) }

func (TaskStarted) EventType() Type { return TypeTaskStarted }
func (t TaskStarted) Key() string   { return t.Pool + "." + attempt(t.Task, t.Attempt) }

func (TaskFinished) EventType() Type { return TypeTaskFinished }
func (t TaskFinished) Key() string   { return t.Pool + "." + attempt(t.Task, t.Attempt) }

func (TaskDelayed) EventType() Type { return TypeTaskDelayed }
func (t TaskDelayed) Key() string   { return attempt(t.Task, t.Attempt) }

func (TaskConcluded) EventType() Type { return TypeTaskConcluded }
func (t TaskConcluded) Key() string   { return attempt(t.Task, t.Attempts) + "." + number(t.Round) }

func (TaskCancelRequested) EventType() Type { return TypeTaskCancelRequested }
func (t TaskCancelRequested) Key() string   { return t.Pool + "." + attempt(t.Task, t.Attempt) }

func attempt(task release.TaskID, n int32) string { return string(task) + "." + number(n) }

func number(n int32) string { return strconv.Itoa(int(n)) }
