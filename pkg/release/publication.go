package release

// PublicationState is how far the publication to one target has come.
type PublicationState string

// The states in their order. Everything before Committed can be undone.
const (
	Planned   PublicationState = "planned"   // the gate opened; the target's files are named
	Probed    PublicationState = "probed"    // the target was asked what it already has
	Staged    PublicationState = "staged"    // everything reversible is done
	Committed PublicationState = "committed" // users can see it
	Verified  PublicationState = "verified"  // downloaded again, digests equal
	Broken    PublicationState = "failed"    // a person must decide
	Undone    PublicationState = "undone"    // what users could see was taken back
)

// Irreversible stands for every target whose commits cannot be undone, where a hold names the target that it is for.
const Irreversible = "irreversible"

// PublicationStates lists the states of a publication that goes well, in order.
func PublicationStates() []PublicationState {
	return []PublicationState{Planned, Probed, Staged, Committed, Verified}
}

// Next is the state after s, or "" after the last or a failure.
func (s PublicationState) Next() PublicationState {
	states := PublicationStates()
	for i, one := range states[:len(states)-1] {
		if one == s {
			return states[i+1]
		}
	}
	return ""
}

// Reached reports whether s is at or beyond other on the way that goes well.
func (s PublicationState) Reached(other PublicationState) bool {
	return s.index() >= other.index() && s.index() >= 0
}

func (s PublicationState) index() int {
	for i, one := range PublicationStates() {
		if one == s {
			return i
		}
	}
	return -1
}

// Condition is one thing that the gate, or a wait, demands, and whether it is met. It is the same for the page, the
// CLI and the event: what decided is what explains.
type Condition struct {
	Name   string `json:"name,omitempty"`
	Met    bool   `json:"met,omitempty"`
	Final  bool   `json:"final,omitempty"` // can no longer change
	Reason string `json:"reason,omitempty"`
}
