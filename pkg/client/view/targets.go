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
	heading := "Targets"
	if status.Run.Released != "" {
		heading += ": " + safe(status.Run.Released)
	}
	p.title(heading)
	t := table{indent: 2, columns: []column{{head: "TARGET", least: 8}, {head: "KIND", least: 4}}}
	for _, state := range release.PublicationStates() {
		t.columns = append(t.columns, column{head: strings.ToUpper(string(state))})
	}
	for _, one := range list {
		t.row(append([]cell{{safe(one.name), plain}, {safe(one.kind), faint}}, one.cells()...)...)
	}
	p.table(t)
	for _, one := range list {
		p.broken(one)
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
