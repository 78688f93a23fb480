package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
	exporter "github.com/sluiceci/sluice/services/artifact-exporter"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/publisher"
	"github.com/sluiceci/sluice/services/reporter"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

// constructor makes a service of an installation; some installations have several executors.
type constructor struct {
	name string
	make func(in *installation, deps service.Deps, cache *git.Cache) ([]service.Service, error)
}

// constructors is the one list of services: `up` makes all of them, `serve` makes one, `topology` prints them.
func constructors() []constructor {
	return []constructor{
		{gateway.Name, func(in *installation, deps service.Deps, cache *git.Cache) ([]service.Service, error) {
			return one(gateway.New(in.Gateway, deps, cache))
		}},
		{builder.Name, func(in *installation, deps service.Deps, cache *git.Cache) ([]service.Service, error) {
			config := in.Builder
			planners, err := newPlanners(config)
			if err != nil {
				return nil, err
			}
			config.Planner, config.Answers = planners, answerers(in.finder(cache))
			config.Grants = in.grants()
			s, err := builder.New(config, deps, cache)
			s.Loops = append(s.Loops, service.Loop{Name: "planner", Run: planners.Warm})
			return one(s, err)
		}},
		{scheduler.Name, func(in *installation, deps service.Deps, _ *git.Cache) ([]service.Service, error) {
			return one(scheduler.New(in.Scheduler, deps))
		}},
		{executor.Name, makeExecutors},
		{exporter.Name, func(in *installation, deps service.Deps, _ *git.Cache) ([]service.Service, error) {
			return one(exporter.New(in.Exporter, deps))
		}},
		{publisher.Name, func(in *installation, deps service.Deps, _ *git.Cache) ([]service.Service, error) {
			config := in.Publisher
			config.Grants = in.grants()
			return one(publisher.New(config, deps))
		}},
		{reporter.Name, func(in *installation, deps service.Deps, _ *git.Cache) ([]service.Service, error) {
			return one(reporter.New(in.Reporter, deps))
		}},
	}
}

func one(s service.Service, err error) ([]service.Service, error) { return []service.Service{s}, err }

// defaultPool is the pool of executors that name none.
const defaultPool = "default"

func makeExecutors(in *installation, deps service.Deps, cache *git.Cache) ([]service.Service, error) {
	members := in.Executors
	if len(members) == 0 {
		members = []executor.Config{{}}
	}
	var out []service.Service
	for i, cfg := range members {
		if cfg.Pool == "" {
			cfg.Pool = defaultPool
		}
		if cfg.Slots == 0 {
			cfg.Slots = runtime.NumCPU()
		}
		if cfg.Dir == "" {
			cfg.Dir = filepath.Join(in.Dir, "executors", cfg.Pool+"-"+strconv.Itoa(i))
		}
		member := deps
		if in.busOf != nil {
			member.Bus = in.busOf(service.PoolIdentity(cfg.Pool))
		}
		if i > 0 { // Each has a heartbeat of its own.
			member.Instance += "-" + strconv.Itoa(i)
		}
		cfg.Accepts = in.takes(cfg)
		cfg.Alerts, cfg.Recorders, cfg.Grants = alerts(), recorders(), in.grants()
		cfg.Cells, cfg.Hide = true, in.private()
		cfg.Untrusted = executor.Untrusted{Images: in.Untrusted.Images, Networks: in.Untrusted.Networks}
		s, err := executor.New(cfg, member, cache)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// platform is a process that runs services: the bus, the blobs, the HTTP side.
type platform struct {
	in       *installation
	server   *bus.Server // nil with an external NATS
	onlooker bus.NKey    // for client commands of whoever can read this process's directory
	buses    map[string]*bus.Bus
	api      string // token of the API for whoever can read this process's directory
	deps     service.Deps
	secrets  *secret.Store
	registry *prometheus.Registry
	listener net.Listener // of the HTTP side
	edge     *edge.Edge
	sibling  *edge.Sibling // answers what is not served here; nil where everything is
	health   service.Health
	services []service.Service
	closers  []func() // run last in, first out
}

// localToken is the secret that `up` makes anew at each start, for the client commands of whoever owns its directory.
const localToken = "sluice-local-token"

// newPlatform opens what services need and makes those that are named; no name means all.
func newPlatform(ctx context.Context, in *installation, log *slog.Logger, names ...string) (*platform, error) {
	if err := in.defaults(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", in.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w; choose another address with --listen", in.Listen, err)
	}
	in.at(listener.Addr().String())
	in.share()
	p := &platform{in: in, listener: listener, registry: prometheus.NewRegistry()}
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.closers = append(p.closers, func() { _ = listener.Close() }) // closed already when it was served
	if p.edge, err = in.edge(log); err != nil {
		p.close()
		return nil, err
	}
	if err := p.open(ctx, log, names); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *platform) open(ctx context.Context, log *slog.Logger, names []string) error {
	err := p.openSecrets(names)
	if err != nil {
		return err
	}
	p.deps = service.Deps{Log: log, Registry: p.registry, Now: time.Now, Instance: instance(), Secret: p.secretsOf(platformName)}
	if err = p.introduce(names); err != nil {
		return err
	}
	if p.deps.Blobs, err = blob.Open(ctx, p.in.Blobs); err != nil {
		return err
	}
	p.sweep(ctx)
	p.buses = map[string]*bus.Bus{}
	p.in.busOf = p.bus
	p.deps.Bus = p.bus(p.in.own(names))
	if p.deps.Gate, err = p.gate(names); err != nil {
		return err
	}
	cache, err := git.New(filepath.Join(p.in.Dir, "git"), git.Options{Credentials: p.credential})
	if err != nil {
		return err
	}
	for _, c := range constructors() {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		deps := p.deps
		deps.Secret = p.secretsOf(c.name)
		if c.name != executor.Name { // each pool has its own
			deps.Bus = p.bus(c.name)
		}
		made, err := c.make(p.in, deps, cache)
		if err != nil {
			return fmt.Errorf("cannot make %s: %w", c.name, err)
		}
		p.services = append(p.services, made...)
	}
	return p.connect(ctx)
}

// openSecrets opens the stores of secrets that the services of this process use.
func (p *platform) openSecrets(names []string) error {
	own := map[string]string{}
	if !p.in.NATS.external() {
		p.api = rand.Text()
		own[localToken] = p.api
		p.in.Gateway.Tokens = append(p.in.Gateway.Tokens, access.Static{Owner: "local", Secret: localToken})
	}
	if err := p.in.checkSecrets(); err != nil {
		return err
	}
	if len(names) == 0 {
		names = serviceNames()
	}
	var err error
	p.secrets, err = secret.Open(p.in.Secrets, names, own)
	return err
}

// secretsOf is how a service finds the secrets that its part of the configuration names.
func (p *platform) secretsOf(service string) func(string) (string, error) {
	return p.secrets.For(service, p.in.audience(service))
}

// credential is what git shows to a project's remote, and to no other.
func (p *platform) credential(_ context.Context, url string) (git.Credential, error) {
	for _, project := range p.in.Projects {
		if project.CloneURL == url && project.CloneToken != "" {
			token, err := p.deps.Secret(project.CloneToken)
			return git.Credential{Password: token}, err
		}
	}
	return git.Credential{}, nil
}

// sweep removes what uploads that were cut off a day ago left in the blob store, beside everything else.
func (p *platform) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	go func() {
		defer cancel()
		if err := blob.Sweep(ctx, p.deps.Blobs, time.Now().Add(-24*time.Hour)); err != nil && ctx.Err() == nil {
			p.deps.Log.Warn("cannot sweep the blob store; the next start tries again", "err", err)
		}
	}()
}

func (p *platform) close() {
	for _, c := range slices.Backward(p.closers) {
		c()
	}
}

// run serves until ctx ends. Services stop first, so that what they still say finds the bus open.
func (p *platform) run(ctx context.Context) error {
	mux := service.Handler(p.deps.Bus, p.registry, &p.health, p.deps.Gate, p.services...)
	handler := http.Handler(mux)
	if p.sibling != nil {
		handler = p.sibling.Or(mux)
	}
	go p.health.Watch(ctx, p.deps, p.services...)
	served := make(chan error, 1)
	go func() { served <- p.edge.Serve(ctx, handler, p.listener) }()
	err := service.Run(ctx, p.deps, &p.health, p.services...)
	if httpErr := <-served; err == nil {
		err = httpErr
	}
	return err
}

// instance names this process: a new name at each start, so that what an earlier one left is told apart.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	host, _, _ = strings.Cut(host, ".")
	return release.Slug(host) + "-" + strings.ToLower(rand.Text()[:8])
}
