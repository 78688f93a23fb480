package chart

import (
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// How much is kept of a test. What is older is in the stream.
const (
	maxResults  = 100
	maxMoves    = 100
	maxRounds   = 200 // of a bisection
	firstState  = "passing"
	jailedState = "jailed"
)

// Test is what is known of one test of a project.
type Test struct {
	Key       string // of its facts, and of its page
	Project   string
	Name      string
	State     string    // passing, failing, consistently_failing, flaky, jailed; empty when nothing was judged
	Since     time.Time // of the last move; zero when it never moved
	Until     time.Time // of a jail
	Owner     string
	By        string // the person who moved it last; empty when its results did
	Reason    string // of the last move
	Frequency string
	Stable    bool
	Issue     Issue
	Results   []Result // newest change first
	Moves     []Move   // newest first
	Bisects   []Bisect // newest first
}

// Issue is the forge's about a test.
type Issue struct {
	Number int32
	URL    string
	Open   bool
	Action string // that was done last: opened, updated, reopened, closed, commented
	At     time.Time
	seq    uint64
}

// Result is how a test ended in a round of a run.
type Result struct {
	Run     release.RunID
	Round   int32
	Task    release.TaskID
	Commit  release.Commit
	At      time.Time // of the change
	Outcome release.Outcome
	Class   release.Class
	Reason  string
	seq     uint64
}

// Move is a change of state.
type Move struct {
	Number   int32
	From, To string
	At       time.Time
	Until    time.Time
	Owner    string
	By       string
	Run      release.RunID
	Reason   string
}

// Bisect is a search for the commit that broke a test.
type Bisect struct {
	ID       string
	Good     release.Commit
	Bad      release.Commit
	At       time.Time
	Deadline time.Time
	By       string
	Commits  int // in question
	Started  int // runs
	Rounds   []Round
	Ended    time.Time
	Blamed   release.Commit
	Reason   string
}

// Round is what a bisection started at a time.
type Round struct {
	Number  int32
	At      time.Time
	Runs    []event.BisectRun
	Passing release.Commit
	Failing release.Commit
	Reason  string
}

// State is how a bisection stands, in a word.
func (b Bisect) State() string {
	switch {
	case b.Blamed != "":
		return "blamed"
	case b.Ended.IsZero():
		return "running"
	default:
		return "gave up"
	}
}

// Jailed reports whether the test is left out of plans at a moment.
func (t Test) Jailed(now time.Time) bool {
	return t.State == jailedState && (t.Until.IsZero() || now.Before(t.Until))
}

// Alerts are the results that a suite of thresholds refused.
func (t Test) Alerts() []Result {
	var out []Result
	for _, r := range t.Results {
		if r.Class == release.ClassAlert {
			out = append(out, r)
		}
	}
	return out
}
