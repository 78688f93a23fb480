package wrapper

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Config is the contract with the CI around the wrapper.
type Config struct {
	Attempts  int            // in all, as MAX_RETRIES counts them: 1 leaves every other attempt to the CI
	Again     []outcome.Code // codes after which the wrapper makes another attempt of its own
	RetryMe   outcome.Code   // what a failure ends with that the CI is to try again
	Ask       Ask            // which failures those are
	TimeLimit time.Duration  // a last attempt that took longer is not worth another
	Sleep     Backoff        // before every attempt but the first
}

// Ask says which failures end with RetryMe.
type Ask string

// The failures to be tried again by the CI.
const (
	AskAll      Ask = "all"      // as Ray's wrapper does: within the time limit, every one
	AskPlatform Ask = "platform" // those whose class is an error of the platform
	AskNone     Ask = "none"
)

// Default is Ray's contract: one attempt, 30 to 33 are worth another, and 79 asks the CI for one if the last attempt
// took no longer than three hours.
func Default() Config {
	return Config{
		Attempts: 1, Again: []outcome.Code{30, 31, 32, 33}, RetryMe: outcome.CodeRetryMe, Ask: AskAll,
		TimeLimit: 3 * time.Hour, Sleep: Backoff{Least: 30 * time.Minute, Most: 90 * time.Minute},
	}
}

// Validate refuses a contract that nothing can keep.
func (c Config) Validate() error {
	switch {
	case c.Attempts < 1:
		return fault.New(fault.Invalid, "cannot run %d attempts, expected at least 1", c.Attempts)
	case c.RetryMe < 1 || c.RetryMe > 255:
		return fault.New(fault.Invalid, "cannot ask to be tried again with exit code %d, expected 1 to 255", c.RetryMe)
	case c.Ask != AskAll && c.Ask != AskPlatform && c.Ask != AskNone:
		return fault.New(fault.Invalid, "cannot ask for %q, expected %s, %s or %s", c.Ask, AskAll, AskPlatform, AskNone)
	case c.Sleep.Least < 0 || c.Sleep.Most < c.Sleep.Least:
		return fault.New(fault.Invalid, "cannot wait from %s to %s, expected a span of time", c.Sleep.Least, c.Sleep.Most)
	}
	for _, code := range c.Again {
		if code < 1 || code > 255 {
			return fault.New(fault.Invalid, "cannot try again after exit code %d, expected 1 to 255", code)
		}
	}
	return nil
}

// Attempt is one that ended.
type Attempt struct {
	Code   outcome.Code  // 128 and the signal's number when a signal ended it
	Took   time.Duration //
	Signal int           // that ended it, 0 if it exited
}

// State is what has happened. The zero state is the beginning.
type State struct {
	Attempts []Attempt
	Signal   int // that the wrapper itself was sent: somebody cancelled; 0 when nobody did
}

// Step is what to do next.
type Step struct {
	Do      string        // Run, Wait or Exit
	Attempt int           // Run, Wait: the number of the attempt, from 1
	Wait    time.Duration // Wait: how long
	Code    outcome.Code  // Exit
	Class   release.Class // Exit: the cause, whatever the code asks for
	Why     string
}

// The things to do.
const (
	Run  = "run"
	Wait = "wait"
	Exit = "exit"
)

// Next decides. A wait is decided once: with waited set, the attempt that it was for comes now.
func Next(c Config, s State, seed uint64, waited bool) Step {
	n := len(s.Attempts)
	switch {
	case s.Signal != 0:
		return Step{
			Do: Exit, Code: outcome.Code(128 + s.Signal), Class: release.ClassCancelled,
			Why: fmt.Sprintf("cancelled by signal %d; a cancelled run does not ask to be tried again", s.Signal),
		}
	case n == 0:
		return Step{Do: Run, Attempt: 1, Why: "the first attempt"}
	}
	last := s.Attempts[n-1]
	switch {
	case last.Code == outcome.CodeSuccess:
		return Step{Do: Exit, Class: release.ClassOK, Why: fmt.Sprintf("attempt %d succeeded", n)}
	case n >= c.Attempts || !slices.Contains(c.Again, last.Code):
		return c.end(n, last)
	case waited:
		return Step{Do: Run, Attempt: n + 1, Why: c.again(n, last)}
	default:
		return Step{Do: Wait, Attempt: n + 1, Wait: c.Sleep.Draw(seed, n), Why: c.again(n, last)}
	}
}

func (c Config) again(n int, last Attempt) string {
	return fmt.Sprintf("attempt %d of %d ended with %s", n, c.Attempts, last)
}

// end is the exit after a last attempt that failed.
func (c Config) end(n int, last Attempt) Step {
	step := Step{Do: Exit, Code: last.Code, Class: outcome.Of(last.Code).Class}
	why := fmt.Sprintf("attempt %d ended with %s", n, last)
	switch {
	case last.Took > c.TimeLimit:
		step.Why = fmt.Sprintf("%s after %s: more than %s is not worth another try", why, last.Took.Round(time.Second), c.TimeLimit)
	case c.Ask == AskNone, c.Ask == AskPlatform && !askable(step.Class):
		step.Why = why
	default:
		step.Code, step.Why = c.RetryMe, fmt.Sprintf("%s; %d asks the CI for one more try", why, c.RetryMe)
	}
	return step
}

// askable reports whether a cause may pass by itself.
func askable(class release.Class) bool {
	switch class {
	case release.ClassInfra, release.ClassInfraTimeout, release.ClassSetup:
		return true
	default:
		return false
	}
}

// String names the end of an attempt and its own reason.
func (a Attempt) String() string {
	if a.Signal != 0 {
		return fmt.Sprintf("signal %d", a.Signal)
	}
	return fmt.Sprintf("exit code %d (%s)", a.Code, outcome.Reason(a.Code))
}

// Advice is what the last line tells the release manager.
func (s Step) Advice() string {
	switch {
	case s.Class == release.ClassOK:
		return "passed"
	case s.Class == release.ClassCancelled:
		return "cancelled; start it again when you want its result"
	case askable(s.Class):
		return "likely the infrastructure; restart it"
	default:
		return "review the logs"
	}
}
