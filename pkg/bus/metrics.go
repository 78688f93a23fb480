package bus

import (
	"context"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/fault"
)

// metrics are what a bus counts of its routes.
type metrics struct {
	handled *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{handled: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "sluice", Name: "handled_seconds", Help: "Time to handle an event, by service, route and result.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
	}, []string{"service", "route", "result"})}
	if registry == nil {
		return m
	}
	if err := registry.Register(m.handled); err != nil {
		if known, ok := err.(prometheus.AlreadyRegisteredError); ok {
			m.handled = known.ExistingCollector.(*prometheus.HistogramVec)
		}
	}
	return m
}

// observe measures each handling.
func (b *Bus) observe(service, route string) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			start := time.Now()
			response, err := next(ctx, request)
			result := string(fault.Of(err))
			if _, timer := untimely(err); timer {
				result = "again"
			}
			if err == nil {
				result = "ok"
			}
			b.metrics.handled.WithLabelValues(service, route, result).Observe(time.Since(start).Seconds())
			return response, err
		}
	}
}
