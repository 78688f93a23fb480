package ray

import (
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
)

const anySmoke = "any-smoke"

// ParseFrequency reads what a run asks for, in any case; "any-smoke" asks for smoke tests too.
func ParseFrequency(s string) (f Frequency, smoke bool, err error) {
	all := []string{"manual", "any", anySmoke, "multi", "nightly", "nightly-3x", "weekly"}
	word := strings.ToLower(strings.TrimSpace(s))
	switch {
	case !slices.Contains(all, word):
		return "", false, fault.New(fault.Invalid, "Frequency not found: %.60s. Must be one of %s", s, pyList(all))
	case word == anySmoke:
		return Any, true, nil
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
