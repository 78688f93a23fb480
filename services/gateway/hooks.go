package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	httptransport "github.com/go-kit/kit/transport/http"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// delivery is a webhook as it came.
type delivery struct {
	forge   string
	project string // from the path; empty finds the project by its repository
	header  http.Header
	body    []byte
	known   keyring // that may have signed it
}

// received answers a delivery: the run that it belongs to, or why it starts none.
type received struct {
	Run     release.RunID `json:"run,omitempty"`
	Event   string        `json:"event,omitempty"` // id of the fact that is stored
	Ignored string        `json:"ignored,omitempty"`
}

// StatusCode makes go-kit's encoder answer 202: what follows from a change happens later.
func (received) StatusCode() int { return http.StatusAccepted }

func (g *gateway) hooks() http.Handler {
	return httptransport.NewServer(
		func(ctx context.Context, request any) (any, error) { return g.receive(ctx, request.(delivery)) },
		g.decodeDelivery,
		httptransport.EncodeJSONResponse,
		httptransport.ServerErrorEncoder(g.refuseDelivery),
	)
}

// decodeDelivery reads the body of a delivery that its headers do not refuse already: nobody else's is held in memory.
func (g *gateway) decodeDelivery(_ context.Context, r *http.Request) (any, error) {
	name := r.PathValue("forge")
	if !slices.ContainsFunc(forge.Forges(), func(f forge.Forge) bool { return f.Name == name }) {
		return nil, absent("cannot take deliveries of forge %q: expected /hooks/github, /hooks/gitlab or /hooks/gitea", name)
	}
	d := delivery{forge: name, project: r.PathValue("project"), header: r.Header}
	var err error
	if d.known, err = g.keys(d); err != nil {
		return nil, err
	}
	if err := forge.Precheck(name, r.Header, d.known.secrets); err != nil {
		return nil, d.known.explain(err)
	}
	d.body, err = readBody(r)
	return d, err
}

// receive checks a delivery and stores the change that it announces, or the directives of a comment.
func (g *gateway) receive(ctx context.Context, d delivery) (received, error) {
	known := d.known
	parsed, err := forge.Parse(d.forge, forge.Request{Header: d.header, Body: d.body, Secrets: known.secrets, Now: g.deps.Now()})
	if err != nil {
		return received{}, known.explain(err)
	}
	if parsed.Ignored != "" && !parsed.Closed {
		return received{Ignored: parsed.Ignored}, nil
	}
	project, owned := known.project(parsed)
	if project == nil {
		return received{Ignored: "repository " + parsed.Repo + " is none of those whose webhook secret this is: " + strings.Join(owned, ", ")}, nil
	}
	if parsed.Comment != nil {
		return g.comment(ctx, project, parsed)
	}
	change := parsed.Change
	if !plain(change.HeadRepo, maxName) {
		return received{}, fault.New(fault.Invalid, "cannot take pull request %d: the name of its head's repository has %d bytes or odd characters; "+
			"expected a name such as \"owner/name\"", change.Number, len(change.HeadRepo))
	}
	// Where the commit is fetched from is the installation's word, never the delivery's.
	change.Project, change.Repo, change.CloneURL = project.Name, project.Repo, project.CloneURL
	if parsed.Closed {
		return received{Ignored: parsed.Ignored}, g.pullClosed(ctx, change, parsed.Ignored)
	}
	if parsed.Reopened {
		if change, err = g.pullReopened(ctx, change); err != nil {
			return received{}, err
		}
	}
	run, event, err := g.announce(ctx, change)
	return received{Run: run, Event: event}, err
}
