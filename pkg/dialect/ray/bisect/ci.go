package bisect

import "time"

// CI is the search as the CI of every change makes it: one commit at a time, once, between two commits whose builds are
// known.
func CI(commits []string, deadline time.Time, budget int) Config {
	return Config{Commits: commits, Parallel: 1, Runs: 1, Sane: true, Deadline: deadline, Budget: budget}
}

// OfBuild is what a CI build at a commit says of it. A build that did not run the test says nothing: it is no reason to
// blame a commit, nor to clear one.
func OfBuild(state string) Outcome {
	switch state {
	case "passed":
		return Pass
	case "failing", "failed":
		return Fail
	default:
		return Infra // skipped, blocked, canceled, not_run, timed out
	}
}

// OfStep is what a step of a bisecting build says. A failure that the step forgives is a failure.
func OfStep(state string) Outcome {
	switch state {
	case "passed":
		return Pass
	case "hard_failed", "soft_failed", "failed":
		return Fail
	default:
		return Infra
	}
}

// Gap is the range of commits whose builds were never unblocked: strictly between one that passed and a newer that
// failed, as arguments of git rev-list.
func Gap(passed, failed string) []string { return []string{"^" + passed, failed + "~"} }
