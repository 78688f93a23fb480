package scheduler

import (
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "test-scheduler"

// Config of a scheduler. Zero values become the defaults of schedule.Config.
type Config struct {
	LostAfter  time.Duration            `yaml:"lost_after"`  // silence after which an executor counts as lost; 2s
	Return     time.Duration            `yaml:"return"`      // silence that executors are allowed when the scheduler hears again after it was cut off; 5s
	Unserved   time.Duration            `yaml:"unserved"`    // that what a pool without executors was given may keep other pools waiting; 1m
	Lookahead  int                      `yaml:"lookahead"`   // attempts given to a pool beyond what it can run now; 8
	Resend     time.Duration            `yaml:"resend"`      // until a decision that is not stored is made again; 3s
	Phase      time.Duration            `yaml:"phase"`       // allowed to prepare, and to clean up, where a task bounds neither; 10m
	Overrun    time.Duration            `yaml:"overrun"`     // beyond a task's timeouts, until its attempt is told to stop; 60s
	StopWithin time.Duration            `yaml:"stop_within"` // from telling an attempt to stop until it is given up; 30s
	Keep       time.Duration            `yaml:"keep"`        // how long a finished run's tasks are kept in memory; 1h
	Aging      int                      `yaml:"aging"`       // one attempt in so many goes to the oldest task of its pool; 16
	PassOver   int                      `yaml:"pass_over"`   // attempts that may take of a budget before a task for which it is too small; 16
	Disconnect map[string]time.Duration `yaml:"disconnect"`  // by pool: silence after which what an executor runs counts as lost; lost_after
	Leases     LeaseConfig              `yaml:"leases"`      // how places are looked after
	Providers  []Provider               `yaml:"-"`           // a section of its own: "providers"

	Accepts map[string][]release.Trust `yaml:"-"` // by pool, the changes that it takes: the section "pools"
	Lends   map[string][]release.Trust `yaml:"-"` // by provider, the changes that may lease its places: the section "providers"

	Environments environment.Rules `yaml:"-"` // a section of its own: "environments"

	Limits []schedule.Limit `yaml:"limits"` // of groups, pools and providers, and weights; what is set by sluice limits counts instead
}

func (c Config) core() schedule.Config {
	return schedule.Config{
		LostAfter: c.LostAfter, Return: c.Return, Unserved: c.Unserved, Disconnect: c.Disconnect, Lookahead: c.Lookahead, Resend: c.Resend, Phase: c.Phase, Overrun: c.Overrun,
		StopWithin: c.StopWithin, Keep: c.Keep, Aging: c.Aging, PassOver: c.PassOver, Limits: c.Limits, Leases: c.leases(),
		Environments: c.Environments, Accepts: c.Accepts, Lends: c.Lends,
	}
}

// core is the configuration of the desk, which hears its own heartbeats.
func (s *scheduler) core() schedule.Config {
	out := s.config.core()
	out.Self = s.deps.Instance
	return out
}

// redeliver is how soon a candidate goes to another scheduler when the one that heard of it dies. Requesting tests takes
// milliseconds and may be done twice.
const redeliver = 3 * time.Second

// The topics of the questions that the scheduler answers.
const (
	TopicWhy    = "why"    // Question → schedule.Why
	TopicQueues = "queues" // Everything → []schedule.Pool
)

// Question asks why a run, or a task of it, is where it is.
type Question struct {
	Run  release.RunID  `json:"run"`
	Task release.TaskID `json:"task,omitempty"`
}

// Everything is the question for all pools.
type Everything struct{}

type scheduler struct {
	config Config
	deps   service.Deps
	survey *survey
}

// New makes the service.
func New(config Config, deps service.Deps) (service.Service, error) {
	config, err := config.checked()
	if err != nil {
		return service.Service{}, err
	}
	s := &scheduler{config: config, deps: deps, survey: newSurvey(deps.Registry)}
	return service.Service{
		Name: Name, Bus: deps.Bus, Stores: true, Answers: []string{TopicWhy, TopicQueues, TopicLimits, lease.Topic},
		Doc: "which task goes to which pool when, what is tried again, whether the gate opens, how a run ends",
		Routes: []bus.Route{
			bus.Work("request-tests", []event.Type{event.TypeTaskRequested}, s.requestTests,
				bus.AckWait(redeliver)),
		},
		Loops: []service.Loop{
			{Name: "queue", Hears: append(schedule.Hears(), heartbeats()...), Says: append(schedule.Says(), event.TypeSchedulerHeartbeat), Run: s.run},
			{Name: "places", Hears: []event.Type{event.TypePlaceRegistered}, Says: []event.Type{event.TypePlaceRegistered}, Run: s.places},
		},
	}, nil
}
