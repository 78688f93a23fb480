package gateway

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
)

const (
	commentWorkers = 4
	// commentPause is when a comment is tried again whose forge is busy with another one.
	commentPause = 200 * time.Millisecond
	// resolveTimeout is for all questions to a forge about one comment.
	resolveTimeout = 45 * time.Second
)

// resolve asks the forge who wrote a comment and what the pull request's head is. What it answers first is stored and
// holds, whatever moves later. A forge that is away holds up the comments of its own project only.
func (g *gateway) resolve(ctx context.Context, d *bus.Delivery[event.CommentReceived]) error {
	known, err := g.has(ctx, event.Fleet, event.CommentResolved{Comment: d.Data.Comment, Project: d.Data.Project, Number: d.Data.Number})
	if err != nil || known {
		return err
	}
	p, err := g.project(d.Data.Project)
	if err != nil {
		return err
	}
	select {
	case g.busy[p.Name] <- struct{}{}:
		defer func() { <-g.busy[p.Name] }()
	default:
		return bus.Again(commentPause)
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	resolved, err := g.ask(ctx, p, d.Data)
	if err != nil {
		return err
	}
	return d.Emit(ctx, resolved)
}

func (g *gateway) ask(ctx context.Context, p Project, c event.CommentReceived) (event.CommentResolved, error) {
	token, err := g.deps.Secret(p.Token)
	if err != nil {
		return event.CommentResolved{}, fault.New(fault.Denied, "cannot ask the forge about a comment on pull request %d: %w", c.Number, err)
	}
	api := forge.API{Forge: p.Forge, BaseURL: p.BaseURL, Token: token, Repo: p.Repo}
	pull, err := api.Pull(ctx, c.Number)
	if err != nil {
		return event.CommentResolved{}, err
	}
	permission, err := api.Permission(ctx, c.Author, c.AuthorID)
	if err != nil {
		return event.CommentResolved{}, err
	}
	// What the forge says of the pull request is believed; where its commit is fetched from is the installation's word.
	change := pull.Change
	change.Project, change.Repo, change.CloneURL = p.Name, p.Repo, p.CloneURL
	change.Delivery, change.Verified = c.Delivery, c.Verified
	if !plain(change.HeadRepo, maxName) {
		return event.CommentResolved{}, fault.New(fault.Invalid, "cannot take pull request %d: the name of its head's repository is odd", c.Number)
	}
	return event.CommentResolved{
		Comment: c.Comment, Project: c.Project, Number: c.Number, Author: c.Author, Permission: permission, Text: c.Text,
		Pull: change, Open: pull.Open, Moved: c.Head.Valid() && c.Head != change.Commit,
	}, nil
}
