package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	lastLines = 6  // of the log of a task that failed
	foldAfter = 12 // tasks of one state that are shown one by one, of those that did not fail
)

// rank orders tasks: failures, what runs, what waits, what was skipped; what went well comes last and is folded.
func rank(t client.Task) int {
	order := []string{
		string(release.Error), string(release.Failure), client.TaskDelayed, client.TaskRunning, client.TaskQueued,
		client.TaskWaiting, client.TaskPlanned, string(release.Cancelled), client.TaskSkipped, string(release.Success),
	}
	if i := slices.Index(order, t.State); i >= 0 {
		return i
	}
	return 0
}

func isBad(t client.Task) bool {
	return t.State == string(release.Failure) || t.State == string(release.Error)
}

func (p *page) tasks(run client.Status) {
	if len(run.Tasks) == 0 {
		return
	}
	tasks := slices.Clone(run.Tasks)
	slices.SortStableFunc(tasks, func(a, b client.Task) int { return cmp.Compare(rank(a), rank(b)) })
	p.title("Tasks: " + tally(tasks))
	var shown table // of what is shown one by one, so that all of it is aligned
	for len(tasks) > 0 {
		n := slices.IndexFunc(tasks, func(t client.Task) bool { return t.State != tasks[0].State })
		if n < 0 {
			n = len(tasks)
		}
		p.group(&shown, tasks[:n])
		tasks = tasks[n:]
	}
	p.flush(&shown)
}

// group shows the tasks of one state.
func (p *page) group(shown *table, tasks []client.Task) {
	switch {
	case isBad(tasks[0]):
		for _, t := range tasks {
			p.failed(t)
		}
	case tasks[0].State == string(release.Success), len(tasks) > foldAfter:
		p.flush(shown)
		p.folded(tasks)
	default:
		for _, t := range tasks {
			p.listed(shown, t)
		}
	}
}

// flush prints what is listed so far.
func (p *page) flush(shown *table) {
	if len(shown.rows) > 0 {
		p.table(*shown)
	}
	*shown = table{}
}

// failed shows a task with why, and the last that it printed.
func (p *page) failed(t client.Task) {
	m := markOf(t.State)
	detail := string(t.Class)
	if t.Tried > 1 {
		detail += fmt.Sprintf(", attempt %d", t.Tried)
	}
	if d := p.style.between(t.Started, t.Finished); d != "" {
		detail += ", " + d
	}
	if last, _ := t.Attempt(0); last.KeptUntil.After(p.style.Now) {
		detail += ", kept for " + took(last.KeptUntil.Sub(p.style.Now))
	}
	if t.SoftFail {
		detail += ", fails nothing else"
	}
	p.line("  %s  %s", p.style.paint(m.tone, m.shape+" "+label(t)), p.style.paint(faint, strings.TrimPrefix(safe(detail), ", ")))
	last, _ := t.Attempt(0)
	if why := cmp.Or(last.Reason, t.Reason); why != "" {
		p.wrapped("      ", safe(why))
	}
	for _, f := range last.Failures[:min(len(last.Failures), lastLines)] {
		p.wrapped("      ", "✗ "+safe(f.Name)+": "+safe(f.Message))
	}
	for _, line := range last.LastLines[max(0, len(last.LastLines)-lastLines):] {
		p.line("      %s", strings.TrimRight(p.style.paint(faint, "|")+" "+p.style.fit(client.LogLine(line, false), 8), " "))
	}
}

// label is a task's name for people, and its id when that is not the same.
func label(t client.Task) string {
	if t.Name == "" || t.Name == string(t.ID) {
		return safe(t.ID)
	}
	return safe(t.Name)
}

// listed shows a task on a line.
func (p *page) listed(shown *table, t client.Task) {
	shown.indent, shown.columns = 2, []column{{least: 16}, {}, {}, {least: 20, wraps: true}}
	m := markOf(t.State)
	shown.row(cell{m.shape + " " + label(t), m.tone}, cell{m.word, faint}, cell{p.since(t), faint}, cell{safe(cmp.Or(t.Reason, holds(t))), faint})
}

// holds names the places that a task that runs has leased.
func holds(t client.Task) string {
	last, _ := t.Attempt(0)
	if t.State != client.TaskRunning || len(last.Lease.Places) == 0 {
		return ""
	}
	var names []string
	for _, held := range last.Lease.Places {
		names = append(names, last.Lease.Provider+"/"+held.Place)
	}
	return "holds " + strings.Join(names, ", ")
}

// since is how long a task is in what it is doing.
func (p *page) since(t client.Task) string {
	switch t.State {
	case client.TaskRunning:
		return p.style.between(t.Started, t.Finished)
	case client.TaskDelayed:
		if left := t.Delayed.Sub(p.style.Now); left > 0 {
			return "in " + took(left)
		}
	case client.TaskWaiting, client.TaskQueued:
		return p.style.age(t.Requested)
	}
	return ""
}

// folded shows many tasks on one line, by job.
func (p *page) folded(tasks []client.Task) {
	m := markOf(tasks[0].State)
	p.wrapped("  ", p.style.paint(m.tone, fmt.Sprintf("%s %d %s:", m.shape, len(tasks), m.word))+" "+jobs(tasks))
	p.retried(tasks)
}

// retried names those that passed on a retry only, with what their attempts before ended as.
func (p *page) retried(tasks []client.Task) {
	for _, t := range tasks {
		if t.Retried() {
			p.wrapped("    ", p.style.paint(warn, "↻ "+label(t))+" passed on a retry: "+stumbles(t))
		}
	}
}

func stumbles(t client.Task) string {
	var out []string
	for _, a := range t.Attempts {
		if a.Outcome != release.Success && a.Class != "" && a.Class != release.ClassCancelled {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("attempt %d ended as %s (%s)", a.Number, safe(a.Class), safe(a.Reason)), " ()"))
		}
	}
	return strings.Join(out, "; ")
}

// jobs names the jobs of tasks in their order: "lock ×4, wheel ×8, jar".
func jobs(tasks []client.Task) string {
	n := map[string]int{}
	var names []string
	for _, t := range tasks {
		name := safe(cmp.Or(t.Job, string(t.ID)))
		if n[name]++; n[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, n[name])
		}
	}
	return strings.Join(names, ", ")
}

// tally counts tasks by state: "1 failure, 2 running, 12 success of 15".
func tally(sorted []client.Task) string {
	var parts []string
	for i := 0; i < len(sorted); {
		n := i
		for n < len(sorted) && sorted[n].State == sorted[i].State {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d %s", n-i, markOf(sorted[i].State).word))
		i = n
	}
	return fmt.Sprintf("%s of %d", strings.Join(parts, ", "), len(sorted))
}
