package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxListed is how many failures, or waits, conditions name one by one.
const maxListed = 200

// conditions are what the gate demands of this round, each with whether it is met and whether that can still change. It
// is the one place that decides about the gate; Explain asks it too.
func (r *run) conditions() []release.Condition {
	out := r.qualities()
	change := r.planned.Change
	out = append(out, r.changeKind())
	allowed, why := r.planned.Release.Allows(change)
	out = append(out,
		release.Condition{Name: "policy", Met: allowed, Final: true, Reason: why},
		r.approved(),
		r.notHeld(),
	)
	return out
}

// qualities are the conditions that say whether the product is good: builds, candidate, tests. The others say whether it
// may be published.
func (r *run) qualities() []release.Condition {
	return append([]release.Condition{r.built(), r.assembled()}, r.tested()...)
}

func (r *run) built() release.Condition {
	c := release.Condition{Name: "builds"}
	switch {
	case r.counts.badBuilds > 0 && r.buildsOver():
		c.Final, c.Reason = true, "these builds did not succeed: "+strings.Join(r.badBuilds(), "; ")
	case !r.allBuilds():
		c.Reason = fmt.Sprintf("%d of %d builds have been requested", r.counts.builds, r.planned.Builds)
	case !r.buildsOver():
		c.Reason = fmt.Sprintf("%d of %d builds have not ended: %s", r.counts.openBuilds, r.counts.builds, r.openBuilds())
	default:
		c.Met, c.Final, c.Reason = true, true, fmt.Sprintf("%d builds succeeded", r.counts.builds)
	}
	return c
}

func (r *run) buildsOver() bool { return r.allBuilds() && r.counts.openBuilds == 0 }

func (r *run) badBuilds() []string {
	return r.name(func(t *task) bool { return t.build() && t.status == failed && t.culprit() == t }, func(t *task) string {
		return string(t.id) + ": " + t.verdict().reason
	})
}

func (r *run) openBuilds() string {
	return strings.Join(r.name(func(t *task) bool { return t.build() && t.status == open }, func(t *task) string {
		return string(t.id)
	}), ", ")
}

func (t *task) build() bool { return t.known() && !AfterCandidate(t.spec.kind) }

// name lists the first tasks that are so.
func (r *run) name(so func(*task) bool, as func(*task) string) []string {
	const most = 20
	var out []string
	for _, t := range r.list {
		if !so(t) {
			continue
		}
		if len(out) == most {
			return append(out, "…")
		}
		out = append(out, as(t))
	}
	slices.Sort(out)
	return out
}

func (r *run) assembled() release.Condition {
	c := release.Condition{Name: "candidate"}
	reasons, refused := r.refusals[r.round()]
	switch found := r.candidate(); {
	case found != nil:
		c.Met, c.Final = true, true
		c.Reason = fmt.Sprintf("%d artifacts, every stamp verified: %s", found.Artifacts, found.Candidate)
	case refused:
		c.Final, c.Reason = true, or(joined(reasons), "the builder rejected it")
	case r.counts.badBuilds > 0 && r.buildsOver():
		c.Final, c.Reason = true, "the builds give none"
	case r.empty():
		c.Final, c.Reason = true, "the plan has no task"
	default:
		c.Reason = "it is not assembled yet"
	}
	return c
}

func (r *run) empty() bool {
	return r.planned.Builds == 0 && r.planned.Tests == 0 && r.counts.known == 0
}

// hopeless reports whether there will be no candidate in this round.
func (r *run) hopeless() bool {
	c := r.assembled()
	return c.Final && !c.Met
}

// tested folds what is well into one condition, and gives each required test that is not a condition of its own.
func (r *run) tested() []release.Condition {
	required := r.planned.GateTests
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
	of, met, pending, left int
	names                  []string
	bad                    []release.Condition
}

func (y *tally) add(t *task, c release.Condition) {
	switch {
	case c.Met:
		y.met++
	case !c.Final:
		y.pending++
		if len(y.names) < 5 {
			y.names = append(y.names, string(t.id))
		}
	case len(y.bad) < maxListed:
		y.bad = append(y.bad, c)
	default:
		y.left++
	}
}

func (y *tally) conditions() []release.Condition {
	sum := release.Condition{
		Name: "tests", Met: y.met == y.of, Final: y.pending == 0,
		Reason: fmt.Sprintf("%d of %d required tests succeeded", y.met, y.of),
	}
	if y.pending > 0 {
		sum.Reason += fmt.Sprintf("; %d have not ended: %s", y.pending, strings.Join(y.names, ", "))
		if y.pending > len(y.names) {
			sum.Reason += ", …"
		}
	}
	if y.left > 0 {
		sum.Reason += fmt.Sprintf("; %d failures more than are listed", y.left)
	}
	return append([]release.Condition{sum}, y.bad...)
}

func (r *run) changeKind() release.Condition {
	on := r.planned.GateOn
	if len(on) == 0 {
		on = []release.ChangeKind{release.Push}
	}
	kind := r.planned.Change.Kind
	c := release.Condition{Name: "change", Met: slices.Contains(on, kind), Final: true}
	c.Reason = fmt.Sprintf("it is a %s, and the gate opens on %v", kind, on)
	return c
}

func (r *run) approved() release.Condition {
	have, want := len(r.approvals), int(r.planned.Release.Approvals)
	c := release.Condition{Name: "approvals", Met: have >= want, Reason: fmt.Sprintf("%d of %d people have approved", have, want)}
	c.Final = c.Met
	if want == 0 {
		c.Reason = "none is needed"
	}
	return c
}

func (r *run) notHeld() release.Condition {
	if !r.held() {
		return release.Condition{Name: "hold", Met: true, Reason: "nobody holds it"}
	}
	return release.Condition{Name: "hold", Reason: "held by " + or(r.hold.by, "somebody") + because(r.hold.reason)}
}

// judgeGate opens or closes the gate, or waits. It closes once everything that says whether the product is good has
// ended, so that it can give every reason; before that nobody reads its reasons, so they are not made.
func (r *run) judgeGate() event.Payload {
	if !r.buildsOver() || r.counts.openTests > 0 && !r.allTests() && !r.hopeless() {
		return nil
	}
	all := r.conditions()
	missed, final, settled := []string{}, false, true
	for _, c := range all {
		if c.Met {
			continue
		}
		missed = append(missed, c.Name+": "+c.Reason)
		final = final || c.Final
		settled = settled && (c.Final || c.Name == "approvals" || c.Name == "hold")
	}
	switch {
	case len(missed) == 0:
		found := r.candidate()
		return event.GateOpened{
			Round: r.round(), Candidate: found.Candidate, Blob: found.Blob, Plan: found.Plan, Conditions: all,
		}
	case final && settled:
		return event.GateClosed{Round: r.round(), Conditions: all, Reason: clip(strings.Join(missed, "; "))}
	default:
		return nil
	}
}
