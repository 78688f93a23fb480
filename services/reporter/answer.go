package reporter

import (
	"context"
	"net/url"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/release"
)

// answered posts the answer to a comment. The fact has a place, so there is one; what was posted carries the fact's id, so
// it is posted once, whatever breaks off.
func (s *statuses) answered(ctx context.Context, d *bus.Delivery[event.CommentAnswered]) error {
	p, ok := s.project(release.Change{Project: d.Data.Project})
	if !ok || s.deps.Now().Sub(d.Event.Time) > statusAge {
		return nil
	}
	leave, err := s.enter(p)
	if err != nil {
		return err
	}
	defer leave()
	token, err := s.deps.Secret(p.Token)
	if err != nil {
		return fault.New(fault.Denied, "cannot answer on pull request %d: %w", d.Data.Number, err)
	}
	text := d.Data.Text
	if d.Event.Run != event.Fleet {
		text += "\n[Run " + string(d.Event.Run) + "](" + s.page(d.Event.Run) + ")\n"
	}
	text, err = s.masked(text)
	if err != nil {
		return err
	}
	api := forge.API{Forge: p.Forge, BaseURL: p.BaseURL, Token: token, Repo: p.Repo}
	return api.PostAnswer(ctx, d.Data.Number, d.Event.ID, text)
}

// masked takes the tokens of all projects out of a text that everybody may read.
func (s *statuses) masked(text string) (string, error) {
	var secrets []string
	for _, p := range s.projects {
		if value, err := s.deps.Secret(p.Token); err == nil && len(value) >= mask.MinLength {
			secrets = append(secrets, value) // one that is missing cannot be in the text
		}
	}
	m, err := mask.New(secrets)
	if err != nil {
		return "", err
	}
	return m.Text(text), nil
}

// page is where people find a run.
func (s *statuses) page(run release.RunID) string {
	return s.public + "/runs/" + url.PathEscape(string(run))
}

// enter takes the one place at a project's forge, or says that it is busy.
func (s *statuses) enter(p Project) (leave func(), err error) {
	select {
	case s.busy[p.Name] <- struct{}{}:
		return func() { <-s.busy[p.Name] }, nil
	default:
		return nil, bus.Again(statusPause)
	}
}
