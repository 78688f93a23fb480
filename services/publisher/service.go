package publisher

import (
	"cmp"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/service"
)

// Name of the service.
const Name = "publisher"

// Config of a publisher.
type Config struct {
	Root        string        `yaml:"root"`         // targets in directories lie below it; empty allows any absolute path
	Temp        string        `yaml:"temp"`         // for temporary files; empty is the system's directory
	Workers     int           `yaml:"workers"`      // steps of one target made at once; 2 when 0
	AckWait     time.Duration `yaml:"ack_wait"`     // until the step of a publisher that died goes to another; 5s when 0
	StepTimeout time.Duration `yaml:"step_timeout"` // the longest that one step may take before it is tried again; 2h when 0
	Patience    time.Duration `yaml:"patience"`     // until a step that a registry keeps waiting fails, with its last reason; 12h when 0
	Recommit    time.Duration `yaml:"recommit"`     // until what was committed and cannot be seen is sent again; 2m when 0
	Grants      secret.Grants `yaml:"-"`            // which targets get which secrets and variables

	Environments environment.Rules `yaml:"-"` // which targets are protected
}

type publisher struct {
	config Config
	deps   service.Deps
	book   *book
	lanes  *lanes
	images *layouts
}

// setup is what targets are made from here.
func (p *publisher) setup() Setup {
	return Setup{Temp: p.config.Temp, Root: p.config.Root, Now: p.deps.Now, Layouts: p.images}
}

// steps is how many steps of one kind a process makes at once, over all targets. A worker that waits for a registry costs some
// kilobytes.
const steps = 500

// New makes the service: a loop that decides which step comes next, and for each kind of target a route that makes the
// steps. Each target has a lane of its own, so that a registry that is slow holds up nobody else.
func New(config Config, deps service.Deps) (service.Service, error) {
	config.Workers = cmp.Or(config.Workers, 2)
	config.AckWait = cmp.Or(config.AckWait, 5*time.Second)
	config.StepTimeout = cmp.Or(config.StepTimeout, 2*time.Hour)
	config.Patience = cmp.Or(config.Patience, 12*time.Hour)
	config.Recommit = cmp.Or(config.Recommit, 2*time.Minute)
	p := &publisher{config: config, deps: deps, book: newBook(config.Environments), lanes: newLanes(config.Workers), images: newLayouts()}
	s := service.Service{
		Name: Name, Bus: deps.Bus,
		Doc:     "gate open → every target planned, probed, staged, committed, verified; published when all are",
		Answers: []string{TopicStandings, TopicRehearsal},
		Waits:   func() []string { return p.book.waiting(deps.Now()) },
		Loops: []service.Loop{{
			Name: "saga", Hears: sagaHears(), Says: sagaSays(), Run: p.run,
		}},
	}
	says := []event.Type{event.TypePublicationAdvanced, event.TypePublicationDelayed, event.TypePublicationFailed}
	for _, kind := range Kinds() {
		s.Routes = append(s.Routes, bus.Work("step", says, p.step,
			bus.Key(kind.Name), bus.Workers(steps), bus.AckWait(config.AckWait), bus.Grace(10*time.Second)))
	}
	says = []event.Type{event.TypePublicationChecked}
	s.Routes = append(s.Routes, bus.Work("preflight", says, p.preflight, bus.Workers(16), bus.AckWait(config.AckWait)))
	s.Routes = append(s.Routes, bus.Work("check", says, p.check, bus.Workers(16), bus.AckWait(config.AckWait)))
	return s, nil
}
