package bisect

import (
	"strings"
	"testing"
	"time"
)

// TestDefect24ItEnds: with a deadline and a budget, both of which it insists on, and with what it knows by then.
func TestDefect24ItEnds(t *testing.T) {
	t.Parallel()
	c, does := many(100, 63)
	c.Sane, c.Budget = true, 3
	step, _, runs := follow(t, c, does)
	if step.Do != GiveUp || len(runs) != 3 || !strings.Contains(step.Why, "budget of 3 runs is spent; it is after c61, up to c74") {
		t.Errorf("%+v after %v", step, runs)
	}
	c.Budget = 1000
	stuck := Next(c, nil, began()).Start // started, and never heard of again
	if step := Next(c, stuck, began().Add(59*time.Minute)); step.Do != Await {
		t.Errorf("before its deadline: %+v", step)
	}
	if step := Next(c, stuck, c.Deadline); step.Do != GiveUp || !strings.Contains(step.Why, "after c0, up to c99") {
		t.Errorf("at its deadline: %+v", step)
	}
	found := []Run{{"c62", 0, Pass}, {"c63", 0, Fail}}
	if step := Next(c, found, c.Deadline.Add(time.Hour)); step.Do != Blame || step.Commit != "c63" {
		t.Errorf("what is known is told after the deadline too: %+v", step)
	}
	for _, bad := range []func(*Config){func(c *Config) { c.Deadline = time.Time{} }, func(c *Config) { c.Budget = 0 }} {
		broken := c
		bad(&broken)
		if broken.Validate() == nil {
			t.Error("it may go on for ever")
		}
	}
	// Machines that always fail cost the budget, not for ever.
	c.Budget = 20
	for commit := range does {
		does[commit] = "I"
	}
	if step, _, runs := follow(t, c, does); step.Do != GiveUp || len(runs) != 20 {
		t.Errorf("%+v after %d runs", step, len(runs))
	}
}
