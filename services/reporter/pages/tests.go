package pages

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/chart"
)

const (
	testsOnPage = 60
	inStrip     = 24 // results
)

// testsPage is how the tests of the release branches fare: the worst first.
type testsPage struct {
	Query   chart.Query
	Tests   []testRow
	Total   int
	Whole   bool
	Filters []filter
	Here    string // address of this page
	Next    string
}

// testRow is a test in the list.
type testRow struct {
	chart.Test
	Path   string
	Jailed bool
	Ago    string
	Bisect *chart.Bisect // the newest
}

func (p *pages) tests(w http.ResponseWriter, r *http.Request) error {
	from, _ := strconv.Atoi(r.FormValue("from")) // what is no number begins with the first
	q := chart.Query{
		Project: r.FormValue("project"), State: r.FormValue("state"), Text: strings.TrimSpace(r.FormValue("name")), From: max(from, 0), Limit: testsOnPage,
	}
	list := p.Book.List(q, access.From(r.Context()).Sees)
	page := testsPage{Query: q, Total: list.Total, Whole: list.Whole, Filters: testFilters(q, list.Count), Here: testsAddress(q)}
	for _, t := range list.Tests {
		page.Tests = append(page.Tests, p.testRow(t))
	}
	if list.Next > 0 {
		q.From = list.Next
		page.Next = testsAddress(q)
	}
	return p.draw(w, http.StatusOK, "tests", frame{Title: "Tests", Section: "tests", Command: "sluice tests", Page: page})
}

func (p *pages) testRow(t chart.Test) testRow {
	now := p.Now()
	row := testRow{Test: t, Path: testPath(t.Key), Jailed: t.Jailed(now), Ago: ago(now, t.Since)}
	if len(t.Bisects) > 0 {
		row.Bisect = &t.Bisects[0]
	}
	return row
}

func testPath(key string) string { return "/tests/" + url.PathEscape(key) }

// testsAddress is the list that a query asks for.
func testsAddress(q chart.Query) string {
	values := url.Values{}
	for k, v := range map[string]string{"project": q.Project, "state": q.State, "name": q.Text} {
		if v != "" {
			values.Set(k, v)
		}
	}
	if q.From > 0 {
		values.Set("from", strconv.Itoa(q.From))
	}
	if len(values) == 0 {
		return "/tests"
	}
	return "/tests?" + values.Encode()
}

// testFilters are the states that there are, with how many tests are in each.
func testFilters(q chart.Query, count map[string]int) []filter {
	all := 0
	for _, n := range count {
		all += n
	}
	choice := func(word, state string, n int) filter {
		other := q
		other.State, other.From = state, 0
		return filter{Word: fmt.Sprintf("%s %d", word, n), Href: testsAddress(other), On: q.State == state}
	}
	out := []filter{choice("all", "", all)}
	for _, state := range []string{"consistently_failing", "failing", "jailed", "flaky", "passing"} {
		if count[state] > 0 || q.State == state {
			out = append(out, choice(healthLook(state).Word, state, count[state]))
		}
	}
	return out
}

// healthLook is how a state of health is shown.
func healthLook(state string) look {
	switch state {
	case "passing":
		return look{"check", "passing", "good"}
	case "failing":
		return look{"cross", "failing", "bad"}
	case "consistently_failing":
		return look{"bang", "keeps failing", "bad"}
	case "flaky":
		return look{"again", "flaky", "warn"}
	case "jailed":
		return look{"gate-shut", "jailed", "warn"}
	case "":
		return look{"hollow", "not judged", "calm"}
	default:
		return lookOf(state)
	}
}

// endLook is how the end of a test is shown: the platform's faults are not the product's.
func endLook(r chart.Result) look {
	l := lookOf(string(r.Outcome))
	if r.Outcome == release.Success {
		l.Word = "passed"
	} else if r.Class != "" {
		l.Word = string(r.Class)
	}
	return l
}

// strip draws the last results, the newest at the right: what passed is low, what failed is tall, what the platform spoilt is an
// outline.
func strip(results []chart.Result) template.HTML {
	shown := slices.Clone(results[:min(len(results), inStrip)])
	slices.Reverse(shown)
	passed := 0
	var bars strings.Builder
	for i, r := range shown {
		class, y, height := "bad", 1, 14
		switch r.Outcome {
		case release.Success:
			class, y, height = "good", 8, 7
			passed++
		case release.Failure:
		default:
			class, y, height = "warn", 2, 12
		}
		fmt.Fprintf(&bars, `<rect class="%s" x="%d" y="%d" width="4" height="%d" rx="1"/>`, class, i*6+1, y, height)
	}
	width := max(len(shown), 1) * 6
	return template.HTML(fmt.Sprintf(`<svg class="strip" preserveAspectRatio="none" viewBox="0 0 %d 16" width="%d" height="16" role="img" aria-label="%d of the last %d passed">%s</svg>`, //nolint:gosec // numbers and constants
		width, width, passed, len(shown), bars.String()))
}

// day is a date as people say it.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}
