package outcome

import (
	"errors"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Error is an error that Ray has an exception for, and with it an exit code.
type Error struct {
	Exception string
	cause     error
}

func (e *Error) Error() string { return e.cause.Error() }
func (e *Error) Unwrap() error { return e.cause }

// Row is the code, status and class of the error.
func (e *Error) Row() Row { return OfException(e.Exception) }

// Raise makes an error of an exception. Its kind is what can be done about its class.
func Raise(exception, format string, args ...any) error {
	return &Error{Exception: exception, cause: fault.New(kindOf(OfException(exception).Class), format, args...)}
}

func kindOf(class release.Class) fault.Kind {
	switch class {
	case release.ClassInfra, release.ClassInfraTimeout, release.ClassSetup, release.ClassLost:
		return fault.Transient
	case release.ClassUnknown:
		return fault.Internal
	default:
		return fault.Invalid
	}
}

// CodeOf is the exit code of an error, before or within a test: 0 of none, 3 of one that is no exception of Ray's. A
// test that does not exist is code 10 and an environment that does not, 11, where Ray's own tooling says 1 and 2.
func CodeOf(err error) Code {
	var known *Error
	switch {
	case err == nil:
		return CodeSuccess
	case errors.As(err, &known):
		return known.Row().Code
	default:
		return CodeUnknown
	}
}
