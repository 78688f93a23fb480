package lease_test

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// Two places, two attempts: who asks for more than there is waits, and is told for whom.
func Example() {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	t := lease.New(lease.Config{})
	say := func(run release.RunID, p event.Payload) { t.Apply(event.Root(run, "/example", now, p)) }
	say(event.Fleet, event.PlaceRegistered{Provider: "lab", Place: "node-1", Version: "1", Address: "ssh://node-1"})
	say(event.Fleet, event.PlaceRegistered{Provider: "lab", Place: "node-2", Version: "1"})

	first := lease.Ask{
		Holder:  event.AttemptRef{Run: "r1", Task: "long", Attempt: 1},
		Request: release.LeaseRequest{Provider: "lab", Places: []string{"node-1"}},
	}
	for _, g := range t.Grant(first, now).Grants {
		say(event.Fleet, g)
	}
	a := t.Grant(first, now)
	fmt.Println(a.Held, a.Lease.Places)

	both := lease.Ask{
		Holder:  event.AttemptRef{Run: "r2", Task: "gang", Attempt: 1},
		Request: release.LeaseRequest{Provider: "lab", Nodes: 2},
	}
	fmt.Println(t.Grant(both, now).Wait.Reason)
	// Output:
	// true [{node-1 1 ssh://node-1}]
	// waits for 2 places of lab at once: node-1 is held (held by r1/long/1)
}
