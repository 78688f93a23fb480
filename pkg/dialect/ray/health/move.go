package health

import "slices"

// history answers questions about results, newest first.
type history []Result

// failing reports whether the newest n results are all failures.
func (h history) failing(n int) bool {
	return len(h) >= n && !slices.ContainsFunc(h[:n], Result.passed)
}

// passing reports whether the newest n results are all successes.
func (h history) passing(n int) bool {
	return len(h) >= n && !slices.ContainsFunc(h[:n], func(r Result) bool { return !r.passed() })
}

// flaky reports whether the results turn from pass to fail too often, unless the newest have all passed.
func (h history) flaky() bool {
	if h.passing(unflakeAfter) || len(h) == 0 {
		return false
	}
	turns := 0
	for i := 1; i < len(h); i++ {
		if !h[i-1].passed() && h[i].passed() {
			turns++
		}
	}
	return float64(turns) >= flakyRate*float64(len(h)) && turns > 0
}

// move is one rule: from a state to another, when.
type move struct {
	from, to State
	when     func(h history, t Test) bool
}

func passes(h history, _ Test) bool { return h.passing(1) }

// moves lists the rules of a variant; the first that holds is taken. A failure of the infrastructure is a failure here:
// the test was not seen to pass.
func moves(v Variant) []move {
	if v == CITest {
		return ciMoves()
	}
	return []move{
		{Passing, ConsistentlyFailing, consistently},
		{Passing, Failing, failsOnce},
		{Failing, ConsistentlyFailing, consistently},
		{Failing, Passing, passes},
		{ConsistentlyFailing, Jailed, func(h history, t Test) bool { return h.failing(3) && !t.Policy.NeverJail }},
		{ConsistentlyFailing, Passing, passes},
		{Jailed, Passing, passes},
	}
}

func ciMoves() []move {
	return []move{
		{Passing, ConsistentlyFailing, consistently},
		{Passing, Failing, failsOnce},
		{Passing, Flaky, func(h history, _ Test) bool { return h.flaky() }},
		{Failing, ConsistentlyFailing, consistently},
		{Failing, Passing, passes},
		{ConsistentlyFailing, Flaky, func(h history, _ Test) bool { return h.failing(flakyAfter) }},
		{ConsistentlyFailing, Passing, passes},
		{Flaky, Passing, func(h history, _ Test) bool { return h.passing(unflakeAfter) }},
		{Flaky, Jailed, func(_ history, t Test) bool {
			return slices.Contains(t.Issue.Labels, labelJailed) && !t.Policy.NeverJail
		}},
		{Jailed, Passing, passes},
	}
}

func failsOnce(h history, _ Test) bool { return h.failing(1) }

// consistently reports whether a test fails twice in a row, or once when it is known which commit broke it.
func consistently(h history, t Test) bool {
	return h.failing(2) || h.failing(1) && t.Blamed != ""
}

// window is the part of the results that counts.
func window(v Variant, results []Result) history {
	n := releaseWindow
	if v == CITest {
		n = ciWindow
	}
	return history(results[:min(n, len(results))])
}

// next is the state after results, newest first. Without results nothing moves.
func next(t Test, results []Result) State {
	h := window(t.Variant, results)
	if len(h) == 0 {
		return t.state()
	}
	for _, m := range moves(t.Variant) {
		if m.from == t.state() && m.when(h, t) {
			return m.to
		}
	}
	return t.state()
}

func (t Test) state() State {
	if t.State == "" {
		return Passing
	}
	return t.State
}
