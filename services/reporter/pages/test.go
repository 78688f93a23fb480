package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/chart"
	"github.com/sluiceci/sluice/services/reporter/view"
)

const (
	resultsOnPage = 30
	runsLookedUp  = 100 // of bisections, for one page
)

// testPage is one test: how it fares and why, what its runs found, who looks for whoever broke it.
type testPage struct {
	testRow
	Sentence string
	Command  string // that a person may want next
	Shown    []chart.Result
	More     string // address of the older results
	Alerts   []chart.Result
	Bisects  []bisectBox
}

// bisectBox is a bisection with what became of its runs.
type bisectBox struct {
	chart.Bisect
	Look   look
	Rounds []roundRow
}

type roundRow struct {
	chart.Round
	Runs []bisectRun
}

type bisectRun struct {
	event.BisectRun
	Path string
	Look look
}

func (p *pages) test(w http.ResponseWriter, r *http.Request) error {
	t, known := p.Book.Test(r.PathValue("test"))
	if !known || !access.From(r.Context()).Sees(t.Project) {
		return view.Missing("this test", "/tests lists those that were judged; no test is judged without health: in the project's configuration")
	}
	from, _ := strconv.Atoi(r.FormValue("from"))
	from = min(max(from, 0), len(t.Results))
	to := min(from+resultsOnPage, len(t.Results))
	page := testPage{testRow: p.testRow(t), Sentence: healthSentence(t), Command: healthCommand(t), Shown: t.Results[from:to], Alerts: t.Alerts()}
	if to < len(t.Results) {
		page.More = testPath(t.Key) + "?from=" + strconv.Itoa(to)
	}
	left := runsLookedUp
	for _, b := range t.Bisects {
		page.Bisects = append(page.Bisects, p.bisectBox(r.Context(), b, &left))
	}
	return p.draw(w, http.StatusOK, "test", frame{Title: t.Name, Section: "tests", Command: "sluice tests", Page: page})
}

// healthSentence says why a test is as it is.
func healthSentence(t chart.Test) string {
	switch {
	case t.By != "":
		return stop(upper(fmt.Sprintf("%s did this: %s", t.By, cmp.Or(t.Reason, "no reason was given"))))
	case t.Reason != "":
		return stop(upper(t.Reason))
	case len(t.Results) > 0:
		return "It has never moved from where every test begins."
	default:
		return "No run of the release branch has judged it yet."
	}
}

// healthCommand is what a person can do about it.
func healthCommand(t chart.Test) string {
	if t.State == "jailed" {
		return fmt.Sprintf("sluice tests free %q --project %q --reason …", t.Name, t.Project)
	}
	return fmt.Sprintf("sluice tests jail %q --project %q --owner … --until …", t.Name, t.Project)
}

// bisectBox adds to a bisection how its runs ended, the newest rounds first.
func (p *pages) bisectBox(ctx context.Context, b chart.Bisect, left *int) bisectBox {
	box := bisectBox{Bisect: b, Look: map[string]look{
		"running": {"ring", "running", "live"}, "blamed": {"check", "found", "good"}, "gave up": {"slash", "gave up", "warn"},
	}[b.State()]}
	for _, round := range slices.Backward(b.Rounds) {
		row := roundRow{Round: round}
		for _, run := range round.Runs {
			row.Runs = append(row.Runs, p.bisectRun(ctx, run, left))
		}
		box.Rounds = append(box.Rounds, row)
	}
	return box
}

// bisectRun is a run of a bisection, with its state where it is known and not too many were asked for.
func (p *pages) bisectRun(ctx context.Context, run event.BisectRun, left *int) bisectRun {
	out := bisectRun{BisectRun: run, Look: look{"hollow", "", "calm"}}
	if *left--; *left < 0 {
		return out
	}
	found, known, err := p.Source.Model.Run(ctx, run.Run)
	if err != nil || !known {
		return out
	}
	out.Path, out.Look = runPath(run.Run), lookOf(found.State)
	if found.State == string(release.Success) {
		out.Look.Word = "passed"
	}
	return out
}
