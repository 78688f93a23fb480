package exporter

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "artifact-exporter"

// Config of an exporter. Without destinations it keeps nothing and hears nothing.
type Config struct {
	Destinations []DestinationConfig `yaml:"destinations"`
}

// New makes the service. It opens its destinations but does not talk to them: it starts while they are down.
func New(config Config, deps service.Deps) (service.Service, error) {
	s := service.Service{
		Name: Name, Bus: deps.Bus, Follows: []event.Type{event.TypeTaskFinished},
		Doc: "what runs left → <branch>/<commit>/… latest/ and released/ at each destination",
	}
	taken := map[string]bool{}
	for _, c := range config.Destinations {
		if taken[c.Name] {
			return s, fault.New(fault.Invalid, "cannot export to two destinations that are both named %q", c.Name)
		}
		taken[c.Name] = true
		to, err := openDestination(c, deps.Secret)
		if err != nil {
			return s, fmt.Errorf("cannot export to %q: %w", c.Name, err)
		}
		x := &exporter{
			name: c.Name, projects: c.Projects, to: to, deps: deps, runs: newRuns(deps),
			room: semaphore.NewWeighted(room),
			log:  deps.Log.With("service", Name, "destination", c.Name),
		}
		s.Routes = append(s.Routes, x.routes()...)
		s.Loops = append(s.Loops, service.Loop{Name: "sweep-" + c.Name, Run: x.sweep})
	}
	if len(config.Destinations) == 0 {
		s.Loops = append(s.Loops, idle())
	}
	return s, nil
}

// exporter keeps the things of runs at one destination.
type exporter struct {
	name     string
	projects []string // globs
	to       destination
	deps     service.Deps
	runs     *runs
	room     *semaphore.Weighted // of bytes in memory
	log      *slog.Logger
}

// routes are those of one destination. Their names hold its name, so that it has consumers of its own.
func (x *exporter) routes() []bus.Route {
	says := []event.Type{event.TypeArtifactExported}
	return []bus.Route{
		bus.Work("candidate-"+x.name, says, x.candidate),
		bus.Work("task-"+x.name, nil, x.task, bus.Workers(4)),
		bus.Work("latest-"+x.name, says, x.latest),
		bus.Work("released-"+x.name, says, x.released),
		bus.Work("results-"+x.name, says, x.results),
	}
}

// idle stands for the routes where there is no destination, so that the topology tells what the service is for.
func idle() service.Loop {
	hears := []event.Type{}
	for _, r := range new(exporter).routes() {
		hears = append(hears, r.Hears)
	}
	return service.Loop{
		Name: "without-destination", Hears: hears, Says: []event.Type{event.TypeArtifactExported},
		Run: func(ctx context.Context) error { <-ctx.Done(); return nil },
	}
}

// abandoned is the age at which an unfinished upload can only be what a crash left.
const abandoned = 24 * time.Hour

// sweep removes what crashes left, now and every day. A destination that does not let it is told of once.
func (x *exporter) sweep(ctx context.Context) error {
	for ctx.Err() == nil {
		err := x.to.sweep(ctx, x.deps.Now().Add(-abandoned))
		switch {
		case fault.Is(err, fault.Denied) || fault.Is(err, fault.Invalid):
			x.log.Warn("unfinished uploads stay until somebody removes them", "err", err)
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(abandoned):
		}
	}
	return nil
}
