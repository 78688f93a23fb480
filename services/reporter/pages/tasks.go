package pages

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// taskRow is a task in the list of a run.
type taskRow struct {
	readmodel.Task
	Path string
	Look look
	Bar  template.HTML
	Took time.Duration
	Mark string    // what else there is to say: a success on a retry, what is kept, which places are held
	Tone string    // of the mark
	Why  string    // what it waits for
	When time.Time // when it is expected to start, or will be tried again; zero when nobody can tell
}

// taskGroups are a run's tasks: what needs eyes first, what succeeded folded.
type taskGroups struct {
	Failed, Active, Waiting, Done []taskRow
	Retried                       []taskRow     // of those that are done, the ones that passed on a retry
	Span                          time.Duration // that a bar covers
}

// OnlyDone reports whether there is nothing else to show.
func (g taskGroups) OnlyDone() bool { return len(g.Failed)+len(g.Active)+len(g.Waiting) == 0 }

func groupTasks(d *view.Detail, waits map[release.TaskID]schedule.Why, now time.Time) taskGroups {
	from, to := span(d, now)
	g := taskGroups{Span: to.Sub(from)}
	for _, t := range d.Tasks {
		row := taskRow{Task: t, Path: taskPath(d.Run.ID, t.ID), Look: taskLook(t), Bar: drawBar(t, from, to, d.Run.Ended(), now), Took: taskTook(t, now)}
		row.Mark, row.Tone = markOf(t, now)
		row.Why, row.When = waitOf(t, waits[t.ID])
		switch t.State {
		case string(release.Success):
			g.Done = append(g.Done, row)
			if t.Retried() {
				g.Retried = append(g.Retried, row)
			}
		case readmodel.TaskRunning:
			g.Active = append(g.Active, row)
		case readmodel.TaskQueued, readmodel.TaskDelayed, readmodel.TaskWaiting, readmodel.TaskPlanned:
			g.Waiting = append(g.Waiting, row)
		default:
			g.Failed = append(g.Failed, row)
		}
	}
	slices.SortStableFunc(g.Failed, func(a, b taskRow) int { return cmp.Compare(blame(a.State), blame(b.State)) })
	return g
}

// markOf is what a task's state alone does not tell.
func markOf(t readmodel.Task, now time.Time) (text, tone string) {
	last, _ := t.Attempt(0)
	switch {
	case last.KeptUntil.After(now):
		return kept(last, now), "warn"
	case t.State == readmodel.TaskRunning && len(last.Lease.Places) > 0:
		return "holds " + held(last), "live"
	default:
		return "", ""
	}
}

// waitOf is what a task waits for, and until when: as the scheduler says, or as the last fact does.
func waitOf(t readmodel.Task, why schedule.Why) (string, time.Time) {
	switch {
	case t.State == readmodel.TaskDelayed:
		return upper(t.Reason), t.Delayed
	case !t.Waits():
		return "", time.Time{}
	case why.Reason == "":
		return upper(t.Reason), time.Time{}
	default:
		return upper(why.Reason), why.Expected
	}
}

// kept says until when what an attempt left is there for a person; "" when it is not.
func kept(a readmodel.Attempt, now time.Time) string {
	if !a.KeptUntil.After(now) {
		return ""
	}
	return "kept until " + a.KeptUntil.UTC().Format("15:04") + " (" + took(a.KeptUntil.Sub(now)) + ")"
}

// held names the places of an attempt.
func held(a readmodel.Attempt) string {
	var names []string
	for _, p := range a.Lease.Places {
		names = append(names, a.Lease.Provider+"/"+p.Place)
	}
	return strings.Join(names, ", ")
}

// blame orders what went wrong: the cause before what follows from it.
func blame(state string) int {
	return slices.Index([]string{string(release.Failure), string(release.Error), string(release.Cancelled), readmodel.TaskSkipped}, state)
}

// span is the time that the bars of a run cover.
func span(d *view.Detail, now time.Time) (from, to time.Time) {
	from = cmp.Or(d.Run.Planned, d.Run.Received)
	to = from
	for _, t := range d.Tasks {
		for _, a := range t.Attempts {
			to = latest(to, a.Dispatched, a.Started, a.Finished)
		}
	}
	if !d.Run.Ended() {
		to = latest(to, now)
	}
	if !to.After(from) {
		to = from.Add(time.Second)
	}
	return from, to
}

func latest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if t.After(out) {
			out = t
		}
	}
	return out
}

// taskTook is how long the last attempt took, or takes.
func taskTook(t readmodel.Task, now time.Time) time.Duration {
	a, ok := t.Attempt(0)
	switch {
	case !ok || a.Started.IsZero():
		return 0
	case a.Finished.IsZero():
		return now.Sub(a.Started)
	default:
		return a.Finished.Sub(a.Started)
	}
}

// trouble is a failed task with what it printed last.
type trouble struct {
	readmodel.Task
	Path  string
	Look  look
	Last  readmodel.Attempt
	Lines []template.HTML
	Open  bool   // its lines are shown at once
	Kept  string // until when its workspace is left for a person
}

const (
	maxTroubles     = 8
	maxTroubleLines = 14
	openTroubles    = 2
)

// troubles are the tasks that failed by themselves, not those that failed for them.
func troubles(d *view.Detail, now time.Time) []trouble {
	var out []trouble
	for _, t := range d.Tasks {
		if t.State != string(release.Failure) && t.State != string(release.Error) || len(out) == maxTroubles {
			continue
		}
		last, _ := t.Attempt(0)
		out = append(out, trouble{
			Task: t, Path: taskPath(d.Run.ID, t.ID), Look: lookOf(t.State), Last: last, Lines: lastLines(last), Open: len(out) < openTroubles,
			Kept: kept(last, now),
		})
	}
	return out
}

func lastLines(a readmodel.Attempt) []template.HTML {
	var c colours
	var out []template.HTML
	for _, line := range a.LastLines[max(0, len(a.LastLines)-maxTroubleLines):] {
		out = append(out, template.HTML(c.line(line))) //nolint:gosec // colours escapes
	}
	return out
}
