package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/release"
)

// target is how far the publication to one target is.
type target struct {
	name, kind string
	steps      map[release.PublicationState]client.Step
}

// targetsOf are the targets of a run in the order of its plan, with what is known of each.
func targetsOf(status client.Status) []*target {
	var out []*target
	find := func(name, kind string) *target {
		i := slices.IndexFunc(out, func(t *target) bool { return t.name == name })
		if i < 0 {
			out = append(out, &target{name: name, kind: kind, steps: map[release.PublicationState]client.Step{}})
			i = len(out) - 1
		}
		return out[i]
	}
	for _, t := range status.Run.Targets {
		find(t.Name, t.Kind)
	}
	for _, s := range status.Steps {
		find(s.Target, s.Kind).steps[s.State] = s
	}
	return out
}

func (p *page) targets(status client.Status) {
	list := targetsOf(status)
	if len(list) == 0 {
		return
	}
	if len(status.Steps) == 0 {
		p.untouched(status, list)
		return
	}
	heading := "Targets"
	if status.Run.Released != "" {
		heading += ": " + safe(status.Run.Released)
	}
	p.title(heading)
	p.matrix(list)
	for _, one := range list {
		p.broken(one)
	}
	p.places(status, list)
}

// untouched names the targets of a run that has published nothing.
func (p *page) untouched(status client.Status, list []*target) {
	var names []string
	for _, one := range list {
		names = append(names, safe(one.name))
	}
	p.title("Targets: " + cond(status.Run.Ended(), "nothing was published", "not before the gate opens"))
	p.wrapped("  ", p.style.paint(faint, strings.Join(names, ", ")))
}

// matrix shows targets × states.
func (p *page) matrix(list []*target) {
	t := table{indent: 2, columns: []column{{head: "TARGET", least: 8}, {head: "KIND", least: 4}}}
	for _, state := range release.PublicationStates() {
		t.columns = append(t.columns, column{head: strings.ToUpper(string(state))})
	}
	for _, one := range list {
		t.row(append([]cell{{safe(one.name), plain}, {safe(one.kind), faint}}, one.cells()...)...)
	}
	p.table(t)
}

// places tells where what was published, or kept, is found.
func (p *page) places(status client.Status, list []*target) {
	t := table{indent: 2, columns: []column{{least: 8}, {least: 8}, {least: 20, wraps: true}}}
	for _, one := range list {
		step := one.steps[release.Verified]
		if len(step.Files) == 0 {
			step = one.steps[release.Committed]
		}
		if len(step.Files) > 0 && step.Files[0].URL != "" {
			t.row(cell{safe(one.name), plain}, cell{count(len(step.Files), "file"), faint}, cell{safe(step.Files[0].URL), plain})
		}
	}
	for _, e := range status.Exports {
		t.row(cell{safe(e.Destination), plain}, cell{fmt.Sprintf("%s, %s", safe(e.Part), size(e.Bytes)), faint}, cell{safe(e.Location), plain})
	}
	if len(t.rows) > 0 {
		p.title("Places")
		p.table(t)
	}
}

// cells are the states of a target, as far as they are reached.
func (t *target) cells() []cell {
	var out []cell
	for _, state := range release.PublicationStates() {
		step, known := t.steps[state]
		switch {
		case !known:
			out = append(out, cell{"·", faint})
		case step.Broken():
			out = append(out, cell{"✗ failed", bad})
		case step.Reached.IsZero():
			out = append(out, cell{"● now", busy})
		default:
			out = append(out, cell{"✓", good})
		}
	}
	return out
}

// broken says why a target went no further.
func (p *page) broken(t *target) {
	for _, state := range release.PublicationStates() {
		if step, ok := t.steps[state]; ok && step.Broken() {
			p.wrapped("  ", fmt.Sprintf("%s is not %s: %s", p.style.paint(bad, "✗ "+safe(t.name)), state, safe(step.Reason)))
		}
	}
}

// next says what somebody may want to type now.
func (p *page) next(status client.Status) {
	run := status.Run
	var commands []string
	for _, t := range status.Tasks {
		if isBad(t) && t.Tried > 0 {
			commands = append(commands, fmt.Sprintf("sluice logs %s/%s", safe(run.ID), safe(t.ID)))
			break
		}
	}
	switch {
	case !run.Ended():
		commands = append(commands, "sluice watch "+safe(run.ID))
	case run.ExitCode() != 0 && run.State != client.StateRejected:
		commands = append(commands, "sluice retry "+safe(run.ID))
	}
	if len(commands) > 0 {
		p.title("Next")
	}
	for _, c := range commands {
		p.line("  %s", c)
	}
}
