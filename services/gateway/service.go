package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
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
	patience time.Duration       // for the stream to store a fact
	large    *semaphore.Weighted // bytes of large bodies on their way
	triggers memory
	requests *prometheus.HistogramVec
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
	return &gateway{
		files: files,
		busy:  busy, config: config, deps: deps, git: lister, patience: 4 * time.Second, // Gitea waits five, the others ten
		large: semaphore.NewWeighted(largeBodies), requests: newMetrics(deps.Registry),
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
				Name: "schedule-" + p.Name, Hears: []event.Type{event.TypeChangeReceived}, Says: []event.Type{event.TypeChangeReceived},
				Run: func(ctx context.Context) error { return g.schedule(ctx, p) },
			})
		}
	}
	return service.Service{
		Name: Name,
		Doc:  "is this request genuine, and what change is it; actions of people; heads that no webhook announced",
		Routes: []bus.Route{
			bus.Work("comment", []event.Type{event.TypeCommentResolved}, g.resolve, bus.Workers(commentWorkers)),
			bus.Work("directive", []event.Type{
				event.TypeChangeReceived, event.TypeRunCancelRequested, event.TypeRunRetryRequested, event.TypeGateApproved,
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
		event.TypeChangeReceived, event.TypeRunCancelRequested, event.TypeRunRetryRequested, event.TypeGateApproved,
		event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationRetryRequested, event.TypePoolDrainRequested,
		event.TypeLimitSet,
		event.TypeCommentReceived, event.TypePlaceDrainRequested, event.TypePlaceChanged, event.TypeTestMoved, event.TypeBisectRequested,
		event.TypeBisectEnded,
	}, Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}
}

func (g *gateway) endpoints() []service.Endpoint {
	handlers := map[string]http.Handler{"POST /hooks/{forge}": g.hooks(), "POST /hooks/{forge}/{project}": g.hooks()}
	for pattern, do := range g.actions() {
		handlers[pattern] = g.action(do)
	}
	for pattern, do := range g.placeActions() {
		handlers[pattern] = g.action(do)
	}
	for pattern, do := range g.testActions() {
		handlers[pattern] = g.action(do)
	}
	handlers["GET /api/v1/places"] = g.placeList()
	handlers["GET /api/v1/tests"] = g.testList()
	handlers["GET /api/v1/bisects"] = g.bisectList()
	var out []service.Endpoint
	for pattern, h := range handlers {
		out = append(out, service.Endpoint{Pattern: pattern, Handler: g.observe(pattern, h)})
	}
	return out
}

// say stores an event whose cause is outside, and returns its id when it is durable.
func (g *gateway) say(ctx context.Context, run release.RunID, p event.Payload) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	e := event.Root(run, g.deps.Source(Name), g.deps.Now(), p)
	if err := g.deps.Bus.Publish(ctx, e); err != nil {
		return "", err
	}
	return e.ID, nil
}

// announce stores a change under its run. A change that was stored before, by whatever way it came, is the same fact.
func (g *gateway) announce(ctx context.Context, c release.Change) (release.RunID, string, error) {
	c.At = g.deps.Now().UTC()
	run := c.RunID()
	id, err := g.say(ctx, run, event.ChangeReceived{Change: c})
	return run, id, err
}
