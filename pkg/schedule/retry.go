package schedule

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// judgeFinished is the verdict on an attempt that did not succeed: again, or never.
func (s *State) judgeFinished(t *task, a *attempt) judgement {
	if a.class == release.ClassCancelled {
		return t.conclude(a.class, or(a.reason, "attempt %d was cancelled", a.n))
	}
	policy, used := t.policy(a.class), t.used(a.class)
	if used > policy.Limit {
		return t.conclude(a.class, spent(a, policy))
	}
	wait := backoff(policy, used)
	return judgement{phase: concluding, attempt: a.n, since: a.finished.at, say: event.TaskDelayed{
		Task: t.id, Attempt: a.n + 1, Until: s.now.plus(wait).time(), Class: a.class,
		Reason: fmt.Sprintf("attempt %d ended as %s%s; retry %d of %d for %s %s",
			a.n, a.class, because(a.reason), used, policy.Limit, a.class, in(wait)),
	}}
}

// policy is how a class is retried: as the task says, or as the default for a class of which it says nothing.
func (t *task) policy(class release.Class) release.Retry {
	for _, list := range [][]release.Retry{t.spec.retry, release.DefaultRetries()} {
		for _, r := range list {
			if r.Class == class {
				return r
			}
		}
	}
	return release.Retry{Class: class}
}

// used counts the attempts of this round that ended as a class.
func (t *task) used(class release.Class) int32 {
	var n int32
	for i := range t.attempts() {
		if a := &t.past.attempts[i]; a.class == class && t.counts(a) {
			n++
		}
	}
	return n
}

// backoff doubles with each retry of the round, up to the policy's longest.
func backoff(policy release.Retry, used int32) time.Duration {
	wait, longest := max(policy.Wait.Std(), 0), policy.Max.Std()
	if longest <= 0 {
		longest = 24 * time.Hour
	}
	for i := int32(1); i < used && wait < longest; i++ {
		wait *= 2
	}
	return min(wait, longest)
}

// notBefore is when a delayed attempt may be made; zero when nothing delays it. A retry that was asked for since cuts the
// delay short, and so does its own length: a clock that has stepped back since does not make it longer.
func (t *task) notBefore(a *attempt) stamp {
	before := t.find(a.n - 1)
	switch {
	case !a.delayed.set() || a.delayed.seq < t.since:
		return 0
	case before == nil || !before.finished.set() || !t.known():
		return a.until
	}
	wait := backoff(t.policy(before.class), max(t.used(before.class), 1))
	return min(a.until, max(a.delayed.at, 1).plus(wait))
}

func spent(a *attempt, policy release.Retry) string {
	what := fmt.Sprintf("attempt %d ended as %s%s", a.n, a.class, because(a.reason))
	switch {
	case policy.Limit <= 0:
		return what + "; " + string(a.class) + " is not retried"
	case policy.Limit == 1:
		return what + "; the one retry for " + string(a.class) + " is used up"
	default:
		return fmt.Sprintf("%s; all %d retries for %s are used up", what, policy.Limit, a.class)
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func in(wait time.Duration) string {
	if wait == 0 {
		return "at once"
	}
	return "in " + wait.String()
}

func or(reason, otherwise string, args ...any) string {
	if reason != "" {
		return reason
	}
	return fmt.Sprintf(otherwise, args...)
}
