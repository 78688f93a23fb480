package ray

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Frequency is how often a test runs, or which tests a run asks for.
type Frequency string

// The frequencies. Any is only asked for: it is every test, manual ones too.
const (
	Any       Frequency = "any"
	Manual    Frequency = "manual"
	Multi     Frequency = "multi"
	Nightly   Frequency = "nightly"
	Nightly3x Frequency = "nightly-3x"
	Weekly    Frequency = "weekly"
	Monthly   Frequency = "monthly"
)

const anySmoke = "any-smoke"

// frequencyWords are what a run may ask for of any suite.
func frequencyWords() []string {
	return []string{"manual", "any", anySmoke, "multi", "nightly", "nightly-3x", "weekly", "monthly"}
}

func knownFrequency(word string) bool { return slices.Contains(frequencyWords(), word) }

func unknownFrequency(s string) error {
	return fault.New(fault.Invalid, "Frequency not found: %.60s. Must be one of %s", s, pyList(frequencyWords()))
}

var frequencyForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,59}$`)

// ParseFrequency reads what a run asks for, in any case; "any-smoke" asks for smoke tests too. Whether a suite has tests of a
// frequency that Ray does not know is for the selection to see.
func ParseFrequency(s string) (f Frequency, smoke bool, err error) {
	word := strings.ToLower(strings.TrimSpace(s))
	switch {
	case word == anySmoke:
		return Any, true, nil
	case !frequencyForm.MatchString(word), strings.HasSuffix(word, "-smoke"):
		return "", false, unknownFrequency(s)
	}
	return Frequency(word), false, nil
}

// The priorities that have names.
const (
	PriorityDefault = 0
	PriorityManual  = 10
	PriorityHigh    = 50
	PriorityHighest = 100
)

// ParsePriority reads the name of a priority, in any case.
func ParsePriority(s string) (int32, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "default":
		return PriorityDefault, nil
	case "manual":
		return PriorityManual, nil
	case "high":
		return PriorityHigh, nil
	case "highest":
		return PriorityHighest, nil
	}
	return 0, fault.New(fault.Invalid, "Priority not found: %.60s. Must be one of %s", s, pyList([]string{"default", "manual", "high", "highest"}))
}
