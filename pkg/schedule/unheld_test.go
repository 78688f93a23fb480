package schedule

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestUntrustedChangesAndTheirPool: a pool takes an untrusted change where it accepts one and one of its executors can hold it
// back. Otherwise the task ends, with what the executors lack as the reason.
func TestUntrustedChangesAndTheirPool(t *testing.T) {
	t.Parallel()
	cannot := event.Isolation{Missing: []string{"users and namespaces: none"}, Refusal: "its commands would not be held back by user"}
	can := event.Isolation{Held: []string{"user", "pid", "mount", "ipc"}}
	all := release.Trusts()
	for name, c := range map[string]struct {
		trust   release.Trust
		accepts []release.Trust
		fleet   []event.Isolation
		takes   []release.Trust // that the executors say
		ends    string          // the reason, or nothing when it is dispatched
	}{
		"a pool that accepts none":      {release.TrustUntrusted, all[:1], []event.Isolation{can}, nil, "accepts release changes only"},
		"an executor that can":          {release.TrustUntrusted, all, []event.Isolation{can}, nil, ""},
		"executors that cannot":         {release.TrustUntrusted, all, []event.Isolation{cannot, cannot}, nil, "no executor of pool linux takes untrusted changes; a says: its commands would not be held back by user"},
		"one of two can":                {release.TrustUntrusted, all, []event.Isolation{cannot, can}, nil, ""},
		"executors that do not say":     {release.TrustUntrusted, all, []event.Isolation{{}}, nil, ""},
		"no executor yet":               {release.TrustUntrusted, all, nil, nil, ""},
		"no level, executors cannot":    {"", all, []event.Isolation{cannot}, nil, "takes untrusted changes"},
		"executors that do not accept":  {release.TrustUntrusted, all, []event.Isolation{can}, all[:2], "a says: it accepts release and trusted changes only"},
		"executors of releases only":    {release.TrustTrusted, all, []event.Isolation{can}, all[:1], "no executor of pool linux takes trusted changes"},
		"executors that accept":         {release.TrustUntrusted, all, []event.Isolation{can}, all, ""},
		"a trusted change, they cannot": {release.TrustTrusted, all, []event.Isolation{cannot}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{Accepts: map[string][]release.Trust{"linux": c.accepts}})
			for i, isolation := range c.fleet {
				b.hear(event.ExecutorHeartbeat{Pool: "linux", Executor: string(rune('a' + i)), Slots: 1, Isolation: isolation, Accepts: c.takes})
			}
			b.follow()
			planned := push(1, 0)
			planned.Trust = c.trust
			b.say(planned, requested("a"))
			b.follow()
			ended, dispatched := "", false
			for _, e := range b.stream {
				switch said := e.Data.(type) {
				case event.TaskConcluded:
					ended = said.Reason
				case event.TaskDispatched:
					dispatched = true
				}
			}
			if dispatched != (c.ends == "") || !strings.Contains(ended, c.ends) || (ended != "") != (c.ends != "") {
				t.Errorf("dispatched %v, ended %q, want %q", dispatched, ended, c.ends)
			}
		})
	}
}
