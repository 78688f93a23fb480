package release

// Outcome is how an attempt, a task or a run ended. The words are CDEvents' own.
type Outcome string

// The outcomes. The empty outcome means "not ended".
const (
	Success   Outcome = "success"
	Failure   Outcome = "failure" // the product's fault
	Error     Outcome = "error"   // the platform's fault
	Cancelled Outcome = "cancel"  // somebody's wish
)

// ExitCode is what a command of the CLI exits with for an outcome.
func (o Outcome) ExitCode() int {
	switch o {
	case Success:
		return 0
	case Failure:
		return 1
	case Cancelled:
		return 3
	default:
		return 2
	}
}

// Class is why an attempt ended. Retry policy is per class.
type Class string

// The classes.
const (
	ClassOK           Class = "ok"
	ClassCommand      Class = "command"       // the command exited non-zero
	ClassTimeout      Class = "timeout"       // the command ran longer than it may
	ClassAlert        Class = "alert"         // a measured value crossed its threshold
	ClassPrepare      Class = "prepare"       // the task's own preparation failed
	ClassSetup        Class = "setup"         // the workspace or its inputs could not be set up
	ClassConfig       Class = "config"        // the definition asks for what cannot be
	ClassInfra        Class = "infra"         // the machine, disk, store or network failed
	ClassInfraTimeout Class = "infra_timeout" // the machine or its nodes did not come in time
	ClassLost         Class = "lost"          // the executor vanished
	ClassCancelled    Class = "cancelled"
	ClassUnknown      Class = "unknown" // no readable result: never a success
)

// Classes lists every class.
func Classes() []Class {
	return []Class{
		ClassOK, ClassCommand, ClassTimeout, ClassAlert, ClassPrepare, ClassSetup, ClassConfig,
		ClassInfra, ClassInfraTimeout, ClassLost, ClassCancelled, ClassUnknown,
	}
}

// Outcome says whose fault a class is. A class that nobody knows is an error: missing is not passing.
func (c Class) Outcome() Outcome {
	switch c {
	case ClassOK:
		return Success
	case ClassCommand, ClassTimeout, ClassAlert, ClassPrepare:
		return Failure
	case ClassCancelled:
		return Cancelled
	default:
		return Error
	}
}
