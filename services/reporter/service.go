package reporter

import (
	"context"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter/chart"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/pages"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// Name of the service.
const Name = "reporter"

// Config of a reporter.
type Config struct {
	Database  string    `yaml:"database"`   // sqlite:///path or postgres://…
	PublicURL string    `yaml:"public_url"` // where people find the pages; statuses link there
	Projects  []Project `yaml:"projects"`
}

// Project is where the statuses of a project's commits go, and the answers to comments. Without a forge they go nowhere.
type Project struct {
	Name    string  `yaml:"name"`
	Forge   string  `yaml:"forge"` // "github", "gitlab", "gitea"
	Repo    string  `yaml:"repo"`  // "owner/name"
	BaseURL string  `yaml:"base_url"`
	Token   string  `yaml:"token"`  // name of the secret
	Health  *Health `yaml:"health"` // of its tests on the release branch; nobody looks at it when nil
}

type reporter struct {
	deps  service.Deps
	model *readmodel.Model
	hub   *live.Hub

	owners event.Owners // the fold's
}

// New makes the service. Its database is opened when it is first used.
func New(config Config, deps service.Deps) (service.Service, error) {
	model := readmodel.New(config.Database)
	r := &reporter{deps: deps, model: model, hub: live.NewHub()}
	statuses := newStatuses(config, deps)
	tests := newHealths(config, deps, statuses)
	source := &view.Source{Model: model, Blobs: deps.Blobs, Bus: deps.Bus, Log: deps.Log}
	book := chart.New()
	logs := &live.Logs{Bus: deps.Bus, Blobs: deps.Blobs, Model: model, Hub: r.hub}
	endpoints := append((&api{source: source, logs: logs, hub: r.hub, bus: deps.Bus, blobs: deps.Blobs, log: deps.Log}).endpoints(),
		pages.Endpoints(pages.Deps{Source: source, Logs: logs, Hub: r.hub, Bus: deps.Bus, Book: book, Log: deps.Log, Now: deps.Now})...)
	return service.Service{
		Name: Name, Bus: deps.Bus, Asks: view.Topics(), ReadLogs: true, Operates: true,
		Doc: "read models, history, statuses, the web pages",
		Routes: append(tests.routes(), []bus.Route{
			bus.Work("status-pending", nil, statuses.planned, bus.Workers(statusWorkers)),
			bus.Work("status-unpermitted", nil, statuses.unpermitted, bus.Workers(statusWorkers)),
			bus.Work("status-rejected", nil, statuses.rejected, bus.Workers(statusWorkers)),
			bus.Work("status-final", nil, statuses.finished, bus.Workers(statusWorkers)),
			bus.Work("answer", nil, statuses.answered, bus.Workers(statusWorkers)),
		}...),
		Loops: []service.Loop{
			{Name: "fold", Hears: everything(), Run: r.fold},
			{Name: "chart", Hears: chart.Hears(), Run: func(ctx context.Context) error { return book.Follow(ctx, deps.Bus) }},
			tests.loop(),
		},
		HTTP: endpoints,
	}, nil
}

// everything is every fact of the catalogue.
func everything() []event.Type {
	var out []event.Type
	for _, e := range event.Catalogue() {
		if !e.Type.Ephemeral() {
			out = append(out, e.Type)
		}
	}
	return out
}
