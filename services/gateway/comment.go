package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluiceci/sluice/pkg/directive"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/release"
)

// comment stores the directives of a comment. What they may do, and to which commit, is found out after the answer: the
// forge has to be asked, and may be away.
func (g *gateway) comment(ctx context.Context, p *Project, parsed forge.Parsed) (received, error) {
	c := parsed.Comment
	if why := deaf(p, c.Body); why != "" {
		return received{Ignored: why}, nil
	}
	text, err := g.masked(p, directive.Strip(c.Body))
	if err != nil {
		return received{}, err
	}
	id, err := g.say(ctx, event.Fleet, event.CommentReceived{
		Comment: release.Derive("comment", p.Forge, p.Repo, c.ID), Project: p.Name, Number: c.Number, Author: c.Author,
		AuthorID: c.AuthorID, Text: text, Head: c.Head, URL: c.URL, Forge: p.Forge, Delivery: parsed.Delivery,
		Verified: parsed.Verified, At: g.deps.Now().UTC(),
	})
	return received{Event: id}, err
}

// deaf says why a comment is not for us, or "".
func deaf(p *Project, text string) string {
	commands, err := directive.Parse(text)
	var problems directive.Errors
	_ = errors.As(err, &problems) // there may be none
	switch {
	case len(commands)+len(problems) == 0:
		return "the comment has no directive: a line such as /test"
	case !directive.Ours(commands, problems):
		return "the comment has no directive of Sluice's: " + problems[0].String()
	case p.Token == "" || p.BaseURL == "":
		return fmt.Sprintf("project %s has no token and base_url: the forge cannot be asked who may do this", p.Name)
	}
	return ""
}

// masked takes the project's secrets out of a text that becomes part of a fact.
func (g *gateway) masked(p *Project, text string) (string, error) {
	var secrets []string
	for _, name := range append([]string{p.Token}, p.Secrets...) {
		if value, err := g.deps.Secret(name); err == nil && len(value) >= mask.MinLength {
			secrets = append(secrets, value) // one that is missing cannot be in the text
		}
	}
	m, err := mask.New(secrets)
	if err != nil {
		return "", err
	}
	return m.Text(text), nil
}
