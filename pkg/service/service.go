// Package service is what every Sluice service is made of, and the process that runs them: routes, loops, HTTP, health,
// an orderly end. A service is a value; `sluice up` runs seven of them in one process and `sluice serve` runs one, from
// the same constructors.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// Service is a table of what it hears and says, and the functions between.
type Service struct {
	Name   string // "test-scheduler"
	Doc    string // one sentence: what it decides
	Routes []bus.Route
	Loops  []Loop
	HTTP   []Endpoint

	Pool     string          // of an executor: it is a part of its identity, and of all that it says
	Reads    []event.Type    // facts that it looks up, beside what it hears and says
	Follows  []event.Type    // facts that a route reads in their order, beside what it hears
	Asks     []string        // topics that it asks others about
	Answers  []string        // topics that it answers
	ReadLogs bool            // it reads what tasks print
	Stores   bool            // it writes blobs
	Waits    func() []string // what of its work waits, and for what, for /healthz; nil when nothing can
	Operates bool            // it looks at the streams, and replays dead letters
	Bus      *bus.Bus        // its own connection; that of the process when nil
}

// Loop is work that no single event starts: following a stream, polling a forge, beating a heart. It runs until ctx
// ends; an error before that is logged and the loop starts again after a pause.
type Loop struct {
	Name  string
	Pool  string // that it speaks for; the service's own when empty
	Hears []event.Type
	Says  []event.Type
	Run   func(ctx context.Context) error
}

// Endpoint is a part of the service's HTTP side; Pattern is http.ServeMux's.
type Endpoint struct {
	Pattern string
	Rule    access.Rule // who may; without one only operators
	Handler http.Handler
}

// Deps is what the process gives to every service.
type Deps struct {
	Bus      *bus.Bus
	Blobs    blob.Store
	Log      *slog.Logger
	Registry prometheus.Registerer
	Now      func() time.Time
	Instance string                            // of this process, a token: "host-4f2a"
	Gate     *access.Gate                      // before every endpoint
	Secret   func(name string) (string, error) // the value of a named secret or variable of the installation
}

// Source is how a service of this process signs its events: "/builder/host-4f2a".
func (d Deps) Source(service string) string { return "/" + service + "/" + d.Instance }

// Run serves every route and loop of the services until ctx ends. It returns early only when a route cannot be served
// at all.
func Run(ctx context.Context, deps Deps, health *Health, services ...Service) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range services {
		for _, r := range s.Routes {
			group.Go(func() error { return serveRoute(ctx, deps, s, r) })
		}
		for _, l := range s.Loops {
			group.Go(func() error { keep(ctx, deps.Log, health, s.Name+"/"+l.Name, l.Run); return nil })
		}
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func serveRoute(ctx context.Context, deps Deps, s Service, r bus.Route) error {
	if err := s.connection(deps).Serve(ctx, s.Name, deps.Source(s.Name), r); err != nil {
		return fmt.Errorf("cannot serve %s/%s: %w", s.Name, r.Name, err)
	}
	return nil
}

// healthyAfter is how long a loop must run before an earlier error of it is forgotten.
const healthyAfter = 5 * time.Second

// keep runs a loop again whenever it fails. The pause doubles to ten seconds and is forgotten after a healthy while.
func keep(ctx context.Context, log *slog.Logger, health *Health, name string, run func(context.Context) error) {
	pause := 100 * time.Millisecond
	for ctx.Err() == nil {
		healthy := time.AfterFunc(healthyAfter, func() { health.set(name, nil) })
		start := time.Now()
		err := run(ctx)
		healthy.Stop()
		if ctx.Err() != nil || err == nil {
			return
		}
		if time.Since(start) > healthyAfter {
			pause = 100 * time.Millisecond
		}
		health.set(name, err)
		log.Error("a loop failed; starting it again", "loop", name, "err", err, "pause", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 10*time.Second)
	}
}
