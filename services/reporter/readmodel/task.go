package readmodel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

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

// Waits reports whether the task was asked for, and no attempt of it runs.
func (t Task) Waits() bool {
	return t.State == TaskQueued || t.State == TaskDelayed || t.State == TaskWaiting
}

// Ended reports whether the task's last attempt ended, and no other is expected as far as its facts say.
func (t Task) Ended() bool { return t.Outcome != "" && t.State != TaskDelayed }

// Retried reports whether the task succeeded, and not at once.
func (t Task) Retried() bool { return len(t.stumbles()) > 0 }

// stumbles tells how the attempts ended before the one that succeeded: "attempt 1 ended as command (exit status 1)".
func (t Task) stumbles() []string {
	var out []string
	for _, a := range t.Attempts {
		switch {
		case a.Outcome == release.Success && t.State == string(release.Success):
			return out
		case a.Class != "" && a.Class != release.ClassCancelled && a.Reason != "":
			out = append(out, fmt.Sprintf("attempt %d ended as %s (%s)", a.Number, a.Class, a.Reason))
		case a.Class != "" && a.Class != release.ClassCancelled:
			out = append(out, fmt.Sprintf("attempt %d ended as %s", a.Number, a.Class))
		}
	}
	return nil
}

// Stumbled is that as one text, "" for a success at once.
func (t Task) Stumbled() string { return strings.Join(t.stumbles(), "; ") }

// Attempt returns an attempt, the last one for 0.
func (t Task) Attempt(n int32) (Attempt, bool) {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if n == 0 || t.Attempts[i].Number == n {
			return t.Attempts[i], true
		}
	}
	return Attempt{}, false
}

const taskColumns = "task, born, name, job, kind, pool, needs, priority, soft_fail, requested_at, state, attempts, outcome," +
	" class, reason, started_at, finished_at, delayed_until"

func scanTask(t *Task) []any {
	return []any{
		&t.ID, opt(&t.Born), opt(&t.Name), opt(&t.Job), opt(&t.Kind), opt(&t.Pool), decoded(&t.Needs), opt(&t.Priority),
		opt(&t.SoftFail), moment(&t.Requested), opt(&t.State), opt(&t.Tried), opt(&t.Outcome), opt(&t.Class), opt(&t.Reason),
		moment(&t.Started), moment(&t.Finished), moment(&t.Delayed),
	}
}

const attemptColumns = "task, attempt, pool, executor, dispatched_at, dispatch_reason, started_at, finished_at, stop_reason," +
	" outcome, class, reason, exit_code, log, log_lines, last_lines, phases, tests_total, tests_failed, tests_skipped," +
	" tests_flaky, failures, metrics, lease, kept_until"

func scanAttempt(a *Attempt) []any {
	return []any{
		&a.Task, &a.Number, opt(&a.Pool), opt(&a.Executor), moment(&a.Dispatched), opt(&a.Why), moment(&a.Started),
		moment(&a.Finished), opt(&a.StopReason), opt(&a.Outcome), opt(&a.Class), opt(&a.Reason), opt(&a.ExitCode),
		opt(&a.Log), opt(&a.LogLines), decoded(&a.LastLines), decoded(&a.Phases), opt(&a.Tests.Total), opt(&a.Tests.Failed),
		opt(&a.Tests.Skipped), opt(&a.Tests.Flaky), decoded(&a.Failures), decoded(&a.Metrics),
		decoded(&a.Lease), moment(&a.KeptUntil),
	}
}

// Tasks lists the tasks of a run that were requested, in that order, with their attempts, born after a place in the
// stream. next is the after of the next page, 0 when there is none.
func (m *Model) Tasks(ctx context.Context, run release.RunID, after uint64, limit int) (tasks []Task, next uint64, err error) {
	tasks, err = collect(ctx, m,
		"SELECT "+taskColumns+" FROM tasks WHERE run = ? AND born > ? ORDER BY born LIMIT ?",
		[]any{string(run), int64(after), limit + 1}, scanTask)
	if err != nil {
		return nil, 0, err
	}
	if len(tasks) > limit {
		tasks, next = tasks[:limit], tasks[limit-1].Born
	}
	attempts, err := collect(ctx, m,
		"SELECT "+attemptColumns+" FROM attempts WHERE run = ? ORDER BY task, attempt", []any{string(run)}, scanAttempt)
	if err != nil {
		return nil, 0, err
	}
	attach(tasks, attempts)
	return tasks, next, nil
}

func attach(tasks []Task, attempts []Attempt) {
	at := make(map[release.TaskID]int, len(tasks))
	for i, t := range tasks {
		at[t.ID] = i
	}
	for _, a := range attempts {
		if i, ok := at[a.Task]; ok {
			tasks[i].Attempts = append(tasks[i].Attempts, a)
		}
	}
}

// Task returns one task with its attempts.
func (m *Model) Task(ctx context.Context, run release.RunID, id release.TaskID) (task Task, found bool, err error) {
	args := []any{string(run), string(id)}
	tasks, err := collect(ctx, m, "SELECT "+taskColumns+" FROM tasks WHERE run = ? AND task = ?", args, scanTask)
	if err != nil || len(tasks) == 0 {
		return Task{}, false, err
	}
	tasks[0].Attempts, err = collect(ctx, m,
		"SELECT "+attemptColumns+" FROM attempts WHERE run = ? AND task = ? ORDER BY attempt", args, scanAttempt)
	return tasks[0], true, err
}
