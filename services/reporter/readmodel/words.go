package readmodel

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

// Tone is how good a line of the timeline is.
type Tone string

// The tones.
const (
	Good  Tone = "good"
	Bad   Tone = "bad"
	Warn  Tone = "warn"
	Plain Tone = "plain"
)
