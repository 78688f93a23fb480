package driver

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// What holds a command back from the platform, from the machine and from other commands.
const (
	HoldsUser    = "user"    // it runs as another user, or as the same one in a user namespace that knows nobody else
	HoldsPID     = "pid"     // it sees no other processes, and nothing of it outlives it
	HoldsMount   = "mount"   // the platform's files and those of other attempts do not exist for it
	HoldsIPC     = "ipc"     // it shares no memory with others
	HoldsNetwork = "network" // it has no network, or one of its own
	HoldsMemory  = "memory"  // its memory is limited as a whole
	HoldsPIDs    = "pids"    // the number of its processes is
	HoldsCPU     = "cpu"     // its processors are
	HoldsKill    = "kill"    // the kernel kills all of it in one step

	HoldsMetadata = "metadata" // it cannot reach the address where a cloud hands out the machine's credentials
)

// Isolation is what a place where attempts run holds back.
type Isolation struct {
	Held    []string `json:"held,omitempty"`    // of the words above
	Missing []string `json:"missing,omitempty"` // what this machine cannot give, with the reason
}

// Isolated is a Driver that knows what it holds back.
type Isolated interface {
	Isolation() Isolation
}

// IsolationOf asks a driver what it holds back. One that does not know holds back nothing.
func IsolationOf(d Driver) Isolation {
	if known, ok := d.(Isolated); ok {
		return known.Isolation()
	}
	return Isolation{Missing: []string{"the driver holds nothing back"}}
}

// needed is what a change that nobody vouches for must be held back by. Limits are not among them: a command without them
// can slow the machine down, and reads and changes nothing of others.
func needed() []string { return []string{HoldsUser, HoldsPID, HoldsMount, HoldsIPC} }

// Untrusted returns nil where commands of an untrusted change can be held back, and otherwise why they cannot.
func (i Isolation) Untrusted() error {
	var lacks []string
	for _, one := range needed() {
		if !slices.Contains(i.Held, one) {
			lacks = append(lacks, one)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return fault.New(fault.Denied, "cannot run an untrusted change here: its commands would not be held back by %s; missing: %s",
		strings.Join(lacks, ", "), strings.Join(i.Missing, "; "))
}
