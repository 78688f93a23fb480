// Package microcheck chooses the few tests that a pull request runs: those that would have found most of what failed
// lately.
package microcheck

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Test is a test with the changes that it found broken.
type Test struct {
	Found []string // commits of pull requests that it failed at
	Flaky bool
}

// Cover chooses tests that together found at least a part of all that was found: each time the one that adds most, the
// steady before the flaky, and equals by their names. Part is from 0 to 1.
func Cover(tests map[string]Test, part float64) []string {
	all := map[string]bool{}
	for _, t := range tests {
		for _, commit := range t.Found {
			all[commit] = true
		}
	}
	covered := map[string]bool{}
	var chosen []string
	for _, flaky := range []bool{false, true} {
		for float64(len(covered)) < part*float64(len(all)) {
			name, adds := best(tests, covered, flaky)
			if adds == 0 {
				break
			}
			chosen = append(chosen, name)
			for _, commit := range tests[name].Found {
				covered[commit] = true
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}

// best is the test that adds most to what is covered.
func best(tests map[string]Test, covered map[string]bool, flaky bool) (name string, adds int) {
	for _, candidate := range slices.Sorted(maps.Keys(tests)) {
		if tests[candidate].Flaky != flaky {
			continue
		}
		fresh := map[string]bool{}
		for _, commit := range tests[candidate].Found {
			if !covered[commit] {
				fresh[commit] = true
			}
		}
		if len(fresh) > adds {
			name, adds = candidate, len(fresh)
		}
	}
	return name, adds
}

var asked = regexp.MustCompile(`(?m)^@microcheck[ \t]+(.+)$`)

// Asked lists the targets that commit messages ask for, in lines "@microcheck TARGET…".
func Asked(messages []string) []string {
	var out []string
	for _, message := range messages {
		for _, m := range asked.FindAllStringSubmatch(message, -1) {
			out = append(out, strings.Fields(m[1])...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Select is what a pull request runs: the tests of high impact, those that it changes, those that its messages ask for,
// and those that nobody has seen run yet.
func Select(impact, changed, messages []string, every []string, known map[string]bool) []string {
	out := slices.Concat(impact, changed, Asked(messages))
	for _, test := range every {
		if !known[test] {
			out = append(out, test)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
