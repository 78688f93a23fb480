package bisect

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Outcome is how one run of the test at a commit ended.
type Outcome string

// The outcomes.
const (
	Running Outcome = "" // it was started
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Infra   Outcome = "infra" // it says nothing about the commit
)

// Run is one run.
type Run struct {
	Commit  string
	Number  int
	Outcome Outcome
}

// Key names the run within the bisection.
func (r Run) Key() string { return r.Commit + "-" + strconv.Itoa(r.Number) }

// Config is what to search, and how.
type Config struct {
	Commits  []string  // oldest first: the first is known to pass, the last to fail
	Parallel int       // commits that are tried at a time
	Runs     int       // of each commit, at least
	FailRate float64   // how often the broken test fails, by its history; 0 means always
	Confirm  int       // runs that must confirm a failure before a commit is blamed
	Sane     bool      // the first and last commit are known: they are not tried
	Deadline time.Time // it gives up
	Budget   int       // runs in all
}

// doubt is the chance that a broken commit passes all its runs which is taken.
const doubt = 0.05

// maxRuns bounds the runs of one commit: a test that fails less often than every tenth time is not for bisecting.
const maxRuns = 30

// Validate refuses what could not end.
func (c Config) Validate() error {
	switch {
	case len(c.Commits) < 2:
		return fault.New(fault.Invalid, "cannot bisect %d commits, expected one that passes and one that fails", len(c.Commits))
	case c.Parallel < 1 || c.Runs < 1 || c.Confirm < 0:
		return fault.New(fault.Invalid, "cannot bisect %d commits at a time with %d runs each, expected at least 1", c.Parallel, c.Runs)
	case c.Deadline.IsZero():
		return fault.New(fault.Invalid, "cannot bisect without a deadline")
	case c.Budget < 1:
		return fault.New(fault.Invalid, "cannot bisect with a budget of %d runs, expected at least 1", c.Budget)
	case math.IsNaN(c.FailRate) || c.FailRate < 0 || c.FailRate > 1:
		return fault.New(fault.Invalid, "cannot bisect a test that fails %g of the time, expected 0 to 1", c.FailRate)
	}
	seen := map[string]bool{}
	for _, commit := range c.Commits {
		if commit == "" || seen[commit] {
			return fault.New(fault.Invalid, "cannot bisect: commit %q is there twice, or empty", commit)
		}
		seen[commit] = true
	}
	return nil
}

// need is how many runs of a commit must pass before it is believed to pass.
func (c Config) need() int {
	if c.FailRate <= 0 || c.FailRate >= 1 {
		return c.Runs
	}
	n := math.Ceil(math.Log(doubt) / math.Log(1-c.FailRate))
	return max(c.Runs, int(min(n, maxRuns)))
}

// Do is what comes next.
type Do string

// The things that can come.
const (
	Start  Do = "start" // Step.Start, and end Step.Stop
	Await  Do = "await" // runs that were started
	Blame  Do = "blame" // Step.Commit
	GiveUp Do = "give up"
)

// Step is a decision.
type Step struct {
	Do      Do
	Start   []Run
	Stop    []Run // runs whose outcome no longer matters
	Commit  string
	Passing string // the newest commit before it that is known to pass
	Failing string // the oldest that is known to fail
	Why     string
}

// Next decides what follows from the runs that there were. Equal runs in any order give an equal decision.
func Next(c Config, runs []Run, now time.Time) Step {
	if err := c.Validate(); err != nil {
		return Step{Do: GiveUp, Why: err.Error()}
	}
	s := search{config: c, tally: map[string]tally{}, used: len(runs), runs: runs}
	for _, r := range runs {
		s.tally[r.Commit] = s.tally[r.Commit].with(r)
	}
	return s.next(now)
}

// next decides in the order: is the question sound, who is it, may we go on, what do we try.
func (s search) next(now time.Time) Step {
	if why := s.insane(); why != "" {
		return Step{Do: GiveUp, Why: why}
	}
	lo, hi := s.span()
	step := Step{Passing: s.config.Commits[lo], Failing: s.config.Commits[hi]}
	sound := s.config.Sane || s.verdict(0) == passes && s.verdict(len(s.config.Commits)-1) == fails
	var want []Run
	switch {
	case !sound:
		want = append(s.want(0), s.want(len(s.config.Commits)-1)...)
	case hi-lo == 1 && s.confirmed(hi):
		step.Do, step.Commit = Blame, step.Failing
		step.Why = fmt.Sprintf("%s passes and %s, the next, fails", step.Passing, step.Failing)
		step.Stop, _ = s.running(hi, hi)
		return step
	case hi-lo == 1:
		want = s.want(hi)
	default:
		for _, i := range between(lo, hi, s.config.Parallel) {
			want = append(want, s.want(i)...)
		}
	}
	if !now.Before(s.config.Deadline) {
		step.Do, step.Why = GiveUp, fmt.Sprintf("the deadline has come; it is after %s, up to %s", step.Passing, step.Failing)
		step.Stop, _ = s.running(hi, hi)
		return step
	}
	if !sound {
		lo = -1 // the first commit is still in question
	}
	return s.spend(step, want, lo, hi)
}

// running tells the runs that have not ended and no longer matter from those about a commit after lo, up to hi, which do.
func (s search) running(lo, hi int) (idle []Run, pending int) {
	for _, r := range s.runs {
		i := s.index(r.Commit)
		switch {
		case r.Outcome != Running:
		case i > lo && i <= hi:
			pending++
		default:
			idle = append(idle, r)
		}
	}
	slices.SortFunc(idle, func(a, b Run) int { return strings.Compare(a.Key(), b.Key()) })
	return idle, pending
}

// spend starts what is wanted, within the budget, once what runs has ended.
func (s search) spend(step Step, want []Run, lo, hi int) Step {
	var pending int
	step.Stop, pending = s.running(lo, hi)
	left := s.config.Budget - s.used
	switch {
	case pending > 0:
		step.Do, step.Why = Await, fmt.Sprintf("%d runs have not ended", pending)
	case left <= 0:
		step.Do, step.Why = GiveUp, fmt.Sprintf("the budget of %d runs is spent; it is after %s, up to %s", s.config.Budget, step.Passing, step.Failing)
	default:
		step.Do, step.Start = Start, want[:min(left, len(want))]
		step.Why = fmt.Sprintf("it is after %s, up to %s: %d commits", step.Passing, step.Failing, hi-max(lo, 0))
	}
	return step
}
