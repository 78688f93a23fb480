package schedule

import (
	"fmt"
	"strconv"
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
	if reason := t.givenUp(a); reason != "" {
		return t.conclude(a.class, reason)
	}
	if reason := t.exhausted(a.n + 1); reason != "" {
		return t.conclude(a.class, fmt.Sprintf("attempt %d ended as %s%s; %s", a.n, a.class, because(a.reason), reason))
	}
	if t.pointless() {
		return t.moots(a.class, fmt.Sprintf("attempt %d ended as %s%s; it is not tried again: ", a.n, a.class, because(a.reason)))
	}
	wait := t.wait(policy, used, a.n)
	return judgement{phase: concluding, attempt: a.n, since: a.finished.at, say: event.TaskDelayed{
		Task: t.id, Attempt: a.n + 1, Until: s.now.plus(wait).time(), Class: a.class,
		Reason: fmt.Sprintf("attempt %d ended as %s%s; retry %d of %d for %s %s",
			a.n, a.class, because(a.reason), used, policy.Limit, a.class, in(wait)),
	}}
}

// stumbles tells how the attempts ended that did not succeed before the one that did: a success on a retry is one, and
// not hidden.
func (t *task) stumbles() []string {
	ok := t.success()
	if ok == nil || ok.n == 1 {
		return nil
	}
	var out []string
	for i := range t.attempts() {
		if a := &t.past.attempts[i]; a.n < ok.n && a.finished.set() && !a.ok() && !a.withdrawn && a.class != release.ClassCancelled {
			out = append(out, fmt.Sprintf("attempt %d ended as %s%s", a.n, a.class, because(a.reason)))
		}
	}
	return out
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

// givenUp is the reason for which it is decided that there is no retry after an attempt. That stands, although what follows
// from it may leave the run with a retry again: otherwise two tasks would hand it to each other for ever.
func (t *task) givenUp(a *attempt) string {
	v, is := t.concluding()
	if is && !v.Moot && v.Attempts == a.n && v.Round == t.run.round() {
		return v.Reason
	}
	return ""
}

// delay notes that an attempt is to be made, not before a moment.
func (s *State) delay(t *task, a *attempt, p event.TaskDelayed, m mark) {
	if a.delayed.set() {
		return
	}
	a.delayed, a.until = m, stampOf(p.Until)
	s.record(t.run, m.seq)
	if w := t.want; w != nil && w.delays && w.same(p) {
		w.settle()
	}
}

// wait is how long the attempt after the n-th, which ended as the policy's class, waits.
func (t *task) wait(policy release.Retry, used, n int32) time.Duration {
	switch policy.Backoff {
	case release.Fixed:
		return max(policy.Wait.Std(), 0)
	case release.Random:
		return t.draw(policy, n)
	default:
		return backoff(policy, used)
	}
}

// draw is a wait out of the policy's range. Each attempt has its own, and always the same.
func (t *task) draw(policy release.Retry, n int32) time.Duration {
	least, most := max(policy.Wait.Std(), 0), policy.Max.Std()
	if most <= least {
		return least
	}
	name := release.Derive("backoff", string(t.run.id), string(t.id), strconv.Itoa(int(n)))
	number, err := strconv.ParseUint(name[:10], 36, 64)
	if err != nil { // a name is made of digits and small letters
		return least
	}
	return (least + time.Duration(number%uint64(most-least))).Round(time.Millisecond)
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
	wait := t.wait(t.policy(before.class), max(t.used(before.class), 1), before.n)
	return min(a.until, max(a.delayed.at, 1).plus(wait))
}

// stepped reports whether the clock was set back by more than an attempt was to wait, since it began to: nobody can tell
// how long that is ago, and it is not made to wait for the clock.
func (s *State) stepped(a *attempt, until stamp) bool {
	return a.delayed.at > s.now && a.delayed.at.since(s.now) > until.since(a.delayed.at)
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
