package health

import (
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// State is how a test is.
type State string

// The states.
const (
	Passing             State = "passing" // where a test begins
	Failing             State = "failing"
	ConsistentlyFailing State = "consistently_failing"
	Flaky               State = "flaky"
	Jailed              State = "jailed"
)

// Variant is which rules move a test: those of release tests, which run once a day and are dear, or those of the tests
// of every build.
type Variant string

// The variants.
const (
	ReleaseTest Variant = "release"
	CITest      Variant = "ci"
)

// Result is one result of a test.
type Result struct {
	Status outcome.Status
	Commit string
	At     time.Time
}

func (r Result) passed() bool { return r.Status == outcome.StatusSuccess }

// Issue is the issue about a test.
type Issue struct {
	Number int // 0 when there is none
	Open   bool
	Labels []string
}

// Test is what is known of a test beside its results.
type Test struct {
	Name    string
	Team    string
	Stable  bool
	State   State // "" is Passing
	Issue   Issue
	Blamed  string // the commit that a bisection found
	Policy  Policy
	Jail    *Jail
	Variant Variant
}

// Policy is what a team says about a test of its own.
type Policy struct {
	NeverJail bool // it is too dear to lose: it stays consistently failing and goes on to block
}

// Jail is why a test is not run, until when, and who is to repair it.
type Jail struct {
	Owner  string
	Since  time.Time
	Until  time.Time // from then on it is run again, to see
	Reason string
}

// Due reports whether a jailed test is to be run again.
func (j Jail) Due(now time.Time) bool { return !now.Before(j.Until) }

const (
	jailTime      = 14 * 24 * time.Hour
	releaseWindow = 10   // newest results of a release test
	ciWindow      = 30   // newest results of a CI test
	unflakeAfter  = 10   // passes in a row
	flakyAfter    = 3    // failures in a row of a CI test that fails consistently
	flakyRate     = 0.07 // of transitions from pass to fail among the results
	labelJailed   = "jailed-test"
)
