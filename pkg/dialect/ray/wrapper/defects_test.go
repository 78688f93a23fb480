package wrapper

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// TestDefect04WaitsAre30To90Minutes: Ray's are 30 to 120 and say 30 to 90.
func TestDefect04WaitsAre30To90Minutes(t *testing.T) {
	t.Parallel()
	longest, shortest := time.Duration(0), 24*time.Hour
	for seed := range uint64(100_000) {
		wait := Default().Sleep.Draw(seed, 1)
		longest, shortest = max(longest, wait), min(shortest, wait)
	}
	if shortest != 30*time.Minute || longest != 90*time.Minute {
		t.Errorf("waits are from %s to %s, want 30m0s to 1h30m0s", shortest, longest)
	}
}

// TestDefect05OneAttemptIsAChoice: with the default of one attempt the failure goes to the CI, which holds no runner while
// it waits, and the reason says so; zero attempts, with which Ray's script runs into its own errors, are refused.
func TestDefect05OneAttemptIsAChoice(t *testing.T) {
	t.Parallel()
	_, waits, end := play(t, Default(), 0, 30)
	if end.Code != 79 || len(waits) != 0 || !strings.Contains(end.Why, "asks the CI for one more try") {
		t.Errorf("%+v after waits %v", end, waits)
	}
	_, waits, end = play(t, with(func(c *Config) { c.Attempts = 2 }), 0, 30, 0)
	if end.Code != 0 || len(waits) != 1 {
		t.Errorf("with two attempts: %+v after waits %v", end, waits)
	}
}

// TestDefect06CancelledDoesNotAskForRetry: whatever came before the signal, and whatever the child made of it.
func TestDefect06CancelledDoesNotAskForRetry(t *testing.T) {
	t.Parallel()
	for _, s := range []State{
		{Signal: 15}, // before the first attempt, or while it waits
		{Signal: 15, Attempts: []Attempt{{Code: 143, Signal: 15}}},
		{Signal: 15, Attempts: []Attempt{{Code: 0}}},
		{Signal: 15, Attempts: []Attempt{{Code: 30}, {Code: 40}}},
	} {
		for _, waited := range []bool{false, true} {
			got := Next(Default(), s, 1, waited)
			if got.Do != Exit || got.Code != 143 || got.Class != release.ClassCancelled {
				t.Errorf("%+v: %+v, want exit 143, cancelled", s, got)
			}
		}
	}
	if got := Next(Default(), State{Signal: 2}, 1, false); got.Code != 130 {
		t.Errorf("SIGINT exits with %d, want 130", got.Code)
	}
}

// TestDefect07EachCodeHasItsOwnReason is W10: the reason for 50 is not that of the 30 before it.
func TestDefect07EachCodeHasItsOwnReason(t *testing.T) {
	t.Parallel()
	_, _, end := play(t, with(func(c *Config) { c.Attempts = 3 }), 0, 30, 50)
	if strings.Contains(end.Why, "infra timeout") || !strings.Contains(end.Why, "exit code 50 (unknown reason)") {
		t.Errorf("the reason is %q", end.Why)
	}
}
