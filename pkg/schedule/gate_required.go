package schedule

import (
	"fmt"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// tested folds what is well into one condition, and gives each required test that is not a condition of its own.
func (r *run) tested() []release.Condition {
	required := r.planned.GateTests
	if len(required) == 0 && r.planned.Untested {
		return []release.Condition{{Name: "tests", Met: true, Final: true, Reason: "none is required, on purpose"}}
	}
	if len(required) == 0 {
		return []release.Condition{{Name: "tests", Final: true, Reason: "the plan requires no test, and what nothing tested is not passed"}}
	}
	if r.hopeless() {
		return []release.Condition{{Name: "tests", Final: true, Reason: "there is no candidate to test"}}
	}
	sum := tally{of: len(required)}
	for _, id := range required {
		sum.add(r.tasks[id], r.testCondition(r.tasks[id]))
	}
	return sum.conditions()
}

// testCondition says of one required test whether it succeeded.
func (r *run) testCondition(t *task) release.Condition {
	c := release.Condition{Name: "test " + string(t.id)}
	switch {
	case t.status == succeeded:
		c.Met, c.Final, c.Reason = true, true, "succeeded"
	case t.status != open:
		v := t.verdict()
		c.Final, c.Reason = true, string(v.outcome)+": "+v.reason
	case !t.known() && r.allTests() && r.candidate() != nil:
		c.Final, c.Reason = true, "it was never requested, and missing is not passing"
	case !t.known():
		c.Reason = "it is not requested yet"
	default:
		c.Reason = "it has not ended"
	}
	return c
}

// tally sums up required tests.
type tally struct {
	of, met, pending, left, moot, retried int
	names, again                          []string
	bad                                   []release.Condition
}

func (y *tally) add(t *task, c release.Condition) {
	switch {
	case c.Met:
		y.met++
		y.addRetried(t)
	case !c.Final:
		y.pending++
		if len(y.names) < 5 {
			y.names = append(y.names, string(t.id))
		}
	case t.culprit().verdict() != nil && t.culprit().verdict().moot:
		y.moot++
	case len(y.bad) < maxListed:
		y.bad = append(y.bad, c)
	default:
		y.left++
	}
}

// addRetried notes a test that did not succeed at once.
func (y *tally) addRetried(t *task) {
	if len(t.stumbles()) == 0 {
		return
	}
	y.retried++
	if len(y.again) < 5 {
		y.again = append(y.again, string(t.id))
	}
}

// some lists the first of many.
func some(names []string, of int) string {
	out := strings.Join(names, ", ")
	if of > len(names) {
		out += ", …"
	}
	return out
}

func (y *tally) conditions() []release.Condition {
	sum := release.Condition{
		Name: "tests", Met: y.met == y.of, Final: y.pending == 0,
		Reason: fmt.Sprintf("%d of %d required tests succeeded", y.met, y.of),
	}
	if y.pending > 0 {
		sum.Reason += fmt.Sprintf("; %d have not ended: %s", y.pending, some(y.names, y.pending))
	}
	if y.retried > 0 {
		sum.Reason += fmt.Sprintf("; %d passed on a retry: %s", y.retried, some(y.again, y.retried))
	}
	if y.moot == 1 {
		sum.Reason += "; 1 was not started after the outcome was decided"
	} else if y.moot > 1 {
		sum.Reason += fmt.Sprintf("; %d were not started after the outcome was decided", y.moot)
	}
	if y.left > 0 {
		sum.Reason += fmt.Sprintf("; %d failures more than are listed", y.left)
	}
	return append([]release.Condition{sum}, y.bad...)
}
