package pages

import (
	"cmp"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// maxUnmet is how many conditions that are not met are shown at once; the others are folded.
const maxUnmet = 10

// condition is a condition of the gate as the page shows it.
type condition struct {
	release.Condition
	Look  look
	Label string
	Path  string // of the task that it is about
}

// conditionGroups are the conditions of a gate: what is not met first, what is met folded to a line when something is
// not.
type conditionGroups struct {
	Unmet, More, Met []condition
}

// Any reports whether there are conditions.
func (g conditionGroups) Any() bool { return len(g.Unmet)+len(g.Met) > 0 }

// MetNames names what is met.
func (g conditionGroups) MetNames() string {
	var names []string
	for _, c := range g.Met {
		names = append(names, c.Label)
	}
	return strings.Join(names, ", ")
}

func conditions(d *view.Detail) conditionGroups {
	var g conditionGroups
	names := map[string]string{}
	for _, t := range d.Tasks {
		names[string(t.ID)] = cmp.Or(t.Name, string(t.ID))
	}
	for _, c := range d.Conditions {
		one := condition{Condition: c, Look: conditionLook(d, c), Label: c.Name}
		if id, isTest := strings.CutPrefix(c.Name, "test "); isTest && names[id] != "" {
			one.Label, one.Path = names[id], taskPath(d.Run.ID, release.TaskID(id))
		}
		switch {
		case c.Met:
			g.Met = append(g.Met, one)
		case len(g.Unmet) < maxUnmet:
			g.Unmet = append(g.Unmet, one)
		default:
			g.More = append(g.More, one)
		}
	}
	return g
}

// conditionLook is red only where something went wrong: that a pull request is not for release is as it should be.
func conditionLook(d *view.Detail, c release.Condition) look {
	switch {
	case c.Met:
		return lookOf("met")
	case d.Run.State == string(release.Success):
		return look{"minus", "not met", "calm"}
	case c.Final || d.Run.Gate == "closed":
		return lookOf("unmet")
	default:
		return lookOf("pending")
	}
}
