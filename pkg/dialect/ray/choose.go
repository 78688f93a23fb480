package ray

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
)

// Jail is what the state store says of a test that was put aside.
type Jail struct {
	Jailed bool
	Issue  int64 // 0: none
	Open   bool  // the issue is
}

// holds reports whether the test is to be left out: somebody still works on it.
func (j Jail) holds() bool { return j.Jailed && j.Issue != 0 && j.Open }

// Request says which tests of a suite to run.
type Request struct {
	Frequency   Frequency // Any is every test, manual ones too; so is the zero value
	PreferSmoke bool      // a test that has a smoke test runs as that
	Filters     Filters
	RunJailed   bool
	RunUnstable bool
	Jail        func(test string) Jail // nil: no test is jailed
	Jailed      map[string]string      // tests that are jailed, with the reason; beside Jail
	RunPerTest  int                    // run each test at least so often
	NoKuberay   bool                   // leave out the tests that run on Kubernetes
}

// Step is one run of a test.
type Step struct {
	Test *Test // as its smoke test when it runs as that
	Run  int   // from 0
	Of   int   // how many runs of the test there are
	Why  string
}

// Selection is what a request selects.
type Selection struct {
	Picked  []*Test // in the order of the suite, as smoke tests where they run as that
	Steps   []Step  // by group, the groups in order of their names
	Skipped []plan.Skipped

	whys map[*Test]string
}

// Select selects tests. That none are left is an error.
func (s *Suite) Select(r Request) (*Selection, error) {
	out := &Selection{whys: map[*Test]string{}}
	for _, t := range s.Tests {
		picked, why := r.pick(t)
		if picked == nil {
			out.Skipped = append(out.Skipped, plan.Skipped{Name: t.Name, Why: why})
			continue
		}
		out.Picked = append(out.Picked, picked)
		out.whys[picked] = why
	}
	if len(out.Picked) == 0 {
		return out, fault.New(fault.Invalid, "Empty test collection. The selected frequency or filter did not return any tests to run. Adjust your filters.")
	}
	if runs := out.runs(r.RunPerTest); runs > maxRuns {
		return out, fault.New(fault.Invalid, "cannot plan %d runs of tests, at most %d are planned; select fewer tests, or lower repeated_run", runs, maxRuns)
	}
	out.steps(r.RunPerTest)
	return out, nil
}

// pick decides about one test, in Ray's order: filters, jail, stability, frequency.
func (r Request) pick(t *Test) (*Test, string) {
	if ok, why := r.Filters.Match(t); !ok {
		return nil, why
	}
	if r.NoKuberay && strings.Contains(t.Name, ".kuberay") {
		return nil, "it runs on Kubernetes, which is left out"
	}
	if why := r.Jailed[t.Name]; why != "" && !r.RunJailed {
		return nil, why
	}
	if r.Jail != nil && !r.RunJailed {
		if j := r.Jail(t.Name); j.holds() {
			return nil, fmt.Sprintf("it is jailed and issue %d is open; --jailed runs it", j.Issue)
		}
	}
	if !t.Stable && !r.RunUnstable {
		return nil, "it is unstable; --unstable runs it"
	}
	return r.byFrequency(t)
}

func (r Request) byFrequency(t *Test) (*Test, string) {
	asked := r.Frequency
	if asked == "" {
		asked = Any
	}
	switch {
	case asked == Any || asked == t.Frequency:
		why := "its frequency is " + string(t.Frequency)
		if asked == Any {
			why = "every frequency is asked for"
		}
		if r.PreferSmoke && t.Smoke != nil {
			return t.Smoke, why + "; its smoke test is preferred"
		}
		return t, why
	case t.Smoke != nil && t.Smoke.Frequency == asked:
		return t.Smoke, "its smoke test's frequency is " + string(asked)
	default:
		return nil, fmt.Sprintf("its frequency is %s, %s is asked for", t.Frequency, asked)
	}
}

// The bounds of what the numbers in test files multiply to.
const (
	maxRepeated = 1_000  // runs of one test
	maxRuns     = 50_000 // runs of all
)

// runs counts the steps before they are made.
func (s *Selection) runs(runPerTest int) (total int64) {
	for _, t := range s.Picked {
		total += int64(max(t.RepeatedRun, runPerTest))
	}
	return total
}

// steps lists the runs: by group, each test as often as it wants or as is asked for.
func (s *Selection) steps(runPerTest int) {
	ordered := slices.Clone(s.Picked)
	slices.SortStableFunc(ordered, func(a, b *Test) int { return strings.Compare(a.Group, b.Group) })
	for _, t := range ordered {
		n := max(t.RepeatedRun, runPerTest)
		for i := range n {
			s.Steps = append(s.Steps, Step{Test: t, Run: i, Of: n, Why: s.whys[t]})
		}
	}
}

// Groups lists the groups of the steps, in order.
func (s *Selection) Groups() []string {
	var out []string
	for _, step := range s.Steps {
		if len(out) == 0 || out[len(out)-1] != step.Test.Group {
			out = append(out, step.Test.Group)
		}
	}
	return out
}

// askFrom is how many tests a person who asks for tests by hand must confirm.
const askFrom = 5

// Confirm returns the question to answer before the tests run: when a person asked for them by filters, and they are many in
// all groups together. It is empty when there is nothing to ask; AUTOMATIC=1 in env never asks.
func (s *Selection) Confirm(manual bool, filters Filters, env map[string]string) string {
	if !manual || len(filters) == 0 || env["AUTOMATIC"] == "1" || len(s.Picked) < askFrom {
		return ""
	}
	return fmt.Sprintf("You are triggering %d tests. Do you want to proceed?", len(s.Picked))
}
