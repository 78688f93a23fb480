package git

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/sluiceci/sluice/pkg/fault"
)

// wrap says what could not be done and keeps the kind of err.
func wrap(err error, format string, args ...any) error {
	return &fault.Error{Kind: fault.Of(err), After: fault.RetryAfter(err), Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)}
}

// exitCode is what git ended with, or -1 when it did not run to its end.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
