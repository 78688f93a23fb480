package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
)

// maxAttempts bounds the number of an attempt that is believed.
const maxAttempts = 1 << 20

// Apply takes one event into account. Events may come in any order and as often as they like; one whose place in the
// stream is not known (Seq is 0) counts as the newest. Types that the scheduler does not hear change nothing.
func (s *State) Apply(e event.Event) {
	switch beat := e.Data.(type) {
	case nil:
		return
	case event.ExecutorHeartbeat:
		s.hearBeat(beat, mark{seq: e.Seq, at: stampOf(e.Stored)})
		return
	case event.SchedulerHeartbeat:
		s.hearScheduler(beat, e)
		return
	}
	s.noteScheduler(e)
	s.applyPlace(e)
	if s.dropped(e) {
		return
	}
	m := s.mark(e)
	if e.Run == event.Fleet {
		s.applyFleet(e, m)
		return
	}
	if !heard(e.Data) {
		s.applyChange(e, m)
		return
	}
	r := s.run(e.Run)
	r.noteCause(e, m)
	if !s.applyTask(r, e.Data, m) && !s.applyGate(r, e.Data, m) {
		s.applyRun(r, e.Data, m)
	}
	s.forget()
}

// noteScheduler notes what only a scheduler that decides says, and how new the fact is.
func (s *State) noteScheduler(e event.Event) {
	at := stampOf(e.Stored)
	s.time.newest = max(s.time.newest, at)
	switch e.Type {
	case event.TypeTaskDispatched, event.TypeTaskDelayed, event.TypeTaskConcluded, event.TypeGateOpened, event.TypeGateClosed,
		event.TypeRunFinished, event.TypeLeaseGranted, event.TypeLeaseRenewed:
		s.attended = max(s.attended, at)
	}
}

// applyPlace tells the table of places what it hears. While there is no place, no attempt is of interest to it; a request
// is, since it says for how long its task may hold one.
func (s *State) applyPlace(e event.Event) {
	switch p := e.Data.(type) {
	case event.TaskRequested:
		if !p.Lease.Wanted() {
			return
		}
	case event.PlaceRegistered, event.PlaceChanged, event.PlaceDrainRequested, event.LeaseGranted, event.LeaseRenewed,
		event.LeaseEnded:
		s.placed = true
	case event.TaskDispatched, event.TaskStarted, event.TaskFinished, event.TaskConcluded,
		event.TaskCancelRequested:
		if !s.placed {
			return
		}
	default:
		return
	}
	s.leases.Apply(e)
}

// applyFleet takes what is said of no run.
func (s *State) applyFleet(e event.Event, m mark) {
	switch p := e.Data.(type) {
	case event.PoolDrainRequested:
		s.applyDrain(p, m)
	case event.LimitSet:
		s.applyLimit(p, m)
	case event.ExecutorDraining:
		s.applyDraining(p, m, p.Deadline.Sub(e.Time))
	}
}

func heard(p event.Payload) bool {
	switch p.(type) {
	case event.ChangeReceived, event.ChangeIgnored, event.PublicationRequested, event.PublicationAdvanced, event.ArtifactExported:
		return false
	}
	return true
}

// mark gives an event its place.
func (s *State) mark(e event.Event) mark {
	at := e.Stored
	if at.IsZero() {
		at = e.Time
	}
	m := mark{seq: e.Seq, at: stampOf(at)}
	if m.seq == 0 {
		m.seq = s.seq + 1
	}
	s.seq, s.clock = max(s.seq, m.seq), max(s.clock, m.at)
	return m
}

// noteCause keeps what the run's intents follow from: its plan, or while that is not known the first that was heard.
func (r *run) noteCause(e event.Event, m mark) {
	const later = 1 << 63 // than any plan
	place := m.seq
	if e.Type != event.TypeRunPlanned && e.Type != event.TypeRunRejected {
		place |= later
	}
	if r.first == 0 || place < r.first {
		r.first, r.cause = place, e.ID
	}
}

// applyTask takes what is said of a task; false when it is something else.
func (s *State) applyTask(r *run, p event.Payload, m mark) bool {
	switch p := p.(type) {
	case event.TaskRequested:
		s.applyRequested(r, p, m)
	case event.TaskDispatched:
		s.applyAttempt(r, p.Task, p.Attempt, func(t *task, a *attempt) { s.dispatched(t, a, p, m) })
	case event.TaskAwaited:
		s.applyAttempt(r, p.Task, p.Attempt, func(_ *task, a *attempt) { a.await(p) })
	case event.TaskStarted:
		s.believe(r, p.Task, claim{p.Pool, p.Attempt, func(t *task, a *attempt) { s.started(t, a, p, m) }})
	case event.TaskFinished:
		s.believe(r, p.Task, claim{p.Pool, p.Attempt, func(t *task, a *attempt) { s.finish(t, a, p, m) }})
	case event.TaskDelayed:
		s.applyAttempt(r, p.Task, p.Attempt, func(t *task, a *attempt) { s.delay(t, a, p, m) })
	case event.TaskCancelRequested:
		s.believe(r, p.Task, claim{p.Pool, p.Attempt, func(_ *task, a *attempt) {
			if !a.stop.set() {
				a.stop = m
			}
		}})
	case event.TaskConcluded:
		s.applyConcluded(r, p, m)
	default:
		return false
	}
	return true
}

// applyRun takes what is said of a run as a whole.
func (s *State) applyRun(r *run, p event.Payload, m mark) {
	switch p := p.(type) {
	case event.RunPlanned:
		s.applyPlanned(r, p, m)
	case event.RunPermissionRequested:
		r.unpermitted, r.asked = p.Reason, p.Change
		s.align(r)
	case event.RunRejected:
		r.rejected = true
	case event.RunCancelRequested:
		r.cancel.latest(m, p.By, p.Reason)
		s.touchAll(r)
	case event.RunRetryRequested:
		s.applyRetry(r, p, m)
	case event.RunFinished:
		s.applyFinished(r, p, m)
	case event.PublicationFailed:
		set(&r.platform, m.seq, p.Fault == "transient" || p.Fault == "internal")
	case event.PublicationRetryRequested:
		r.republish = insert(r.republish, m.seq)
	case event.ReleasePublished:
		r.published = true
	case event.ReleaseFailed:
		r.unpublished.latest(m, "", joined(p.Reasons))
	}
	s.touchRun(r)
}

// applyGate takes what the gate depends on; false when it is something else.
func (s *State) applyGate(r *run, p event.Payload, m mark) bool {
	switch p := p.(type) {
	case event.CandidateAssembled:
		if r.candidates[p.Round] == nil {
			set(&r.candidates, p.Round, &p)
		}
	case event.CandidateRejected:
		if r.refusals[p.Round] == nil {
			set(&r.refusals, p.Round, append([]string{}, p.Reasons...))
		}
	case event.PublicationChecked:
		s.applyTaken(r, p)
	case event.GateOpened:
		s.applyOpened(r, p, m)
	case event.GateClosed:
		if r.closed[p.Round] == 0 {
			set(&r.closed, p.Round, max(m.at, 1))
		}
	case event.GateApproved:
		set(&r.approvals, approval{p.Person(), p.Candidate}, true)
	case event.EnvironmentApproved:
		s.applyReview(r, p, m)
	case event.GateHeld:
		if p.Before == "" { // else it is the publisher's: the gate may open
			r.hold.latest(m, p.By, p.Reason)
		}
	case event.GateResumed:
		r.resumed = max(r.resumed, m.seq)
	default:
		return false
	}
	s.touchRun(r)
	return true
}

// latest keeps the one of two notes that stands later in the stream.
func (n *note) latest(m mark, by, reason string) {
	if m.seq > n.mark.seq {
		*n = note{mark: m, by: by, reason: clip(reason)}
	}
}

// set makes the map when it is needed first: most runs need few of theirs.
func set[K comparable, V any](into *map[K]V, key K, value V) {
	if *into == nil {
		*into = map[K]V{}
	}
	(*into)[key] = value
}
