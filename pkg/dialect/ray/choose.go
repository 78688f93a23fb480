package ray

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
)

// Request says which tests of a suite to run.
type Request struct {
	Frequency   Frequency // Any is every test, manual ones too; so is the zero value
	NoManual    bool      // where every frequency is asked for: leave out the tests that a person is to ask for
	PreferSmoke bool      // a test that has a smoke test runs as that
	Filters     Filters
	RunJailed   bool
	RunUnstable bool
	Jailed      map[string]string // tests that are jailed now, with the reason
	RunPerTest  int               // run each test at least so often
	NoKuberay   bool              // leave out the tests that run on Kubernetes
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
	Broken  []*Test // that would be picked and cannot run; they are in neither of the others
	Steps   []Step  // by group, the groups in order of their names
	Skipped []plan.Skipped

	whys map[*Test]string
}

// Select selects tests. That none are left is an error, and so is a frequency that neither Ray nor the suite knows.
func (s *Suite) Select(r Request) (*Selection, error) {
	out := &Selection{whys: map[*Test]string{}}
	if err := s.knows(r.Frequency); err != nil {
		return out, err
	}
	m := newMatcher(r.Filters, s.Rules)
	for _, t := range slices.Concat(s.Tests, s.Broken) {
		picked, why, err := r.pick(m, t)
		switch {
		case err != nil:
			return out, err
		case picked == nil:
			out.Skipped = append(out.Skipped, plan.Skipped{Name: t.Name, Why: why})
			continue
		case t.Problem != "":
			out.Broken = append(out.Broken, t)
			continue
		}
		out.Picked = append(out.Picked, picked)
		out.whys[picked] = why
	}
	if len(out.Picked)+len(out.Broken) == 0 {
		return out, fault.New(fault.Invalid, "Empty test collection. The selected frequency or filter did not return any tests to run. Adjust your filters.")
	}
	if runs := out.runs(r.RunPerTest); runs > maxRuns {
		return out, fault.New(fault.Invalid, "cannot plan %d runs of tests, at most %d are planned; select fewer tests, or lower repeated_run", runs, maxRuns)
	}
	out.steps(r.RunPerTest)
	return out, nil
}

// LeftOut is all that does not run, with the reasons: what is not selected, and what is broken.
func (s *Selection) LeftOut() []plan.Skipped {
	out := slices.Clone(s.Skipped)
	for _, t := range s.Broken {
		out = append(out, plan.Skipped{Name: t.Name, Why: "its definition is broken: " + t.Problem})
	}
	return out
}

// WithoutEffect tells what the files say of how tests run, and nothing here does: one line for each value.
func (s *Selection) WithoutEffect() []string {
	var order []string
	tests := map[string]int{}
	for _, t := range s.Picked {
		for _, attr := range []string{"run/type", "cluster/byod/type", "cluster/cluster_env"} {
			v := t.Value(attr)
			if v == nil {
				continue
			}
			line := attr + ": " + cut(pyyaml.Str(v), 60)
			if tests[line]++; tests[line] == 1 {
				order = append(order, line)
			}
		}
	}
	for i, line := range order {
		order[i] = fmt.Sprintf("%s, of %d tests, chooses nothing here: the command runs where the task does; its tags and variables tell it to pools and providers",
			strings.ReplaceAll(line, "/", "."), tests[line])
	}
	return order
}

// knows holds a frequency that is asked for to those that Ray has had, and those of the suite's tests.
func (s *Suite) knows(f Frequency) error {
	if f == "" || knownFrequency(string(f)) {
		return nil
	}
	for _, t := range slices.Concat(s.Tests, s.Broken) {
		if t.Frequency == f || t.Smoke != nil && t.Smoke.Frequency == f {
			return nil
		}
	}
	return unknownFrequency(string(f))
}

// pick decides about one test, in Ray's order: filters, jail, stability, frequency.
func (r Request) pick(m *matcher, t *Test) (*Test, string, error) {
	if r.NoKuberay && t.kuberay() {
		return nil, "it runs on Kubernetes, which is left out", nil
	}
	if ok, why, err := m.match(t); !ok {
		return nil, why, err
	}
	if why := r.Jailed[t.Name]; why != "" && !r.RunJailed {
		return nil, why, nil
	}
	if !t.Stable && !r.RunUnstable {
		return nil, "it is unstable; --unstable runs it", nil
	}
	picked, why := r.byFrequency(t)
	return picked, why, nil
}

func (r Request) byFrequency(t *Test) (*Test, string) {
	asked := r.Frequency
	if asked == "" {
		asked = Any
	}
	switch {
	case asked == Any && r.NoManual && t.Frequency == Manual:
		return nil, "its frequency is manual, and nobody asks for it; the frequency any or manual does"
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
		total += int64(max(t.RepeatedRun, runPerTest, 1))
	}
	return total
}

// steps lists the runs: by group, each test as often as it wants or as is asked for.
func (s *Selection) steps(runPerTest int) {
	ordered := slices.Clone(s.Picked)
	slices.SortStableFunc(ordered, func(a, b *Test) int { return strings.Compare(a.Group, b.Group) })
	for _, t := range ordered {
		n := max(t.RepeatedRun, runPerTest, 1) // what is selected runs
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

// Confirm returns the question to answer before tests run that a person has picked by filters: when they are many in all groups
// together. It is empty when there is nothing to ask; AUTOMATIC=1 in env never asks.
func (s *Selection) Confirm(env map[string]string) string {
	if env["AUTOMATIC"] == "1" || len(s.Picked) < askFrom {
		return ""
	}
	return fmt.Sprintf("You are triggering %d tests. Do you want to proceed?", len(s.Picked))
}
