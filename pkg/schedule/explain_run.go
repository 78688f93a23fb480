package schedule

import (
	"fmt"
)

// explainRun says how far a run is, and what its gate demands.
func (s *State) explainRun(r *run, w *Why) {
	w.Round = r.round()
	if r.planned != nil {
		w.Conditions = r.conditions()
	}
	end, over := r.ends[r.ending()]
	switch {
	case over:
		w.State, w.Reason, w.Outcome, w.Since = "finished", end.Reason, end.Outcome, r.endedAt.time()
	case r.planned == nil && !r.rejected && r.unpermitted != "":
		w.State, w.Reason = "unpermitted", "the change is untrusted: "+r.unpermitted+
			"; somebody who may write to the repository lets it run with /ok-to-test in a comment, or with: sluice permit "+string(r.id)
	case r.planned == nil && !r.rejected:
		w.State, w.Reason = "planning", "it has no plan yet"
	case r.opened != nil:
		w.State, w.Reason, w.Since = "publishing", "the gate opened; "+r.remaining("the publisher has not ended"), r.opened.mark.at.time()
	case r.cancelled():
		w.State, w.Reason, w.Since = "cancelling", r.cancelReason()+"; "+r.remaining("its end is being stored"), r.cancel.mark.at.time()
	case r.closed[r.round()] != 0:
		w.State, w.Reason, w.Since = "closed", "the gate is closed; "+r.remaining("its end is being stored"), r.closed[r.round()].time()
	default:
		s.explainGate(r, w)
	}
}

// explainGate names the first condition that is not met.
func (s *State) explainGate(r *run, w *Why) {
	w.State, w.Reason = "gate", "every condition is met; the verdict is being stored"
	if !r.buildsOver() {
		w.State = "building"
	} else if r.counts.openTests > 0 {
		w.State = "testing"
	}
	if why := s.awaitsReview(r); why != "" {
		w.Reason = why
		return
	}
	for _, c := range w.Conditions {
		if !c.Met && (!c.Final || w.State == "gate") {
			w.Reason = c.Name + ": " + c.Reason
			return
		}
	}
}

// remaining says what a run that is decided still waits for.
func (r *run) remaining(otherwise string) string {
	if n := max(r.counts.open, r.counts.running); n > 0 {
		return fmt.Sprintf("%d tasks have not ended", n)
	}
	return otherwise
}
