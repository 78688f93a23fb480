package schedule

import "github.com/sluiceci/sluice/pkg/release"

// Heard is the place of the newest fact about a run with which a person, or a newer run, may still keep its gate shut or its
// candidate from being this one: holds and their end, cancellations, retries. Who is about to store the opening asks the
// stream whether there is a newer one, and waits for it if so.
func (s *State) Heard(id release.RunID) uint64 {
	r := s.runs[id]
	if r == nil {
		return 0
	}
	newest := max(r.hold.mark.seq, r.resumed, r.cancel.mark.seq)
	if n := len(r.retries); n > 0 {
		newest = max(newest, r.retries[n-1].mark.seq)
	}
	return newest
}
