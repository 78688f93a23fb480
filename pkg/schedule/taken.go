package schedule

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
)

// conflict is the fault of a target that has a name of the candidate with other bytes.
const conflict = "conflict"

// applyTaken notes that a target cannot take a round's candidate, now or later. Other faults may pass until the gate opens.
func (s *State) applyTaken(r *run, p event.PublicationChecked) {
	reason := p.Target + ": " + p.Reason
	if p.Planned || p.Fault != conflict || slices.Contains(r.taken[p.Round], reason) {
		return
	}
	taken := append(slices.Clone(r.taken[p.Round]), reason)
	slices.Sort(taken)
	set(&r.taken, p.Round, taken)
	s.touchAll(r)
}

func takenReason(taken []string) string {
	return clip(joined(taken) + "; decide what to do about the name, then sluice retry checks again")
}
