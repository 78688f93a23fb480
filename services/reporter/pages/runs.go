package pages

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

const runsOnPage = 60

// runRow is a run in the list.
type runRow struct {
	readmodel.Run
	Path   string
	Title  string
	Look   look
	Where  string // branch, tag or pull request
	Who    string
	Ago    string
	Took   time.Duration
	Reason string
	Meter  template.HTML
}

// runsPage is the list of runs: what needs eyes, what goes on, what is done.
type runsPage struct {
	Query                readmodel.RunsQuery
	Failed, Active, Done []runRow
	Next                 string // address of the older runs
	Filters              []filter
	LiveAt               string
	Total                int
}

// filter is one choice of what to list.
type filter struct {
	Word, Href string
	On         bool
}

func (p *pages) runs(w http.ResponseWriter, r *http.Request) error {
	q := runsQuery(r)
	var err error
	if q.Visible, err = p.Source.Visible(r.Context(), access.Viewer); err != nil {
		return err
	}
	runs, next, err := p.Source.Model.Runs(r.Context(), q)
	if err != nil {
		return err
	}
	page := runsPage{Query: q, Filters: filters(q), LiveAt: "/live", Total: len(runs)}
	if len(runs) > 0 {
		page.LiveAt += "?since=" + strconv.FormatUint(runs[0].Born, 10)
	}
	for _, run := range runs {
		row := p.row(run)
		switch {
		case run.Failed():
			page.Failed = append(page.Failed, row)
		case !run.Ended():
			page.Active = append(page.Active, row)
		default:
			page.Done = append(page.Done, row)
		}
	}
	if next != 0 {
		page.Next = address(q, "before", strconv.FormatUint(next, 10))
	}
	return p.draw(w, http.StatusOK, "runs", frame{Title: "Runs", Section: "runs", Command: "sluice runs", Page: page})
}

func runsQuery(r *http.Request) readmodel.RunsQuery {
	before, _ := strconv.ParseUint(r.FormValue("before"), 10, 63) // what is no number begins with the newest
	return readmodel.RunsQuery{
		Limit: runsOnPage, Before: before, Project: r.FormValue("project"), Branch: strings.TrimSpace(r.FormValue("branch")), State: r.FormValue("state"),
	}
}

// address is the list with one thing about it changed.
func address(q readmodel.RunsQuery, name, value string) string {
	values := url.Values{}
	for k, v := range map[string]string{"state": q.State, "branch": q.Branch, "project": q.Project} {
		if v != "" {
			values.Set(k, v)
		}
	}
	values.Set(name, value)
	if value == "" {
		values.Del(name)
	}
	if len(values) == 0 {
		return "/"
	}
	return "/?" + values.Encode()
}

func filters(q readmodel.RunsQuery) []filter {
	var out []filter
	for _, f := range []struct{ word, state string }{
		{"all", ""}, {"failed", "failed"}, {"running", readmodel.StateRunning}, {"succeeded", string(release.Success)},
	} {
		out = append(out, filter{Word: f.word, Href: address(q, "state", f.state), On: q.State == f.state})
	}
	return out
}

func (p *pages) row(r readmodel.Run) runRow {
	now := p.Now()
	row := runRow{
		Run: r, Path: runPath(r.ID), Look: lookOf(r.State), Where: readmodel.Place(r.Change()), Who: r.Author, Title: titleOf(r),
		Ago: ago(now, r.Received), Took: length(r, now), Meter: meter(r),
	}
	switch {
	case r.Failed() && r.Gate == "closed" && r.Released == "":
		row.Look, row.Reason = look{"gate-shut", "gate shut", "bad"}, stop(upper(r.GateWhy))
	case r.Released == "failed":
		row.Look, row.Reason = look{"bang", "release failed", "bad"}, stop(upper(r.Reason))
	case r.Failed():
		row.Reason = stop(upper(r.Reason))
	case r.Released == "published":
		row.Look = look{"check", "released", "good"}
	case superseded(r) != "":
		row.Look, row.Reason = look{row.Look.Shape, "superseded", "calm"}, stop(upper(superseded(r)))
	case r.State == string(release.Cancelled):
		row.Reason = stop(upper(r.Reason))
	case !r.Ended():
		row.Reason = activity(r.Tasks)
	}
	return row
}

// activity is what a run is doing, in numbers.
func activity(c readmodel.Counts) string {
	var parts []string
	for _, s := range []struct{ state, word string }{
		{readmodel.TaskRunning, "running"},
		{readmodel.TaskQueued, "queued"},
		{readmodel.TaskWaiting, "waiting"},
		{readmodel.TaskDelayed, "wait to retry"},
		{string(release.Failure), "failed"},
		{string(release.Error), "in error"},
	} {
		if n := c[s.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.word))
		}
	}
	if len(parts) == 0 {
		return "Being planned"
	}
	return strings.Join(parts, " · ")
}

// meter draws how many of a run's tasks are done, as one bar.
func meter(r readmodel.Run) template.HTML {
	all := max(int(r.Builds+r.Tests), r.Tasks.Total())
	if all == 0 {
		return ""
	}
	var b strings.Builder
	good := r.Tasks.Of(string(release.Success))
	fmt.Fprintf(&b, `<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="%d of %d tasks succeeded">`, good, all)
	x := 0.0
	for _, s := range []struct {
		tone string
		n    int
	}{
		{"good", good},
		{"bad", r.Tasks.Of(string(release.Failure), string(release.Error), readmodel.TaskSkipped)},
		{"warn", r.Tasks.Of(string(release.Cancelled), readmodel.TaskDelayed)},
		{"live", r.Tasks.Of(readmodel.TaskRunning)},
	} {
		width := 100 * float64(s.n) / float64(all)
		if s.n > 0 {
			fmt.Fprintf(&b, `<rect class="%s" x="%.2f" width="%.2f" height="6"/>`, s.tone, x, width)
		}
		x += width
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and constants
}

// runsLive sends the rows that change, each to its place, and how many runs came since the page was drawn. A run never
// moves to another place of the list while somebody looks at it.
func (p *pages) runsLive(w http.ResponseWriter, r *http.Request) error {
	since, _ := strconv.ParseUint(r.FormValue("since"), 10, 63)
	watcher := p.Hub.Watch("")
	defer watcher.Close()
	s := live.NewStream(w)
	if err := s.Ping(); err != nil {
		return err
	}
	fresh := map[release.RunID]bool{}
	for {
		changed, err := live.AwaitRuns(r.Context(), s, watcher, redrawPause)
		if err != nil {
			return err
		}
		for _, id := range changed {
			if err := p.sendRow(r, s, id, since, fresh); err != nil {
				return err
			}
		}
		if err := s.Flush(); err != nil {
			return err
		}
	}
}

func (p *pages) sendRow(r *http.Request, s *live.Stream, id release.RunID, since uint64, fresh map[release.RunID]bool) error {
	run, found, err := p.Source.Model.Run(r.Context(), id)
	if err != nil || !found || !access.From(r.Context()).Sees(run.Project) {
		return err
	}
	if run.Born > since {
		if !fresh[id] {
			fresh[id] = true
			text, err := p.part("runs", "fresh", len(fresh))
			if err != nil {
				return err
			}
			s.Add("fresh", "", text)
		}
		return nil
	}
	text, err := p.part("runs", "row", p.row(run))
	if err == nil {
		s.Add("run-"+string(id), "", text)
	}
	return err
}
