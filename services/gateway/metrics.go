package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newMetrics makes, or finds again, what a gateway counts of its requests.
func newMetrics(registry prometheus.Registerer) *prometheus.HistogramVec {
	m := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "sluice", Subsystem: "gateway", Name: "request_seconds",
		Help:    "Time to answer a request, by endpoint and status.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8),
	}, []string{"endpoint", "code"})
	if registry == nil {
		return m
	}
	var known prometheus.AlreadyRegisteredError
	if err := registry.Register(m); errors.As(err, &known) {
		return known.ExistingCollector.(*prometheus.HistogramVec)
	}
	return m
}

// observe measures every answer, also those to requests that could not be read.
func (g *gateway) observe(pattern string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, seen := time.Now(), &status{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(seen, r)
		g.requests.WithLabelValues(pattern, strconv.Itoa(seen.code)).Observe(time.Since(start).Seconds())
	})
}

// status notes the code of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the connection.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
