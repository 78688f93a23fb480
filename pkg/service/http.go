package service

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
)

// Handler is the HTTP side of a process: the services' endpoints, /metrics, /healthz and /readyz.
// The gate is before all of them.
func Handler(b *bus.Bus, gatherer prometheus.Gatherer, health *Health, gate *access.Gate, services ...Service) *http.ServeMux {
	mux := http.NewServeMux()
	for _, s := range services {
		for _, e := range s.HTTP {
			mux.Handle(e.Pattern, gate.Protect(e.Rule, e.Handler))
		}
	}
	metrics := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
	mux.Handle("GET /metrics", gate.Protect(access.Whole(access.Viewer), metrics))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		problems, waiting := health.Problems(), waits(services)
		state := map[string]any{"problems": problems, "waits": len(waiting)}
		switch seen := len(problems)+len(waiting) > 0 && sees(gate, r); {
		case seen && len(waiting) > 0:
			state["waiting"] = waiting
		case !seen:
			for part := range problems {
				problems[part] = hidden
			}
		}
		answer(w, len(problems) == 0, state)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		err := b.Ready(ctx)
		state := map[string]any{}
		if err != nil {
			state["problem"] = hidden
			if sees(gate, r) {
				state["problem"] = err.Error()
			}
		}
		answer(w, err == nil, state)
	})
	return mux
}

// What is wrong names servers and files of the installation: a probe needs to know only that something is, and where.
const hidden = "only people with the role viewer in all projects see the reason; it is in the log too"

// seesWithin is how long it may take to find out who asks how a process is: what tells it may be what is broken.
const seesWithin = 2 * time.Second

func sees(gate *access.Gate, r *http.Request) bool {
	ctx, cancel := context.WithTimeout(r.Context(), seesWithin)
	defer cancel()
	return gate.Sees(r.WithContext(ctx))
}

// waits collects what waits in all services of the process. Waiting is no fault: the process works.
func waits(services []Service) []string {
	out := []string{}
	for _, s := range services {
		if s.Waits != nil {
			out = append(out, s.Waits()...)
		}
	}
	return out
}

func answer(w http.ResponseWriter, ok bool, state map[string]any) {
	state["ok"] = ok
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(state) // the client is gone when this fails
}
