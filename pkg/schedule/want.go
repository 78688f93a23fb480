package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
)

// Intent is something that is to be said.
type Intent struct {
	Cause   event.Event // what it follows from: the run's plan, by id; without one it follows from the time
	Payload event.Payload
	want    *want
	place   *lease.Intent
}

func (w *want) intent() Intent {
	cause := w.run.origin()
	if w.fleet {
		cause.Run = event.Fleet
	}
	return Intent{Cause: cause, Payload: w.say, want: w}
}

// want is an intent until it has become a fact.
type want struct {
	run   *run
	task  *task // nil when it is the run's
	say   event.Payload
	sent  stamp // zero until State.Sent has heard of it
	void  bool  // nobody wants it any more
	fleet bool  // it is said of no run

	delays bool    // it counts among its run's delays
	ledger *ledger // and among those that this one's release is deciding about
}

func (w *want) drop() {
	if w != nil {
		w.void = true
		w.settle()
	}
}

// settle counts a delay no longer as one that is only decided.
func (w *want) settle() {
	if w.delays {
		w.delays = false
		w.run.retried.deciding--
		if w.ledger != nil {
			w.ledger.deciding--
		}
	}
}

func (t *task) withdraw() {
	t.want.drop()
	t.want = nil
}

func (r *run) withdraw() {
	r.want.drop()
	r.want = nil
}

// ask makes an intent the one that its owner wants. The same one again is left alone until Resend has passed.
func (s *State) ask(slot **want, r *run, owner sleeper, say event.Payload) {
	old := *slot
	if old.same(say) {
		if old.sent == 0 {
			old.say = say
			return
		}
		if due := s.due(old); s.now < due {
			s.wakeOwner(owner, due)
			return
		}
	}
	old.drop()
	w := &want{run: r, say: say}
	if t, ok := owner.(*task); ok {
		w.task = t
	}
	if _, ok := say.(event.TaskDelayed); ok {
		w.delays, w.ledger = true, r.ledger
		r.retried.deciding++
		if w.ledger != nil {
			w.ledger.deciding++
		}
	}
	*slot = w
	s.wants = append(s.wants, w)
}

// due is when an intent that was sent is made again. One that was sent in the future was sent before a step of the clock:
// it counts from now.
func (s *State) due(w *want) stamp {
	w.sent = min(w.sent, s.now)
	return w.sent.plus(s.cfg.Resend)
}

func (s *State) wakeOwner(owner sleeper, at stamp) {
	if owner != nil {
		s.wake(owner, at)
	}
}

// same reports whether an intent has the same place.
func (w *want) same(say event.Payload) bool {
	return w != nil && w.say.EventType() == say.EventType() && w.say.Key() == say.Key()
}

// dispatches reports whether an intent is that of a task's n-th attempt.
func (w *want) dispatches(n int32) bool {
	if w == nil {
		return false
	}
	d, ok := w.say.(event.TaskDispatched)
	return ok && d.Attempt == n
}

// Sent tells that the intents of the last Decide are on their way. Each is made again when it has not become a fact
// after Config.Resend; those that were not sent are made again at once.
func (s *State) Sent(intents []Intent) {
	var places []lease.Intent
	for _, i := range intents {
		if i.place != nil {
			places = append(places, *i.place)
			continue
		}
		i.want.sent = s.now
		switch {
		case i.want.void:
		case i.want.task != nil:
			s.wake(i.want.task, s.now.plus(s.cfg.Resend))
		default:
			s.wake(i.want.run, s.now.plus(s.cfg.Resend))
		}
	}
	s.leases.Sent(places, s.now.time())
	s.unsent()
}

// unsent drops from the list what is sent or no longer wanted.
func (s *State) unsent() {
	kept := s.wants[:0]
	for _, w := range s.wants {
		if w.sent == 0 && !w.void {
			kept = append(kept, w)
		}
	}
	clear(s.wants[len(kept):])
	s.wants = kept
}
