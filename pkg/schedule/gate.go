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
	if taken := r.taken[r.round()]; len(taken) > 0 {
		out = append(out, release.Condition{Name: "targets", Final: true, Reason: takenReason(taken)})
	}
	if allowed {
		out = append(out, r.entries()...)
	}
	return out
}

// qualities are the conditions that say whether the product is good: builds, candidate, tests. The others say whether it
// may be published.
func (r *run) qualities() []release.Condition {
	return append([]release.Condition{r.built(), r.assembled()}, r.tested()...)
}

// hopeless reports whether there will be no candidate in this round.
func (r *run) hopeless() bool {
	c := r.assembled()
	return c.Final && !c.Met
}

func (r *run) changeKind() release.Condition {
	on := r.planned.GateOn
	if len(on) == 0 {
		on = []release.ChangeKind{release.Push}
	}
	kind := r.planned.Change.Kind
	c := release.Condition{Name: "change", Met: slices.Contains(on, kind), Final: true}
	c.Reason = fmt.Sprintf("it is a %s, and the gate opens on %s only", spoken(kind), kinds(on))
	return c
}

// kinds lists kinds of change in words.
func kinds(list []release.ChangeKind) string {
	out := make([]string, 0, len(list))
	for _, k := range list {
		out = append(out, spoken(k))
	}
	return strings.Join(out, " or ")
}

// spoken is a kind of change as a noun.
func spoken(kind release.ChangeKind) string {
	switch kind {
	case release.PullRequest:
		return "pull request"
	case release.Schedule:
		return "scheduled run"
	case release.Manual:
		return "manual run"
	default:
		return string(kind)
	}
}

func (r *run) approved() release.Condition {
	have, want := r.approvers(), int(r.planned.Release.Approvals)
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
// ended, so that it can give every reason; before that nobody reads its reasons, so they are not made. It closes at once when
// a target has a name of the candidate with other bytes: whatever the tests say, nothing can be published.
func (r *run) judgeGate() event.Payload {
	if taken := r.taken[r.round()]; len(taken) > 0 {
		return event.GateClosed{Round: r.round(), Conditions: r.conditions(), Reason: "targets: " + takenReason(taken)}
	}
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
		settled = settled && (c.Final || ofPeople(c))
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
