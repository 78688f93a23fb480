package reporter

import (
	"math"
	"net/http"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

const (
	pageDefault = 50
	pageMost    = 1000
)

func limit(r *http.Request) (int, error) {
	n, err := number(r, "limit", pageDefault, pageMost)
	return int(max(n, 1)), err
}

func (a *api) runs(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	before, err := number(r, "before", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	visible, err := a.source.Visible(r.Context(), access.Viewer)
	if err != nil {
		return err
	}
	runs, next, err := a.source.Model.Runs(r.Context(), readmodel.RunsQuery{
		Limit: n, Before: before, Project: r.FormValue("project"), Branch: r.FormValue("branch"), State: r.FormValue("state"),
		Visible: visible,
	})
	if err != nil {
		return err
	}
	return ok(w, struct {
		Runs []readmodel.Run `json:"runs"`
		Next uint64          `json:"next,omitempty"`
	}{runs, next})
}

func (a *api) run(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	after, err := number(r, "tasks_after", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	detail, err := a.source.Run(r.Context(), id, after)
	if err != nil {
		return err
	}
	return ok(w, detail)
}

func (a *api) tasks(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	n, err := limit(r)
	if err != nil {
		return err
	}
	after, err := number(r, "after", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	tasks, next, err := a.source.Model.Tasks(r.Context(), id, after, n)
	if err != nil {
		return err
	}
	return ok(w, struct {
		Tasks []readmodel.Task `json:"tasks"`
		Next  uint64           `json:"next,omitempty"`
	}{tasks, next})
}

func (a *api) task(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	name, err := taskOf(r)
	if err != nil {
		return err
	}
	task, err := a.source.Task(r.Context(), id, name)
	if err != nil {
		return err
	}
	return ok(w, task)
}

func (a *api) why(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	task := r.FormValue("task")
	if task != "" && !release.Token(task) {
		return fault.New(fault.Invalid, "cannot use task=%q: a task's name has letters, digits, - and _", task)
	}
	why, err := a.source.Explain(r.Context(), id, release.TaskID(task))
	if err != nil {
		return err
	}
	return ok(w, why)
}

func (a *api) timeline(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	n, err := limit(r)
	if err != nil {
		return err
	}
	after, err := number(r, "after", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	moments, next, err := a.source.Model.Timeline(r.Context(), readmodel.TimelineQuery{
		Run: id, After: after, Limit: n, Type: r.FormValue("type"), Task: release.TaskID(r.FormValue("task")),
	})
	if err != nil {
		return err
	}
	return ok(w, struct {
		Timeline []readmodel.Moment `json:"timeline"`
		Next     uint64             `json:"next,omitempty"`
	}{moments, next})
}

func (a *api) events(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	after, err := number(r, "after", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	return a.facts(w, r, id, after)
}

// allEvents lists the facts of all runs, and those of none: who signed in, which token was made. last=5 begins with the last five.
func (a *api) allEvents(w http.ResponseWriter, r *http.Request) error {
	after, err := number(r, "after", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	last, err := number(r, "last", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	if r.Form.Has("last") {
		stream, err := a.bus.StreamStatus(r.Context(), bus.Facts)
		if err != nil {
			return err
		}
		after = max(after, stream.LastSeq-min(last, stream.LastSeq))
	}
	return a.facts(w, r, "", after)
}

// facts answers with a page of facts behind a place in the stream, which it tells.
func (a *api) facts(w http.ResponseWriter, r *http.Request, run release.RunID, after uint64) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	events, next, err := a.source.Events(r.Context(), view.EventsQuery{Run: run, After: after, Limit: n, Type: r.FormValue("type")})
	if err != nil {
		return err
	}
	return ok(w, struct {
		Events []view.Event `json:"events"`
		Next   uint64       `json:"next,omitempty"`
		After  uint64       `json:"after"`
	}{events, next, after})
}

// rehearse answers what a publication of the run would do now. Every target is asked, and nothing is changed.
func (a *api) rehearse(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	said, err := a.source.Rehearse(r.Context(), id)
	if err != nil {
		return err
	}
	return ok(w, said)
}
