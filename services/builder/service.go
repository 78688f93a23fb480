package builder

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "builder"

// Config of a builder.
type Config struct {
	Environment string   `yaml:"environment"` // of every plan: "prod"; empty is the project's default
	Presets     []string `yaml:"-"`           // of every plan: `sluice run --preset`
	Set         []string `yaml:"-"`           // of every plan: `sluice run --set`
	Select      []string `yaml:"-"`           // of every plan: `sluice run --select`
	Pool        string   `yaml:"-"`           // of every task, since there is no other; each goes to its own when empty
	Providers   []string `yaml:"-"`           // with Pool: those of the installation
	Planners    int      `yaml:"planners"`    // changes planned at once; 2 when 0

	// PlanTimeout is how long the plan of one change may compute; planner.DefaultTimeout when 0.
	PlanTimeout time.Duration `yaml:"plan_timeout"`

	// Includes are globs of the URLs of repositories whose files definitions may include, beside those of their own
	// repository. Who can push any branch can read what they hold.
	Includes []string `yaml:"includes"`

	// Answers are by dialect what it asks of the world before it has tasks for a change.
	Answers map[string]func(ctx context.Context, question string) (string, error) `yaml:"-"`

	Grants secret.Grants `yaml:"-"` // which tasks get which secrets

	// Environments are the protected ones of the installation.
	Environments environment.Rules `yaml:"-"`

	// Fetch bounds what definitions may have fetched.
	Fetch Fetch `yaml:"fetch"`

	// Planner makes the plans. It knows the dialects that includes may name, and the options of targets.
	Planner Planner `yaml:"-"`

	// Projects are those of the installation by repository. One that is not listed never publishes.
	Projects map[string]Project `yaml:"-"`

	// Untrusted is what the definition of an untrusted change may name; Accepts is which changes pools and the providers of
	// places take.
	Untrusted Untrusted `yaml:"-"`
	Accepts   Accepts   `yaml:"-"`
}

type builder struct {
	config Config
	deps   service.Deps
	git    *git.Cache
}

// New makes the service. The cache is shared with whoever else in the process reads git.
func New(config Config, deps service.Deps, cache *git.Cache) (service.Service, error) {
	if config.Planners == 0 {
		config.Planners = 2
	}
	b := &builder{config: config, deps: deps, git: cache}
	fetches := newFetcher(config.Fetch, deps)
	says := []event.Type{event.TypeRunPlanned, event.TypeRunRejected, event.TypeChangeIgnored, event.TypeTaskRequested, event.TypeCommentAnswered, event.TypeRunPermissionRequested}
	return service.Service{
		Name: Name, Bus: deps.Bus, Stores: true,
		Doc: "definition at the commit → plan; what others build is fetched; all builds in, stamped with the commit → candidate",
		Routes: []bus.Route{
			bus.Work("plan", says, b.plan, bus.Workers(config.Planners)),
			bus.Work("permit", says, b.permitted),
			fetches.route(),
		},
		Loops: []service.Loop{{
			Name:  "join",
			Hears: joinHears(),
			Says:  []event.Type{event.TypeCandidateAssembled, event.TypeCandidateRejected},
			Run:   b.join,
		}, {
			Name: "fetch-live", Pool: release.FetchPool, Says: []event.Type{event.TypeExecutorHeartbeat}, Run: fetches.live,
		}},
	}, nil
}
