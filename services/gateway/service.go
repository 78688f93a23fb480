package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/idtoken"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "gateway"

// Lister lists the refs of a repository; *git.Cache is one.
type Lister interface {
	LsRemote(ctx context.Context, url string, patterns ...string) (map[string]release.Commit, error)
}

type gateway struct {
	config   Config
	deps     service.Deps
	git      Lister
	files    Reader // nil where nothing reads commits: then no schedule starts a run
	sighted  sightings
	patience time.Duration // for the stream to store a fact
	triggers memory
	requests *prometheus.HistogramVec
	issuer   *idtoken.Issuer          // nil where no keys are configured: no task gets an identity token
	busy     map[string]chan struct{} // by project: a forge that does not answer holds one worker
}

// New makes the service. The cache is used to list the refs of remotes.
func New(config Config, deps service.Deps, cache *git.Cache) (service.Service, error) {
	g, err := newGateway(config, deps, cache)
	if err != nil {
		return service.Service{}, err
	}
	return g.service(), nil
}

func newGateway(config Config, deps service.Deps, lister Lister) (*gateway, error) {
	config, err := config.checked()
	if err != nil {
		return nil, err
	}
	busy := map[string]chan struct{}{}
	for _, p := range config.Projects {
		busy[p.Name] = make(chan struct{}, 1)
	}
	files, _ := lister.(Reader)
	issuer, err := newIssuer(config.IDTokens)
	if err != nil {
		return nil, err
	}
	return &gateway{
		files: files, issuer: issuer,
		busy: busy, config: config, deps: deps, git: lister, patience: 4 * time.Second, // Gitea waits five, the others ten
		requests: newMetrics(deps.Registry),
	}, nil
}

func (g *gateway) service() service.Service {
	loops := []service.Loop{{Name: "bisect", Hears: bisectHears(), Says: bisectSays(), Run: g.hunt}}
	for i, p := range g.config.Projects {
		loops = append(loops, service.Loop{
			Name: "reconcile-" + p.Name, Says: []event.Type{event.TypeChangeReceived},
			Run: func(ctx context.Context) error { return g.reconcile(ctx, p, time.Duration(i)*stagger) },
		})
		if g.files != nil {
			loops = append(loops, service.Loop{
				Name: "schedule-" + p.Name, Hears: scheduleHears(), Says: []event.Type{event.TypeChangeReceived},
				Run: func(ctx context.Context) error { return g.schedule(ctx, p) },
			})
		}
	}
	if g.issuer != nil {
		loops = append(loops, service.Loop{Name: "id-tokens", Run: g.vouch})
	}
	return service.Service{
		Name: Name, Bus: g.deps.Bus, Asks: []string{lease.Topic}, Answers: []string{idtoken.Topic + ".*"}, Operates: true,
		Doc: "is this request genuine, and what change is it; actions of people; heads that no webhook announced",
		Routes: []bus.Route{
			bus.Work("comment", []event.Type{event.TypeCommentResolved}, g.resolve, bus.Workers(commentWorkers)),
			bus.Work("directive", []event.Type{
				event.TypeChangeReceived, event.TypeRunCancelRequested, event.TypeRunRetryRequested, event.TypeGateApproved, event.TypeRunPermitted,
				event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationRetryRequested, event.TypeCommentAnswered,
			}, g.obey),
		},
		Loops: append(loops, g.edge()),
		HTTP:  g.endpoints(),
	}
}

// edge stands in the topology for what HTTP requests say; there is nothing to run.
func (g *gateway) edge() service.Loop {
	return service.Loop{Name: "http", Says: []event.Type{
		event.TypeEnvironmentApproved,
		event.TypeChangeReceived, event.TypeRunCancelRequested, event.TypeRunRetryRequested, event.TypeGateApproved, event.TypeRunPermitted,
		event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationRetryRequested, event.TypePublicationUndoRequested, event.TypePoolDrainRequested,
		event.TypeLimitSet,
		event.TypeCommentReceived, event.TypePlaceDrainRequested, event.TypePlaceChanged, event.TypeTestMoved, event.TypeBisectRequested,
		event.TypeBisectEnded, event.TypeTokenCreated, event.TypeTokenRevoked, event.TypeTokenUsed, event.TypeDeadLetterReplayed,
	}, Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}
}

func (g *gateway) endpoints() []service.Endpoint {
	out := []service.Endpoint{
		{Pattern: "POST /hooks/{forge}", Rule: access.Open(), Handler: g.hooks()},
		{Pattern: "POST /hooks/{forge}/{project}", Rule: access.Open(), Handler: g.hooks()},
		{Pattern: "GET /api/v1/places", Rule: access.Whole(access.Viewer), Handler: g.placeList()},
		{Pattern: "GET /api/v1/tests", Rule: access.Any(access.Viewer), Handler: g.testList()},
		{Pattern: "GET /api/v1/bisects", Rule: access.Any(access.Viewer), Handler: g.bisectList()},
		{Pattern: "GET /api/v1/tokens", Rule: access.Any(access.Viewer), Handler: g.tokenList()},
	}
	for _, a := range slices.Concat(g.actions(), g.placeActions(), g.testActions(), g.tokenActions()) {
		out = append(out, service.Endpoint{Pattern: a.pattern, Rule: a.rule, Handler: g.serve(a.do)})
	}
	for _, r := range g.deps.Gate.Routes() {
		out = append(out, service.Endpoint{Pattern: r.Pattern, Rule: r.Rule, Handler: r.Handler})
	}
	if g.issuer != nil {
		out = append(out,
			service.Endpoint{Pattern: "GET " + idtoken.DiscoveryPath, Rule: access.Open(), Handler: g.issuer.Discovery()},
			service.Endpoint{Pattern: "GET " + idtoken.KeysPath, Rule: access.Open(), Handler: g.issuer.PublicKeys(g.deps.Now)})
	}
	for i, e := range out {
		out[i].Handler = g.observe(e.Pattern, e.Handler)
	}
	return out
}

// say stores an event whose cause is outside, and returns its id when it is durable.
func (g *gateway) say(ctx context.Context, run release.RunID, p event.Payload) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	e := g.fact(ctx, run, p)
	if err := g.deps.Bus.Publish(ctx, e); err != nil {
		return "", err
	}
	return e.ID, nil
}

// fact is an event whose cause is outside, with whoever asked for it.
func (g *gateway) fact(ctx context.Context, run release.RunID, p event.Payload) event.Event {
	e := event.Root(run, g.deps.Source(Name), g.deps.Now(), p)
	e.Actor = access.Actor(ctx)
	return e
}

// announce stores a change under its run. A change that was stored before, by whatever way it came, is the same fact.
func (g *gateway) announce(ctx context.Context, c release.Change) (release.RunID, string, error) {
	c.At = g.deps.Now().UTC()
	run := c.RunID()
	id, err := g.say(ctx, run, event.ChangeReceived{Change: c})
	return run, id, err
}
