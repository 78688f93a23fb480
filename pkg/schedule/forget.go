package schedule

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// forget lets go of runs that have been over for Keep, by the clock of the facts. Whoever asks for one of them later
// gets it back through Recalls.
func (s *State) forget() {
	for s.cfg.Keep > 0 && len(s.finished) > 0 {
		r := s.finished[0]
		if s.clock.since(r.endedAt) < s.cfg.Keep {
			return
		}
		s.finished = s.finished[1:]
		if _, over := r.ends[r.ending()]; over && r.counts.running == 0 && s.runs[r.id] == r {
			s.drop(r)
		}
	}
}

func (s *State) drop(r *run) {
	delete(s.runs, r.id)
	s.forgotten[r.id] = true
	r.withdraw()
	for _, t := range r.list {
		s.resign(t)
		s.hold(t, false)
		s.dequeue(t)
		t.withdraw()
	}
	s.forgetLanes(r)
	s.unalign(r)
	s.delist(r)
}

// dropped reports whether an event belongs to a forgotten run. One that opens the run again asks for its recall; all
// others change nothing any more.
func (s *State) dropped(e event.Event) bool {
	if !s.forgotten[e.Run] {
		return false
	}
	switch e.Type {
	case event.TypeRunRetryRequested, event.TypePublicationRetryRequested, event.TypeTaskStarted:
		if !slices.Contains(s.recall, e.Run) {
			s.recall = append(s.recall, e.Run)
		}
	}
	return true
}

// Forgotten reports whether a run has ended and its tasks are not kept. Who wants to know more of it folds its facts
// into a State of their own.
func (s *State) Forgotten(run release.RunID) bool { return s.forgotten[run] }

// Recalls names the forgotten runs that are needed again and makes State take their events again: the caller reads all
// facts of each from the stream and applies them. They are kept until they end anew.
func (s *State) Recalls() []release.RunID {
	out := s.recall
	s.recall = nil
	for _, id := range out {
		delete(s.forgotten, id)
		s.recalled[id] = s.seq
	}
	return out
}
