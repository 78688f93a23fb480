package publisher

import (
	"cmp"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "publisher"

// Config of a publisher.
type Config struct {
	Root        string        `yaml:"root"`         // targets in directories lie below it; empty allows any absolute path
	Temp        string        `yaml:"temp"`         // for temporary files; empty is the system's directory
	Workers     int           `yaml:"workers"`      // steps of one kind of target made at once; 2 when 0
	AckWait     time.Duration `yaml:"ack_wait"`     // until the step of a publisher that died goes to another; 5s when 0
	StepTimeout time.Duration `yaml:"step_timeout"` // the longest that one step may take before it is tried again; 2h when 0
}

type publisher struct {
	config Config
	deps   service.Deps
}

// New makes the service: a loop that decides which step comes next, and for each kind of target a route that makes the
// steps, so that a registry that is slow holds up nobody else.
func New(config Config, deps service.Deps) (service.Service, error) {
	config.Workers = cmp.Or(config.Workers, 2)
	config.AckWait = cmp.Or(config.AckWait, 5*time.Second)
	config.StepTimeout = cmp.Or(config.StepTimeout, 2*time.Hour)
	p := &publisher{config: config, deps: deps}
	s := service.Service{
		Name: Name,
		Doc:  "gate open → every target planned, probed, staged, committed, verified; published when all are",
		Loops: []service.Loop{{
			Name: "saga", Hears: sagaHears(), Says: sagaSays(), Run: p.run,
		}},
	}
	says := []event.Type{event.TypePublicationAdvanced, event.TypePublicationFailed}
	for _, kind := range Kinds() {
		s.Routes = append(s.Routes, bus.Work("step", says, p.step,
			bus.Key(kind.Name), bus.Workers(config.Workers), bus.AckWait(config.AckWait), bus.Grace(10*time.Second)))
	}
	return s, nil
}
