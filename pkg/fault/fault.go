// Package fault has the closed list of error kinds. A kind is given where the meaning of an error is known (at the
// edge: the HTTP status, the exit code, the SQL state); everything in between wraps with %w and adds nothing else.
// One place, bus.settle, turns a kind into what happens to the message that caused it.
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind says what can be done about an error.
type Kind string

// The kinds, from the most to the least hopeful.
const (
	Transient Kind = "transient" // the same call may succeed later: retry with back-off
	Invalid   Kind = "invalid"   // the input can never be handled: dead letter, with the reason
	Conflict  Kind = "conflict"  // somebody else holds the name or won the race: stop, a person decides
	Denied    Kind = "denied"    // not allowed: dead letter, never retried
	Internal  Kind = "internal"  // a bug or an unknown error: retried a few times, then dead letter
)

// Error is an error with a kind.
type Error struct {
	Kind  Kind
	After time.Duration // for Transient: not before this has passed; 0 leaves it to the caller's back-off
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// New makes an error of a kind; the format is fmt.Errorf's and may wrap with %w.
func New(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// As gives err a kind, unless it is nil or has one already.
func As(kind Kind, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Kind: kind, Err: err}
}

// Later makes a Transient error that is to be tried again after d.
func Later(d time.Duration, format string, args ...any) error {
	return &Error{Kind: Transient, After: d, Err: fmt.Errorf(format, args...)}
}

// Of returns the kind of err: its own, Transient for deadlines and cancellations, else Internal. Of(nil) is "".
func Of(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Transient
	default:
		return Internal
	}
}

// Is reports whether err is of the kind.
func Is(err error, kind Kind) bool { return err != nil && Of(err) == kind }

// RetryAfter returns the wait that err asks for, or 0.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}
