package executor

import (
	"context"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/idtoken"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "executor"

// Config of an executor.
type Config struct {
	Pool        string            `yaml:"pool"`        // whose attempts it takes
	Slots       int               `yaml:"slots"`       // attempts at once; the number of CPUs when 0
	Dir         string            `yaml:"dir"`         // workspaces; this executor's alone
	Environment map[string]string `yaml:"environment"` // of every attempt, below the task's own variables
	Path        string            `yaml:"path"`        // PATH of attempts; the executor's own when empty
	Grace       time.Duration     `yaml:"grace"`       // between SIGTERM and SIGKILL; 10s when 0
	Drain       time.Duration     `yaml:"drain"`       // what running attempts get when the executor is to end; 30s when 0
	Beat        time.Duration     `yaml:"beat"`        // between heartbeats; 500ms when 0
	MinFree     int64             `yaml:"min_free"`    // bytes of disk below which it takes no work; 1 GiB when 0, none when negative
	LiveLog     int64             `yaml:"live_log"`    // bytes of an attempt's log that are seen live; 32 MiB when 0
	Driver      choose.Config     `yaml:"driver"`      // where attempts run; processes of this machine when empty
	Accepts     []release.Trust   `yaml:"accepts"`     // changes that it takes; what the driver can hold back when empty
	Notice      Notice            `yaml:"notice"`      // where it is told that this machine will be taken away
	Caches      string            `yaml:"caches"`      // directory of caches, which executors of one machine may share; below Dir when empty
	CacheSize   int64             `yaml:"cache_size"`  // bytes of all caches together; 10 GiB when 0, none when negative
	Keep        time.Duration     `yaml:"keep"`        // how long workspaces of failed attempts are left whose task does not say
	Grants      secret.Grants     `yaml:"-"`           // which tasks get which secrets
	Use         driver.Driver     `yaml:"-"`           // in place of Driver
	Alerts      []Alert           `yaml:"-"`           // suites that tasks may name
	Recorders   []Recorder        `yaml:"-"`           // records that tasks may want of their attempts
	Cells       bool              `yaml:"-"`           // this program can be started as a cell: see driver.LocalOptions
	Untrusted   Untrusted         `yaml:"-"`           // what tasks of untrusted changes may have
	Hide        []string          `yaml:"-"`           // the platform's files and directories, which do not exist for commands

	// Failed, when set, is shown the workspace of a failed attempt before that is cleaned: a person may look around. The
	// attempt goes on when it returns; it must when ctx ends.
	Failed func(ctx context.Context, w Workspace) `yaml:"-"`

	space func(dir string) (int64, error) // free on its disk, in bytes
}

// Workspace is where a failed attempt ran.
type Workspace struct {
	Task    release.TaskID
	Attempt int32
	Dir     string            // where the command ran
	Env     map[string]string // of the command, with its secrets
	Reason  string            // why it failed
}

func (c Config) orDefault() Config {
	for value, fallback := range map[*time.Duration]time.Duration{
		&c.Grace: 10 * time.Second, &c.Drain: 30 * time.Second, &c.Beat: 500 * time.Millisecond,
	} {
		if *value == 0 {
			*value = fallback
		}
	}
	if c.Slots == 0 {
		c.Slots = runtime.NumCPU()
	}
	if c.MinFree == 0 {
		c.MinFree = 1 << 30
	}
	if c.space == nil {
		c.space = space
	}
	if c.CacheSize == 0 {
		c.CacheSize = 10 << 30
	}
	if c.LiveLog == 0 {
		c.LiveLog = 32 << 20
	}
	return c
}

// ackWait is how soon an attempt that an executor received, and died before it claimed it, goes to another.
const ackWait = 2 * time.Second

// New makes the service. The cache of git mirrors is shared with whoever else in the process reads git.
func New(config Config, deps service.Deps, cache *git.Cache) (service.Service, error) {
	config = config.orDefault()
	if config.Pool == release.FetchPool {
		return service.Service{}, fault.New(fault.Invalid, "cannot make an executor of pool %s: the builder serves it; name another pool", config.Pool)
	}
	if !release.Token(config.Pool) || config.Slots < 0 || config.Dir == "" {
		return service.Service{}, fault.New(fault.Invalid, "cannot make an executor of pool %q with %d slots in %q: expected "+
			"a pool of letters, digits, - and _, a number of slots, and a directory", config.Pool, config.Slots, config.Dir)
	}
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return service.Service{}, fault.New(fault.Internal, "cannot name the directory %q: %w", config.Dir, err)
	}
	config.Dir = dir
	e := newExecutor(config, deps, cache)
	says := []event.Type{
		event.TypeTaskStarted, event.TypeTaskFinished, event.TypePlacesCreated, event.TypePlacesDestroyed,
	}
	return service.Service{
		Name: Name, Pool: config.Pool, Bus: deps.Bus, Stores: true, Asks: []string{idtoken.Topic + "." + config.Pool},
		Reads: append(says, event.TypeRunCancelRequested, event.TypeLeaseGranted, event.TypeLeaseEnded, event.TypeTaskCancelRequested),
		Doc:   "runs one attempt: cleanup → prepare → run → collect → cleanup, whatever happens",
		Routes: []bus.Route{
			bus.Work("run", says, e.take,
				bus.Key(config.Pool), bus.Workers(config.Slots), bus.Gate(e.await, e.shutting), bus.Grace(e.patience()), bus.AckWait(ackWait)),
			bus.Work("sweep", []event.Type{event.TypePlacesDestroyed}, e.sweep,
				bus.Key(config.Pool), bus.Gate(e.await, e.shutting), bus.Grace(e.patience()), bus.AckWait(ackWait)),
		},
		Loops: []service.Loop{
			{Name: "live-" + config.Pool, Says: []event.Type{
				event.TypeExecutorHeartbeat, event.TypeExecutorDraining, event.TypeTaskFinished,
			}, Run: e.live},
			{Name: "tend-" + config.Pool, Says: []event.Type{event.TypeTaskFinished, event.TypePlacesDestroyed}, Run: e.tendAll},
			{Name: "notice-" + config.Pool, Run: e.watchNotice},
			{Name: "cancel-" + config.Pool, Hears: []event.Type{event.TypeTaskCancelRequested}, Run: e.hearCancels},
		},
	}, nil
}
