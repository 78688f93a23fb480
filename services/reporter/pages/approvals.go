package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// approval is a protected environment that a run waits for, with what approves it. The gateway decides who may.
type approval struct {
	Environment, Action, Command string
}

// approvals are the environments whose reviewers the run waits for: its tasks, or the gate.
func approvals(d *view.Detail, waits map[release.TaskID]schedule.Why) []approval {
	if d.Run.Ended() {
		return nil
	}
	var names []string
	for _, why := range waits {
		names = append(names, why.Approves)
	}
	for _, c := range d.Conditions {
		if name, of := strings.CutPrefix(c.Name, schedule.EntryPrefix); of && !c.Met && !c.Final {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []approval
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		out = append(out, approval{
			Environment: name, Command: environment.Protected{Name: name}.Command(d.Run.ID),
			Action: fmt.Sprintf("/api/v1/runs/%s/environments/%s/approve", url.PathEscape(string(d.Run.ID)), url.PathEscape(name)),
		})
	}
	return out
}
