package gateway

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "gateway"

// Config of a gateway.
type Config struct {
	Projects []Project     `yaml:"projects"`
	Tokens   []Token       `yaml:"tokens"` // who may act; without one nobody can
	Poll     time.Duration `yaml:"poll"`   // between two looks at the watched branches; 30s when 0
}

// Project is a repository whose changes start runs.
type Project struct {
	Name     string   `yaml:"name"`
	Forge    string   `yaml:"forge"` // "github", "gitlab", "gitea", or "git": a server without webhooks
	Repo     string   `yaml:"repo"`  // "owner/name", as the forge's webhooks say it
	CloneURL string   `yaml:"clone_url"`
	Branches []string `yaml:"branches"` // watched: "master", "releases/*"; master when empty
	Secrets  []string `yaml:"secrets"`  // names of the webhook's secrets; several during a rotation
}

// Token lets a person act.
type Token struct {
	Owner  string `yaml:"owner"`
	Secret string `yaml:"secret"` // name of the secret whose value is the token
}

// Lister lists the refs of a repository; *git.Cache is one.
type Lister interface {
	LsRemote(ctx context.Context, url string, patterns ...string) (map[string]release.Commit, error)
}

type gateway struct {
	config Config
	deps   service.Deps
	git    Lister
}

// New makes the service. The cache is used to list the refs of remotes.
func New(config Config, deps service.Deps, cache *git.Cache) (service.Service, error) {
	return newService(config, deps, cache)
}

func newService(config Config, deps service.Deps, lister Lister) (service.Service, error) {
	config.Poll = cmp.Or(config.Poll, 30*time.Second)
	for i := range config.Projects {
		p := &config.Projects[i]
		if p.Name == "" || p.Repo == "" || p.CloneURL == "" {
			return service.Service{}, fmt.Errorf("cannot serve project %q: name %q, repo %q and clone_url %q must be set", p.Name, p.Name, p.Repo, p.CloneURL)
		}
		if len(p.Branches) == 0 {
			p.Branches = []string{"master"}
		}
	}
	g := &gateway{config: config, deps: deps, git: lister}
	var loops []service.Loop
	for _, p := range config.Projects {
		loops = append(loops, service.Loop{
			Name: "reconcile-" + p.Name, Says: []event.Type{event.TypeChangeReceived},
			Run: func(ctx context.Context) error { return g.reconcile(ctx, p) },
		})
	}
	return service.Service{
		Name:  Name,
		Doc:   "is this request genuine, and what change is it; actions of people; heads that no webhook announced",
		Loops: append(loops, g.edge()),
		HTTP:  g.endpoints(),
	}, nil
}

// edge stands in the topology for what HTTP requests say; there is nothing to run.
func (g *gateway) edge() service.Loop {
	return service.Loop{Name: "http", Says: []event.Type{
		event.TypeChangeReceived, event.TypeRunCancelRequested, event.TypeRunRetryRequested, event.TypeGateApproved,
		event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationRetryRequested, event.TypePoolDrainRequested,
	}, Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}
}

func (g *gateway) endpoints() []service.Endpoint {
	out := []service.Endpoint{
		{Pattern: "POST /hooks/{forge}", Handler: g.hooks()},
		{Pattern: "POST /hooks/{forge}/{project}", Handler: g.hooks()},
	}
	for pattern, act := range g.actions() {
		out = append(out, service.Endpoint{Pattern: pattern, Handler: g.action(act)})
	}
	return out
}

// say stores an event whose cause is outside, and returns when it is durable.
func (g *gateway) say(ctx context.Context, run release.RunID, p event.Payload) error {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second) // forges wait ten
	defer cancel()
	return g.deps.Bus.Publish(ctx, event.Root(run, g.deps.Source(Name), g.deps.Now(), p))
}

// announce stores a change under its run. A change that was stored before, by whatever way it came, is the same fact.
func (g *gateway) announce(ctx context.Context, c release.Change) (release.RunID, error) {
	c.At = g.deps.Now().UTC()
	return c.RunID(), g.say(ctx, c.RunID(), event.ChangeReceived{Change: c})
}

// secretValues resolves the names of a project's webhook secrets.
func (g *gateway) secretValues(p Project) ([]string, error) {
	var out []string
	for _, name := range p.Secrets {
		value, err := g.deps.Secret(name)
		if err != nil {
			return nil, fmt.Errorf("cannot check deliveries for project %s: %w", p.Name, err)
		}
		out = append(out, value)
	}
	return out, nil
}
