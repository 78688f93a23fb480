package driver

import (
	"sync"
	"time"
)

// Ending is how a process somewhere else is brought to its end: it is asked once, and killed when its grace is over. The
// first cause is the one that is told; who ends it again can only shorten the grace.
type Ending struct {
	Ask  func() // asks the process to end; called in a goroutine of its own
	Kill func() // kills it; the same

	mu     sync.Mutex
	over   bool // the process has ended: no more signals
	cause  error
	due    time.Time
	killer *time.Timer
}

// End begins the end, for a cause.
func (e *Ending) End(cause error, grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := time.Now().Add(grace)
	if e.over || e.cause != nil && !due.Before(e.due) {
		return
	}
	if e.cause == nil {
		e.cause = cause
		if grace > 0 {
			go e.Ask()
		}
	}
	e.due = due
	if e.killer != nil {
		e.killer.Stop()
	}
	e.killer = time.AfterFunc(grace, e.Kill)
}

// Blame notes why a process ended that nobody had ended.
func (e *Ending) Blame(cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause == nil {
		e.cause = cause
	}
}

// Finish forbids further signals and tells who ended it; nil when it ended by itself.
func (e *Ending) Finish() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.killer != nil {
		e.killer.Stop()
	}
	return e.cause
}

// Over reports whether the process has ended.
func (e *Ending) Over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}
