package schedule

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// judgeRun is the one place that decides about a run as a whole: its gate, then its end.
func (s *State) judgeRun(r *run) event.Payload {
	if _, over := r.ends[r.ending()]; over {
		return nil
	}
	if stale := s.superseded(r); stale != nil {
		return stale
	}
	switch {
	case r.rejected:
		return r.finish(release.Failure, "the definition gives no plan")
	case r.opened != nil && r.planned != nil:
		return r.judgeRelease()
	case r.cancelled():
		if r.quiet() || r.planned == nil && r.counts.open == 0 && r.counts.running == 0 {
			return r.finish(release.Cancelled, r.cancelReason())
		}
		return nil
	case r.planned == nil:
		return nil
	case r.closed[r.round()] == 0:
		return r.judgeGate()
	case r.quiet():
		return r.finish(r.quality())
	}
	return nil
}

func (r *run) finish(outcome release.Outcome, reason string) event.Payload {
	return event.RunFinished{Round: r.ending(), Outcome: outcome, Reason: clip(reason)}
}

// judgeRelease ends a run whose gate has opened: what the publisher makes of it is the outcome, whatever else is said.
func (r *run) judgeRelease() event.Payload {
	switch {
	case !r.quiet():
		return nil
	case r.published:
		return r.finish(release.Success, "published")
	case len(r.planned.Targets) == 0:
		return r.finish(release.Success, "the gate opened, and the definition names no target to publish to")
	case r.unpublished.mark.seq > r.republished() && r.cancelled():
		return r.finish(release.Cancelled, r.cancelReason()+"; not published: "+r.unpublished.reason)
	case r.unpublished.mark.seq > r.republished():
		return r.finish(r.publicationFault(), "not published: "+r.unpublished.reason)
	}
	return nil
}

func (r *run) republished() uint64 {
	if n := len(r.republish); n > 0 {
		return r.republish[n-1]
	}
	return 0
}

// publicationFault says whose fault it is that a release failed: the platform's when no target says otherwise.
func (r *run) publicationFault() release.Outcome {
	known := false
	for seq, platform := range r.platform {
		if seq < r.republished() {
			continue
		}
		if !platform {
			return release.Failure
		}
		known = true
	}
	if known {
		return release.Error
	}
	return release.Failure
}

// quality is the outcome of a run whose gate stayed shut: success when only the policy kept it shut.
func (r *run) quality() (release.Outcome, string) {
	if r.idle() {
		return release.Success, fmt.Sprintf("nothing to do: the definition leaves out all %d jobs and tasks for this change", r.planned.Skipped)
	}
	if taken := r.taken[r.round()]; len(taken) > 0 {
		return release.Failure, "targets: " + takenReason(taken)
	}
	for _, c := range r.qualities() {
		if !c.Met {
			return r.fault(), c.Name + ": " + c.Reason
		}
	}
	return release.Success, "everything succeeded; it is not to be published"
}

// idle reports whether the run has nothing to do: the definition's own rules leave everything out, and nothing could be published.
// A change that may publish and has no task is not well: what nothing tested is not passed.
func (r *run) idle() bool {
	allowed, _ := r.planned.Release.Allows(r.planned.Change)
	return r.empty() && r.planned.Skipped > 0 && !allowed
}

// fault says whose fault it is that builds or required tests did not succeed.
func (r *run) fault() release.Outcome {
	found := map[release.Outcome]bool{}
	for _, t := range r.list {
		if t.known() && (t.build() || t.required) && t.status != open && t.status != succeeded {
			if !t.spec.softFail || t.required {
				found[t.culprit().verdict().outcome] = true
			}
		}
	}
	switch {
	case found[release.Failure]:
		return release.Failure
	case found[release.Error]:
		return release.Error
	case found[release.Cancelled]: // by a cancellation that a retry took back without naming them
		return release.Cancelled
	default:
		return release.Failure
	}
}
