package view

import (
	"cmp"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/release"
)

// mark is how a state shows: a shape, a word and a tone, so that none of the three has to carry it alone.
type mark struct {
	shape string
	word  string
	tone  tone
}

// marks are the states of runs and tasks.
func marks() map[string]mark {
	return map[string]mark{
		string(release.Success):   {"✓", "success", good},
		string(release.Failure):   {"✗", "failure", bad},
		string(release.Error):     {"!", "error", bad},
		string(release.Cancelled): {"⊘", "cancelled", warn},
		client.StateReceived:      {"○", "received", plain},
		client.StateIgnored:       {"–", "ignored", faint},
		client.StateRejected:      {"✗", "rejected", bad},
		client.StateRunning:       {"●", "running", busy},
		client.StateUnpermitted:   {"◔", "unpermitted", warn},
		client.TaskPlanned:        {"·", "planned", faint},
		client.TaskWaiting:        {"○", "waiting", plain},
		client.TaskQueued:         {"◔", "queued", busy},
		client.TaskDelayed:        {"↻", "delayed", warn},
		client.TaskSkipped:        {"–", "skipped", warn},
	}
}

// markOf is the mark of a state; one that nobody knows is shown as it is and never as good.
func markOf(state string) mark {
	if m, known := marks()[state]; known {
		return m
	}
	return mark{"?", safe(cmp.Or(state, "unknown")), warn}
}

func (m mark) text() string { return m.shape + " " + m.word }

// met is how a condition shows.
func met(ok bool) mark {
	if ok {
		return mark{"✓", "met", good}
	}
	return mark{"✗", "not met", bad}
}
