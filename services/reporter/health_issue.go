package reporter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// issueWait is when a bisection's result is told again whose issue is on its way.
const issueWait = 5 * time.Second

// sync makes the issue about a test what its last move wants. Every step may be made again: the issue is found by its test,
// a comment by the move.
func (h *healths) sync(ctx context.Context, d *bus.Delivery[event.TestMoved]) error {
	m := d.Data
	if m.Want == "" || !h.tells(m.Project) {
		return nil
	}
	newest, err := h.newest(ctx, event.TypeTestMoved, m.Project, m.Test)
	if err != nil {
		return err
	}
	if last, ok := newest.Data.(event.TestMoved); ok && last.Number > m.Number && last.Want != "" {
		return nil // a later move says what is wanted now
	}
	api, leave, err := h.forge(m.Project)
	if err != nil {
		return err
	}
	defer leave()
	known, err := h.known(ctx, api, m.Project, m.Test)
	if err != nil {
		return err
	}
	synced, err := h.bring(ctx, api, d.Event, m, known)
	if err != nil || synced.Issue == 0 {
		return err
	}
	return d.Emit(ctx, synced)
}

// tells reports whether issues of a project are kept.
func (h *healths) tells(project string) bool {
	p, asked := h.projects[project]
	return asked && p.Health.Issues && p.Token != "" && p.Forge != "" && p.Forge != "git"
}

// forge is the API of a project's forge, and what gives its one place back.
func (h *healths) forge(project string) (forge.API, func(), error) {
	p := h.projects[project]
	leave, err := h.statuses.enter(p)
	if err != nil {
		return forge.API{}, nil, err
	}
	token, err := h.deps.Secret(p.Token)
	if err != nil {
		leave()
		return forge.API{}, nil, fault.New(fault.Denied, "cannot keep the issues of project %s: %w", project, err)
	}
	return forge.API{Forge: p.Forge, BaseURL: p.BaseURL, Token: token, Repo: p.Repo}, leave, nil
}

// newest is the last fact of a type about a test; one without data when there is none.
func (h *healths) newest(ctx context.Context, t event.Type, project, test string) (event.Event, error) {
	e, err := h.deps.Bus.Get(ctx, t.FilterRun(event.Fleet, event.TestKey(project, test)))
	if bus.Empty(err) {
		return event.Event{}, nil
	}
	return e, err
}

// known is the issue about a test: the one that was told, or one that was opened by whoever did not come to tell it.
func (h *healths) known(ctx context.Context, api forge.API, project, test string) (forge.Issue, error) {
	e, err := h.newest(ctx, event.TypeIssueSynced, project, test)
	if err != nil {
		return forge.Issue{}, err
	}
	if s, ok := e.Data.(event.IssueSynced); ok {
		return api.Issue(ctx, s.Issue)
	}
	issue, _, err := api.FindIssue(ctx, issueKey(project, test))
	return issue, err
}

func issueKey(project, test string) string { return release.Derive("issue", project, test) }

// bring opens, tells, labels, opens again or closes an issue.
func (h *healths) bring(ctx context.Context, api forge.API, e event.Event, m event.TestMoved, issue forge.Issue) (event.IssueSynced, error) {
	out := event.IssueSynced{Project: m.Project, Test: m.Test, Intent: strconv.Itoa(int(m.Number)), Open: m.Want == event.IssueOpen}
	text, err := h.text(m.Text, m.Run)
	if err != nil {
		return out, err
	}
	open := m.Want == event.IssueOpen
	steps := []func() error{
		func() error { return api.PostOnIssue(ctx, issue.Number, e.ID, text) },
		func() error { return api.LabelIssue(ctx, issue.Number, labelled(m.Labels)) },
		func() error { return api.SetIssue(ctx, issue.Number, open) },
	}
	switch {
	case issue.Number == 0 && !open:
		return event.IssueSynced{}, nil
	case issue.Number == 0:
		if issue, err = api.OpenIssue(ctx, issueKey(m.Project, m.Test), m.Title, text, labelled(m.Labels)); err != nil {
			return out, err
		}
		out.Action, steps = "opened", nil
	case open && issue.Open:
		out.Action, steps = "updated", steps[:2]
	case open:
		out.Action = "reopened"
	default:
		out.Action = "closed"
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return out, err
		}
	}
	out.Issue, out.URL = issue.Number, issue.URL
	return out, nil
}

func labelled(labels []string) []string {
	out := slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// text is what is said on the forge, with the run's page and without secrets.
func (h *healths) text(text string, run release.RunID) (string, error) {
	if run != "" {
		text += "\n\n[Run " + string(run) + "](" + h.statuses.page(run) + ")"
	}
	return h.statuses.masked(text + "\n")
}

// blame tells the issue about a test who broke it.
func (h *healths) blame(ctx context.Context, d *bus.Delivery[event.BisectEnded]) error {
	b := d.Data
	if b.Blamed == "" || !h.tells(b.Project) {
		return nil
	}
	moved, err := h.newest(ctx, event.TypeTestMoved, b.Project, b.Test)
	if err != nil {
		return err
	}
	synced, err := h.newest(ctx, event.TypeIssueSynced, b.Project, b.Test)
	if err != nil {
		return err
	}
	told, is := synced.Data.(event.IssueSynced)
	m, _ := moved.Data.(event.TestMoved)
	switch {
	case !is && m.Want == event.IssueOpen && h.deps.Now().Sub(d.Event.Time) < statusAge:
		return fault.Later(issueWait, "the issue about test %s is not open yet", b.Test)
	case !is:
		return nil // one that is opened later names the commit
	}
	api, leave, err := h.forge(b.Project)
	if err != nil {
		return err
	}
	defer leave()
	text, err := h.text(fmt.Sprintf("Blamed commit: %s. %s", b.Blamed, b.Reason), "")
	if err != nil {
		return err
	}
	if err := api.PostOnIssue(ctx, told.Issue, d.Event.ID, text); err != nil {
		return err
	}
	told.Intent, told.Action = "bisect-"+release.Slug(b.Bisect), "commented"
	return d.Emit(ctx, told)
}
