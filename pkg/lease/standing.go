package lease

import (
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// The tasks of a provider's plan.
const (
	TaskClean  release.TaskID = "clean"
	TaskHealth release.TaskID = "health"
)

// standing is what the facts of a place come to. step is its only writer.
type standing struct {
	spec  event.PlaceRegistered
	known bool
	since time.Time // of what it is in now
	token int64     // of the newest grant
	live  []hold    // leases that have not ended

	change     int64  // number of the newest change
	dirty      string // why it must be cleaned; "" when it is clean
	quarantine note
	until      time.Time // of the quarantine
	drain      note

	healthy  time.Time // of the last check that found it well; zero when none counts
	checked  uint64    // place in the stream of what that said
	bad      int32     // cleans and checks that failed, in a row
	good     int32     // that succeeded
	tries    int32     // since the last success, those that say nothing about the place too
	failed   time.Time // the last of these
	complain string    // and what it said
}

// note is a state that somebody put the place in.
type note struct {
	on     bool
	at     time.Time
	by     string
	reason string
}

// hold is a lease that has not ended.
type hold struct {
	token      int64
	holder     event.AttemptRef
	shared     bool
	at         time.Time
	first      time.Time // until when it was granted, by the clock of who granted it
	until      time.Time
	number     int32 // of its last renewal
	dispatched bool
	pool       string // that it was dispatched to: what others say of the holder does not count
	started    bool
	finished   *finish
	told       bool // it was told to stop
	released   bool // a person took it back
}

// finish is how a holder's attempt ended.
type finish struct {
	class   release.Class
	reason  string
	unclean string
	cleaned bool // it ran its cleanup phase
	kept    time.Time
	at      time.Time
}

func (s *standing) clone() standing {
	c := *s
	c.live = slices.Clone(s.live)
	return c
}

// of returns the attempt's lease of the place, or nil.
func (s *standing) of(ref event.AttemptRef) *hold {
	for i := range s.live {
		if s.live[i].holder == ref {
			return &s.live[i]
		}
	}
	return nil
}

func (s *standing) under(token int64) *hold {
	for i := range s.live {
		if s.live[i].token == token {
			return &s.live[i]
		}
	}
	return nil
}

// maintains reports whether a lease is for cleaning or checking its place.
func (h *hold) maintains() bool { return strings.HasPrefix(string(h.holder.Run), release.PlaceRuns) }

// believes reports whether a pool may speak of the holder: the one that it was dispatched to. The scheduler may end an
// attempt that was never dispatched.
func (h *hold) believes(pool string) bool { return !h.dispatched || h.pool == pool }

func (h *hold) kept() bool {
	return h.finished != nil && !h.finished.kept.IsZero() && !h.released
}

// step takes the next fact into account.
func (s *standing) step(f fact) {
	switch p := f.data.(type) {
	case event.PlaceRegistered:
		s.spec, s.known = p, true
	case event.PlaceChanged:
		s.stepChanged(p, f)
	case event.PlaceDrainRequested:
		s.stepDrain(p, f)
	case event.LeaseGranted:
		s.stepGranted(p, f)
	case event.LeaseRenewed:
		if h := s.under(p.Token); h != nil && p.Number > h.number {
			h.number, h.until = p.Number, p.Until
		}
	case event.LeaseEnded:
		s.stepEnded(p, f)
	default:
		s.stepTask(f)
	}
	if s.since.IsZero() {
		s.since = f.at
	}
}

// stepGranted adds a lease. One with a token that was passed is none: the stream does not hold such. Nor is one of a place
// that is dirty, but for cleaning it: whoever gave it had not heard yet that somebody who shared the place had left it so.
func (s *standing) stepGranted(p event.LeaseGranted, f fact) {
	if p.Token <= s.token {
		return
	}
	s.token = p.Token
	if s.dirty != "" && p.Holder.Task != TaskClean {
		return
	}
	s.live = append(s.live, hold{token: p.Token, holder: p.Holder, shared: p.Shared, at: f.at, first: p.Until, until: p.Until})
	s.since = f.at
}

func (s *standing) stepTask(f fact) {
	switch p := f.data.(type) {
	case event.TaskDispatched:
		if h := s.of(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt}); h != nil {
			h.dispatched, h.pool = true, p.Pool
		}
	case event.TaskStarted:
		switch h := s.of(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt}); {
		case h == nil || !h.believes(p.Pool):
		case p.Refused == "":
			h.started = true
		case h.finished == nil: // nobody will ever start it
			h.finished = &finish{class: release.ClassCancelled, reason: p.Refused, at: f.at}
		}
	case event.TaskCancelRequested:
		if h := s.of(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt}); h != nil {
			h.told = true
		}
	case event.TaskFinished:
		h := s.of(event.AttemptRef{Run: f.run, Task: p.Task, Attempt: p.Attempt})
		if h == nil || h.finished != nil || !h.believes(p.Pool) {
			return
		}
		h.finished = &finish{
			class: p.Class, reason: p.Reason, unclean: p.Unclean, kept: f.until(p.KeptUntil), at: f.at,
			cleaned: slices.ContainsFunc(p.Phases, func(p event.Phase) bool { return p.Name == "cleanup" }),
		}
		if h.maintains() {
			s.learn(h, f)
		} else if p.Class.Outcome() == release.Error {
			s.healthy = time.Time{}
		}
	}
}

// learn counts what a clean or a check says about the place.
func (s *standing) learn(h *hold, f fact) {
	switch class := h.finished.class; {
	case class == release.ClassOK:
		s.bad, s.tries, s.complain = 0, 0, ""
		s.good++
		if h.holder.Task == TaskClean {
			s.dirty, s.healthy = "", time.Time{}
		} else {
			s.healthy, s.checked = f.at, f.seq
		}
	case class == release.ClassLost || class == release.ClassCancelled: // it says nothing about the place
		s.tries, s.failed = s.tries+1, h.finished.at
	default:
		s.bad, s.tries, s.good, s.failed = s.bad+1, s.tries+1, 0, h.finished.at
		s.complain = string(h.holder.Task) + " failed as " + joined(string(class), h.finished.reason)
		s.healthy = time.Time{}
	}
}

// stepEnded takes a lease away. What it leaves follows from what is known of the holder; what was said can only be worse.
func (s *standing) stepEnded(p event.LeaseEnded, f fact) {
	h := s.under(p.Token)
	if h == nil {
		return
	}
	why := s.leaves(h)
	if why == "" && p.State != release.PlaceFree && s.dirty == "" && !h.maintains() {
		why = p.Reason
	}
	if why != "" && s.dirty == "" {
		s.dirty = why
	}
	s.live = slices.DeleteFunc(s.live, func(o hold) bool { return o.token == p.Token })
	s.since = f.at
}

// leaves says why the place must be cleaned after a lease, if it ends now; "" when the lease leaves it as it was.
func (s *standing) leaves(h *hold) string {
	who := describe(h.holder)
	switch end := h.finished; {
	case h.maintains(), !h.dispatched, !h.started: // what was granted in excess is in no dispatch
		return ""
	case end == nil:
		return who + " had not finished"
	case end.class == release.ClassLost:
		return who + " was lost: " + end.reason
	case end.unclean != "":
		return who + " left it unclean: " + end.unclean
	case !end.cleaned:
		return who + " ended without cleaning up: " + end.reason
	case !end.kept.IsZero():
		return "it was kept for a person after " + who
	case s.spec.Clean && !h.shared:
		return who + " has used it"
	default:
		return ""
	}
}

func (s *standing) stepChanged(p event.PlaceChanged, f fact) {
	if p.Change <= s.change {
		return
	}
	s.change, s.since = p.Change, f.at
	switch p.State {
	case release.PlaceQuarantined:
		s.quarantine = note{true, f.at, p.By, p.Reason}
		s.until, s.good, s.bad, s.tries = p.Until, 0, 0, 0
	case release.PlaceCleanupPending:
		if s.takeBack(p); p.By == "" {
			s.quarantine, s.bad = note{}, 0
		}
	case release.PlaceFree:
		s.quarantine, s.bad, s.tries = note{}, 0, 0
		if p.By != "" {
			s.dirty, s.healthy, s.complain = "", time.Time{}, ""
		}
	}
}

// takeBack makes a place one that must be cleaned: what was kept on it ends.
func (s *standing) takeBack(p event.PlaceChanged) {
	if s.dirty == "" {
		s.dirty = p.Reason
	}
	for i := range s.live {
		if s.live[i].kept() {
			s.live[i].released = true
		}
	}
	s.tries = 0
}

func (s *standing) stepDrain(p event.PlaceDrainRequested, f fact) {
	s.drain = note{!p.Resume, f.at, p.By, p.Reason}
	if p.Resume {
		s.drain, s.healthy = note{}, time.Time{}
	}
}

func describe(ref event.AttemptRef) string {
	return string(ref.Run) + "/" + string(ref.Task) + "/" + number(int64(ref.Attempt))
}
