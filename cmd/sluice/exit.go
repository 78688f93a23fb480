package main

import (
	"context"
	"errors"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// The exit codes that scripts rely on. Those of a run are release.Outcome.ExitCode's.
const (
	exitError = 2
	exitUsage = 64
)

// exit carries the code that the process is to exit with. Without a cause nothing is printed: what there is to
// say has been said.
type exit struct {
	code  int
	cause error
}

func (e *exit) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

func (e *exit) Unwrap() error { return e.cause }

// exitWith makes the process exit with a code, after printing err unless it is nil. Code 0 without an error is no error.
func exitWith(code int, err error) error {
	if code == 0 && err == nil {
		return nil
	}
	return &exit{code, err}
}

// exitCode is what the process exits with for what a command returned.
func exitCode(err error) int {
	var known *exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known):
		return known.code
	case errors.Is(err, context.Canceled):
		return release.Cancelled.ExitCode()
	case strings.HasPrefix(err.Error(), "unknown command "):
		return exitUsage // cobra makes this one itself, without a type
	default:
		return exitError
	}
}
