package release

import (
	"encoding/json"
	"fmt"
	"time"
)

// TaskKind says what a task is for.
type TaskKind string

// The kinds of task.
const (
	Build   TaskKind = "build"
	Test    TaskKind = "test"
	Prepare TaskKind = "prepare"
	Cleanup TaskKind = "cleanup"
)

// FetchPool is the pool of the tasks that fetch what somebody else builds. The builder serves it, and no executor: while
// they wait they hold nothing.
const FetchPool = "fetch"

// ExitAbsent is what an attempt ends with that waited for what did not come in time.
const ExitAbsent = 30

// Duration is a time.Duration whose JSON form is protobuf's: seconds, "1.5s".
type Duration time.Duration

// Std is the standard library's form.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes seconds, as protobuf does.
func (d Duration) MarshalJSON() ([]byte, error) {
	s, n := d/Duration(time.Second), d%Duration(time.Second)
	if n == 0 {
		return fmt.Appendf(nil, `"%ds"`, s), nil
	}
	sign := ""
	if d < 0 {
		sign, s, n = "-", -s, -n
	}
	digits := fmt.Sprintf("%09d", n)
	for len(digits) > 3 && digits[len(digits)-3:] == "000" {
		digits = digits[:len(digits)-3]
	}
	return fmt.Appendf(nil, `"%s%d.%ss"`, sign, s, digits), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("cannot read duration %s: expected a string of seconds such as \"1.5s\"", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("cannot read duration %q: expected seconds such as \"1.5s\"", s)
	}
	*d = Duration(v)
	return nil
}

// Retry says how often and how soon an attempt of a class is made again.
type Retry struct {
	Class Class    `json:"class,omitempty"`
	Limit int32    `json:"limit,omitempty"` // attempts beyond the first
	Wait  Duration `json:"wait,omitempty"`  // before the first retry; doubles with each
	Max   Duration `json:"max,omitempty"`   // the longest wait

	Backoff Backoff `json:"backoff,omitempty"` // how the waits follow each other
}

// Backoff says how the waits between retries follow each other.
type Backoff string

// The kinds of back-off. The empty one is Exponential.
const (
	Exponential Backoff = "exponential" // doubles with each, up to Max
	Fixed       Backoff = "fixed"       // always Wait
	Random      Backoff = "random"      // anything from Wait to Max, drawn from the attempt's own name
)

// DefaultRetries is the policy of a task that states none: the platform's faults are tried again, the product's never.
func DefaultRetries() []Retry {
	return []Retry{
		{Class: ClassLost, Limit: 3, Wait: 0, Max: 0},
		{Class: ClassInfra, Limit: 2, Wait: Duration(5 * time.Second), Max: Duration(time.Minute)},
		{Class: ClassInfraTimeout, Limit: 2, Wait: Duration(30 * time.Second), Max: Duration(5 * time.Minute)},
		{Class: ClassSetup, Limit: 1, Wait: Duration(5 * time.Second), Max: Duration(time.Minute)},
	}
}

// Timeouts bound the phases of a task. Zero means no bound of its own.
type Timeouts struct {
	Queue   Duration `json:"queue,omitempty"`   // from requested to started
	Prepare Duration `json:"prepare,omitempty"` // workspace and inputs
	Nodes   Duration `json:"nodes,omitempty"`   // until every node of its lease is ready
	Command Duration `json:"command,omitempty"` // the command itself
	Cleanup Duration `json:"cleanup,omitempty"`

	Disconnect Duration `json:"disconnect,omitempty"` // without a sign of life of its executor, until an attempt counts as lost
}

// TestCount sums up a test report. Missing is not passing: a report that states zero tests is an error.
type TestCount struct {
	Total   int32 `json:"total,omitempty"`
	Failed  int32 `json:"failed,omitempty"` // failures and errors
	Skipped int32 `json:"skipped,omitempty"`
	Flaky   int32 `json:"flaky,omitempty"` // passed after a rerun within the report
}
