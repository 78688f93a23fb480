package reporter

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/health"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// look moves a test by its results, if they ask for it. It is pure.
func (p *patient) look(config Health, now time.Time) (event.TestMoved, bool) {
	results, last := p.counted()
	if !p.news(last) {
		return event.TestMoved{}, false
	}
	newest := results[0]
	test := p.asTest(config, newest)
	history := make([]health.Result, len(results))
	for i, j := range results {
		history[i] = j.result()
	}
	turn := health.Look(test, history, now)
	again := turn.From == health.Jailed && turn.To == health.Jailed && newest.Outcome != release.Success &&
		!p.moved.Until.IsZero() && newest.at.After(p.moved.Until)
	if turn.From == turn.To && !again {
		return event.TestMoved{}, false
	}
	m := event.TestMoved{
		Project: p.project, Test: p.test, Number: p.moved.Number + 1, From: string(turn.From), To: string(turn.To),
		Variant: string(test.Variant), Run: newest.run, Commit: newest.commit, Judged: int64(last), Owner: test.Team,
		Issue: p.issue.Issue, Reason: reasonOf(newest),
	}
	for _, intent := range turn.Intents {
		follow(&m, intent)
	}
	complete(&m, config, now, again)
	return m, true
}

// asTest is the test as the rules know it, by its newest result.
func (p *patient) asTest(config Health, newest judgement) health.Test {
	t := health.Test{
		Name: p.test, Team: cmp.Or(newest.Owner, config.Owner, "nobody"), Stable: newest.Stable, State: health.State(p.moved.To),
		Issue: health.Issue{Number: int(p.issue.Issue), Open: p.issue.Open}, Variant: health.CITest,
	}
	if newest.Frequency != "" {
		t.Variant = health.ReleaseTest
	}
	if p.blamedSeq > p.passed {
		t.Blamed = string(p.blamed)
	}
	for _, glob := range config.NeverJail {
		if ok, _ := path.Match(glob, p.test); ok {
			t.Policy.NeverJail = true
		}
	}
	return t
}

// reasonOf is what the newest result says.
func reasonOf(newest judgement) string {
	if newest.Outcome == release.Success {
		return "it passed in run " + string(newest.run)
	}
	text := fmt.Sprintf("it ended in run %s as %s", newest.run, newest.Class)
	if newest.Reason != "" {
		text += ": " + newest.Reason
	}
	return text
}

// follow notes what is to follow a move.
func follow(m *event.TestMoved, i health.Intent) {
	switch i.Do {
	case health.OpenIssue, health.ReopenIssue, health.UpdateIssue:
		m.Want, m.Title = event.IssueOpen, cmp.Or(i.Title, m.Title)
	case health.CommentIssue, health.LabelIssue:
		m.Want = event.IssueOpen
	case health.CloseIssue:
		m.Want = event.IssueClosed
	case health.Bisect:
		m.Passing, m.Failing = release.Commit(i.Passing), release.Commit(i.Failing)
	case health.PutInJail:
		m.Owner, m.Until, m.Reason = i.Jail.Owner, i.Jail.Until, i.Jail.Reason+" "+m.Reason
	}
	m.Text = cmp.Or(m.Text, i.Text)
	m.Labels = append(m.Labels, i.Labels...)
}

// complete says what the rules leave out where they know of no issue: one may be on its way.
func complete(m *event.TestMoved, config Health, now time.Time, again bool) {
	switch health.State(m.To) {
	case health.Jailed:
		m.Until = now.Add(cmp.Or(config.JailFor, defaultJail)).UTC()
		if again {
			m.Reason = "its jail was over, and it fails still: " + m.Reason
		}
		m.Want, m.Title = event.IssueOpen, cmp.Or(m.Title, fmt.Sprintf("Test %s is jailed", m.Test))
		m.Text = fmt.Sprintf("%s\n\nTest %s is left out until %s; %s owns it until then.", m.Reason, m.Test, m.Until.Format(time.DateOnly), m.Owner)
		m.Labels = append(m.Labels, "jailed-test")
	case health.Passing:
		if m.From != string(health.Failing) {
			m.Want, m.Text = event.IssueClosed, cmp.Or(m.Text, "The test passes again.")
		}
	}
	if m.Want != "" && health.State(m.To) != health.Jailed {
		m.Text += "\n\n" + m.Reason
	}
}

// bisect asks who broke a test, where its last move says between which commits that is to be looked for, and not more often
// on a day than the rules allow.
func (p *patient) bisect(config Health, ps *patients, now time.Time) (event.BisectRequested, bool) {
	b := config.Bisect
	if b == nil || p.moved.Passing == "" || p.moved.Failing == "" {
		return event.BisectRequested{}, false
	}
	id := release.Derive("bisect", p.project, p.test, strconv.Itoa(int(p.moved.Number)))
	if _, asked := ps.bisected[id]; asked {
		return event.BisectRequested{}, false
	}
	today := 0
	for _, at := range ps.bisected {
		if now.Sub(at) < 24*time.Hour {
			today++
		}
	}
	if today >= health.BisectsPerDay("release") {
		return event.BisectRequested{}, false
	}
	out := event.BisectRequested{
		Bisect: id, Project: p.project, Test: p.test, Good: p.moved.Passing, Bad: p.moved.Failing, Ways: cmp.Or(b.Ways, 3),
		Runs: cmp.Or(b.Runs, 1), Confirm: max(cmp.Or(b.Confirm, 1), 0), Budget: cmp.Or(b.Budget, 30),
		Deadline: now.Add(cmp.Or(b.Deadline, 24*time.Hour)).UTC(), Reason: "it is " + p.moved.To,
	}
	for _, j := range p.results {
		if j.run == p.moved.Run {
			out.Task, out.Parameters = string(j.Task), j.parameters
		}
	}
	return out, true
}
