package pages

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// taskPage is what the page of a task shows.
type taskPage struct {
	*view.Task
	Path, RunPath string
	Look          look
	Sentence      string
	Title         string    // of the run
	Expected      time.Time // when it starts, as far as the scheduler can tell
	Expects       string    // what that rests on, or why nobody can tell
	Holders       []holder  // who has what it waits for
	Kept, Held    string    // of the attempt that is shown: until when it is there for a person, and its places
	Attempts      []attemptRow
	Shown         readmodel.Attempt // whose log is shown; number 0 is none
	Log           logPart
	Asked         int32 // the attempt that was asked for, 0 for the last
	Live          bool
}

// holder is a task that has what another waits for.
type holder struct {
	schedule.Holder
	Path string
}

func holdersOf(list []schedule.Holder) []holder {
	out := make([]holder, len(list))
	for i, h := range list {
		out[i] = holder{Holder: h, Path: taskPath(h.Run, h.Task)}
	}
	return out
}

type attemptRow struct {
	readmodel.Attempt
	Look look
	Took time.Duration
	Wait time.Duration // from given to started
	Href string
	On   bool
}

// logPart is a piece of a log as the page shows it.
type logPart struct {
	Lines    []logLine
	First    int64  // line of the first one
	Next     int64  // line after the last one
	Earlier  string // address of the lines before, when there are
	LiveAt   string // address of the lines after, when there may be
	Whole    string // address of the whole log
	Problem  string
	Attempts int32
}

type logLine struct {
	Number int64
	Text   template.HTML
}

func (*taskPage) parts() []string { return []string{"head", "facts"} }

func (p *pages) taskPage(ctx context.Context, run release.RunID, id release.TaskID, attempt int32) (*taskPage, error) {
	t, err := p.Source.Task(ctx, run, id)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	page := &taskPage{
		Task: t, Path: taskPath(run, id), RunPath: runPath(run), Look: taskLook(t.Task), Sentence: taskSentence(t), Asked: attempt, Live: !t.Run.Ended(),
	}
	page.Title = titleOf(t.Run)
	if t.Why != nil && t.Task.Waits() {
		page.Expected, page.Expects, page.Holders = t.Why.Expected, t.Why.Expects, holdersOf(t.Why.Holders)
	}
	page.Shown, _ = t.Task.Attempt(attempt)
	page.Kept, page.Held = kept(page.Shown, now), held(page.Shown)
	for _, a := range t.Task.Attempts {
		row := attemptRow{Attempt: a, Look: lookOf(string(a.Outcome)), Href: page.Path + "?attempt=" + strconv.Itoa(int(a.Number)), On: a.Number == page.Shown.Number}
		switch {
		case a.Outcome != "":
		case !a.Started.IsZero():
			row.Look = lookOf(readmodel.TaskRunning)
		default:
			row.Look = lookOf(readmodel.TaskQueued)
		}
		row.Wait = firstOf(a.Started, a.Finished, now).Sub(a.Dispatched)
		if !a.Started.IsZero() {
			row.Took = firstOf(a.Finished, now).Sub(a.Started)
		}
		page.Attempts = append(page.Attempts, row)
	}
	return page, nil
}

// taskSentence is why a task is where it is.
func taskSentence(t *view.Task) string {
	switch {
	case t.Task.Retried():
		return stop("Passed on a retry: " + t.Task.Stumbled())
	case t.Why != nil && t.Why.Reason != "":
		return stop(upper(t.Why.Reason))
	case t.Task.Reason != "":
		last, _ := t.Task.Attempt(0)
		if !strings.Contains(t.Task.Reason, last.Reason) {
			return stop(upper(last.Reason)) + " " + stop(upper(t.Task.Reason))
		}
		return stop(upper(t.Task.Reason))
	case t.Task.State == readmodel.TaskPlanned:
		return "It is in the plan and not wanted yet: tests are requested once there is a candidate."
	default:
		return ""
	}
}

func (p *pages) task(w http.ResponseWriter, r *http.Request) error {
	run, id, err := taskOf(r)
	if err != nil {
		return err
	}
	page, err := p.taskPage(r.Context(), run, id, attemptOf(r))
	if err != nil {
		return err
	}
	if page.Shown.Number > 0 {
		from, _ := strconv.ParseInt(r.FormValue("from_line"), 10, 64)
		page.Log = p.readLog(r.Context(), page, from)
	}
	name := page.Task.Task.Name
	return p.draw(w, http.StatusOK, "task", frame{
		Title: name + " · " + page.Look.Word, Section: "runs", Command: "sluice logs " + string(run) + "/" + string(id), Page: page,
	})
}

// attemptOf is the attempt that is asked for; what is no number is the last one.
func attemptOf(r *http.Request) int32 {
	n, _ := strconv.ParseInt(r.FormValue("attempt"), 10, 32)
	return int32(max(n, 0))
}

func (p *pages) taskLive(w http.ResponseWriter, r *http.Request) error {
	run, id, err := taskOf(r)
	if err != nil {
		return err
	}
	return p.watch(w, r, run, "task", func(ctx context.Context) (partial, bool, error) {
		page, err := p.taskPage(ctx, run, id, attemptOf(r))
		if err != nil {
			return nil, false, err
		}
		return page, !page.Live, nil
	})
}

// readLog reads the end of the log of the attempt that is shown, or the lines from one on.
func (p *pages) readLog(ctx context.Context, page *taskPage, from int64) logPart {
	a := page.Shown
	if from <= 0 {
		from = max(1, a.LogLines-maxLogLines+1)
	}
	out := logPart{First: from, Next: from, Whole: apiLog(page, a.Number)}
	if from > 1 {
		out.Earlier = page.Path + "?" + url.Values{
			"attempt": {strconv.Itoa(int(a.Number))}, "from_line": {strconv.FormatInt(max(1, from-maxLogLines), 10)},
		}.Encode() + "#log"
	}
	ctx, cancel := context.WithTimeout(ctx, logWithin)
	defer cancel()
	cut := newLines(from, maxLogLines, a.Finished.IsZero())
	err := p.Logs.Read(ctx, live.LogQuery{Run: page.Run.ID, Task: page.Task.Task.ID, Attempt: a.Number, From: from}, cut.take)
	if err != nil {
		out.Problem = err.Error()
	}
	out.Lines, out.Next = cut.finish()
	if len(out.Lines) > 0 {
		out.First = out.Lines[0].Number
	}
	if a.Finished.IsZero() {
		out.LiveAt = page.Path + "/log?" + url.Values{
			"attempt": {strconv.Itoa(int(a.Number))}, "from_line": {strconv.FormatInt(out.Next, 10)},
		}.Encode()
	}
	return out
}

func apiLog(page *taskPage, attempt int32) string {
	return "/api/v1" + page.Path + "/log?attempt=" + strconv.Itoa(int(attempt))
}
