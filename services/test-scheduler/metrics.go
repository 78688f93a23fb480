package scheduler

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// survey shows the pools as metrics: what an autoscaler and an alarm look at.
type survey struct {
	mu   sync.Mutex
	desk *desk
	waiting, given, running,
	slots, drained, blind *prometheus.Desc
}

func newSurvey(registry prometheus.Registerer) *survey {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("sluice_pool_"+name, help, []string{"pool"}, nil)
	}
	s := &survey{
		waiting: desc("waiting", "Tasks that could be given to the pool now."),
		given:   desc("given", "Attempts given to the pool that have not ended."),
		running: desc("running", "Attempts that an executor of the pool runs."),
		slots:   desc("slots", "Attempts that the pool's live executors can run at once."),
		drained: desc("drained", "1 while the pool is drained."),
		blind: prometheus.NewDesc("sluice_scheduler_blind_seconds",
			"For how long the scheduler has not heard itself through the bus and declares no executor lost; 0 while it hears.", nil, nil),
	}
	if registry == nil {
		return s
	}
	var known prometheus.AlreadyRegisteredError
	if err := registry.Register(s); errors.As(err, &known) {
		if earlier, same := known.ExistingCollector.(*survey); same {
			return earlier
		}
	}
	return s
}

// show makes the metrics those of a desk.
func (s *survey) show(d *desk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.desk = d
}

// Describe and Collect make a prometheus.Collector.
func (s *survey) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.waiting, s.given, s.running, s.slots, s.drained, s.blind} {
		out <- d
	}
}

// Collect asks the desk.
func (s *survey) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	d := s.desk
	s.mu.Unlock()
	if d == nil {
		return
	}
	out <- prometheus.MustNewConstMetric(s.blind, prometheus.GaugeValue, d.blind().Seconds())
	for _, p := range d.pools() {
		drained := 0
		if p.Drained {
			drained = 1
		}
		for desc, value := range map[*prometheus.Desc]int{
			s.waiting: p.Waiting, s.given: p.Given, s.running: p.Running, s.slots: p.Slots, s.drained: drained,
		} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), p.Name)
		}
	}
}
