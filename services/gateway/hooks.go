package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"

	httptransport "github.com/go-kit/kit/transport/http"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxBody is the largest delivery that is read: GitHub sends none above 25 MB.
const maxBody = 25<<20 + 64<<10

// delivery is a webhook as it came.
type delivery struct {
	forge   string
	project string // from the path; empty finds the project by its repository
	header  http.Header
	body    []byte
}

// received answers a delivery: the run that it belongs to, or why it starts none.
type received struct {
	Run     release.RunID `json:"run,omitempty"`
	Ignored string        `json:"ignored,omitempty"`
}

// StatusCode makes go-kit's encoder answer 202: what follows from a change happens later.
func (received) StatusCode() int { return http.StatusAccepted }

func (g *gateway) hooks() http.Handler {
	return httptransport.NewServer(
		func(ctx context.Context, request any) (any, error) { return g.receive(ctx, request.(delivery)) },
		decodeDelivery,
		httptransport.EncodeJSONResponse,
		httptransport.ServerErrorEncoder(g.refuse),
	)
}

func decodeDelivery(_ context.Context, r *http.Request) (any, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, fault.New(fault.Invalid,
			"cannot take the delivery: its body is larger than %d bytes, which no forge sends", maxBody)}
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the delivery: its body broke off: %w", err)
	}
	return delivery{r.PathValue("forge"), r.PathValue("project"), r.Header, body}, nil
}

// receive checks a delivery and stores the change that it announces.
func (g *gateway) receive(ctx context.Context, d delivery) (received, error) {
	projects, secrets, err := g.candidates(d)
	if err != nil {
		return received{}, err
	}
	parsed, err := forge.Parse(d.forge, forge.Request{Header: d.header, Body: d.body, Secrets: secrets, Now: g.deps.Now()})
	if err != nil {
		return received{}, err
	}
	if parsed.Ignored != "" {
		return received{Ignored: parsed.Ignored}, nil
	}
	project, found := owner(projects, parsed)
	if !found {
		return received{Ignored: "repository " + parsed.Repo + " is not one that this secret belongs to; add it to the installation's projects"}, nil
	}
	change := parsed.Change
	// Where the commit is fetched from is the installation's word, never the delivery's.
	change.Project, change.Repo, change.CloneURL = project.Name, project.Repo, project.CloneURL
	run, err := g.announce(ctx, change)
	return received{Run: run}, err
}

// candidate is a project that may have sent a delivery, by one of its secrets.
type candidate struct {
	project Project
	secret  int // index among all secrets
}

// candidates lists the projects of the forge that the delivery may be about, with every secret that may have signed it.
// A forge without a secret takes nothing: anybody could start runs.
func (g *gateway) candidates(d delivery) (out []candidate, secrets []string, err error) {
	for _, p := range g.config.Projects {
		if p.Forge != d.forge || d.project != "" && d.project != p.Name {
			continue
		}
		values, err := g.secretValues(p)
		if err != nil {
			return nil, nil, err
		}
		for _, v := range values {
			out = append(out, candidate{p, len(secrets)})
			secrets = append(secrets, v)
		}
	}
	if len(secrets) == 0 {
		return nil, nil, fault.New(fault.Denied, "cannot take deliveries at /hooks/%s: no project here has a webhook secret for it", d.forge)
	}
	return out, secrets, nil
}

// owner finds the project that a delivery is about; the secret that signed it must be one of the project's own.
func owner(list []candidate, p forge.Parsed) (Project, bool) {
	for _, c := range list {
		if c.project.Repo == p.Repo && c.secret == p.Secret {
			return c.project, true
		}
	}
	return Project{}, false
}
