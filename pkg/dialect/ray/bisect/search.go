package bisect

import "slices"

// tally counts the runs of a commit.
type tally struct {
	passed, failed int
	numbers        []int
}

func (t tally) with(r Run) tally {
	t.numbers = append(t.numbers, r.Number)
	switch r.Outcome {
	case Pass:
		t.passed++
	case Fail:
		t.failed++
	}
	return t
}

// verdict is what the runs of a commit say of it.
type verdict int

const (
	unknown verdict = iota
	passes
	fails
)

// search is the state that follows from the runs.
type search struct {
	config Config
	tally  map[string]tally
	used   int
	runs   []Run
}

func (s search) index(commit string) int { return slices.Index(s.config.Commits, commit) }

// verdict says whether a commit passes: one failure and it does not, unless the failure was a flake.
func (s search) verdict(i int) verdict {
	t := s.tally[s.config.Commits[i]]
	switch {
	case s.flaked(t):
		return passes
	case t.failed > 0:
		return fails
	case t.passed >= s.config.need():
		return passes
	default:
		return unknown
	}
}

// flaked reports whether a commit failed once and then passed all the runs that were to confirm it.
func (s search) flaked(t tally) bool {
	return s.config.Confirm > 0 && t.failed == 1 && t.passed >= s.config.Confirm
}

// confirmed reports whether a commit that fails may be blamed.
func (s search) confirmed(i int) bool {
	t := s.tally[s.config.Commits[i]]
	return s.config.Confirm == 0 || s.config.Sane && i == len(s.config.Commits)-1 || t.failed > 1
}

// insane says why there is nothing to search for.
func (s search) insane() string {
	if s.config.Sane {
		return ""
	}
	last := len(s.config.Commits) - 1
	if s.tally[s.config.Commits[0]].failed > 0 {
		return s.config.Commits[0] + " is to pass and fails: the test flakes, or was broken before"
	}
	if s.verdict(last) == passes {
		return s.config.Commits[last] + " is to fail and passes: the test flakes, or is repaired"
	}
	return ""
}

// span is the search's range: the oldest commit that fails, and the newest before it that passes.
func (s search) span() (lo, hi int) {
	hi = len(s.config.Commits) - 1
	for i := 1; i < hi; i++ {
		if s.verdict(i) == fails {
			hi = i
			break
		}
	}
	for i := hi - 1; i > 0; i-- {
		if s.verdict(i) == passes {
			return i, hi
		}
	}
	return 0, hi
}

// want lists the runs that a commit still needs, under numbers of their own.
func (s search) want(i int) []Run {
	commit := s.config.Commits[i]
	t := s.tally[commit]
	missing := s.config.need() - t.passed
	if t.failed > 0 {
		missing = s.config.Confirm - t.passed // one more failure ends it, so does the last of these passes
		if t.failed > 1 {
			missing = 0
		}
	}
	var out []Run
	for number := 0; len(out) < missing; number++ {
		if !slices.Contains(t.numbers, number) {
			out = append(out, Run{Commit: commit, Number: number})
		}
	}
	return out
}

// between spreads n indexes evenly strictly between two.
func between(lo, hi, n int) []int {
	var out []int
	n = min(n, hi-lo-1)
	for j := 1; j <= n; j++ {
		out = append(out, lo+j*(hi-lo)/(n+1))
	}
	return slices.Compact(out)
}
