package scheduler

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/schedule"
)

// survey shows the pools as metrics: what an autoscaler and an alarm look at.
type survey struct {
	mu    sync.Mutex
	pools func() []schedule.Pool
	waiting, given, running,
	slots, drained *prometheus.Desc
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
func (s *survey) show(pools func() []schedule.Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pools = pools
}

// Describe and Collect make a prometheus.Collector.
func (s *survey) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.waiting, s.given, s.running, s.slots, s.drained} {
		out <- d
	}
}

// Collect asks the desk.
func (s *survey) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	pools := s.pools
	s.mu.Unlock()
	if pools == nil {
		return
	}
	for _, p := range pools() {
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
