package await

import (
	"testing"
	"time"
)

// TestH11 waits 300 s for what comes after 400 s, and after 200 s, on a clock of its own.
func TestH11(t *testing.T) {
	t.Parallel()
	began := time.Date(2024, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		comes, timeout time.Duration
		want           Do
		at             time.Duration
	}{
		{400 * time.Second, 300 * time.Second, TimedOut, 300 * time.Second},
		{200 * time.Second, 300 * time.Second, Found, 210 * time.Second},
		{0, 300 * time.Second, Found, 0},
		{300 * time.Second, 300 * time.Second, Found, 300 * time.Second},
		{time.Second, 0, TimedOut, 0},
		{25 * time.Second, 20 * time.Second, TimedOut, 20 * time.Second},
	} {
		now, told := began, 0
		var step Step
		for range 1000 {
			step = Default().Next(began, now, began.Add(c.timeout), now.Sub(began) >= c.comes)
			if step.Tell {
				told++
			}
			if step.Do != Again {
				break
			}
			if step.After <= 0 {
				t.Fatalf("asks again after %s", step.After)
			}
			now = now.Add(step.After)
		}
		if step.Do != c.want || now.Sub(began) != c.at {
			t.Errorf("comes after %s, timeout %s: %s at %s, want %s at %s", c.comes, c.timeout, step.Do, now.Sub(began), c.want, c.at)
		}
		if most := int(c.at / Tell); told > most || told < most-1 {
			t.Errorf("comes after %s: told %d times in %s", c.comes, told, c.at)
		}
	}
}
