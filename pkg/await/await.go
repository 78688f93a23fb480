// Package await decides how to wait for something that only can be asked whether it is there: a wheel at a URL, an image
// in a registry. Between two questions stands a timer, not a runner.
package await

import "time"

// Do is what to do next.
type Do string

// The things to do.
const (
	Found    Do = "found"
	Again    Do = "again" // ask again after Step.After
	TimedOut Do = "timed out"
)

// Step is a decision.
type Step struct {
	Do    Do
	After time.Duration
	Tell  bool // it is time to say that the wait goes on
}

// Pace is how often to ask, and to say so.
type Pace struct{ Every, Tell time.Duration }

// Ray's pace.
const (
	Every = 30 * time.Second
	Tell  = time.Minute
)

// Default asks every 30 seconds and says so once a minute.
func Default() Pace { return Pace{Every, Tell} }

// Next decides after a question: asked at now, of a wait that began and that has a deadline, which answered whether it
// exists. What exists is found, even at the deadline; the last question is asked at the deadline and not after it.
func (p Pace) Next(began, now, deadline time.Time, exists bool) Step {
	switch {
	case exists:
		return Step{Do: Found}
	case !now.Before(deadline):
		return Step{Do: TimedOut}
	}
	step := Step{Do: Again, After: min(p.Every, deadline.Sub(now))}
	if p.Tell > 0 && now.After(began) {
		step.Tell = now.Sub(began)/p.Tell > (now.Sub(began)-p.Every)/p.Tell
	}
	return step
}
