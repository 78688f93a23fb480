package service

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluiceci/sluice/pkg/bus"
)

// Handler is the HTTP side of a process: the services' endpoints, /metrics, /healthz and /readyz.
func Handler(b *bus.Bus, gatherer prometheus.Gatherer, health *Health, services ...Service) http.Handler {
	mux := http.NewServeMux()
	for _, s := range services {
		for _, e := range s.HTTP {
			mux.Handle(e.Pattern, e.Handler)
		}
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		problems := health.Problems()
		answer(w, len(problems) == 0, map[string]any{"problems": problems})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		err := b.Ready(ctx)
		state := map[string]any{}
		if err != nil {
			state["problem"] = err.Error()
		}
		answer(w, err == nil, state)
	})
	return mux
}

func answer(w http.ResponseWriter, ok bool, state map[string]any) {
	state["ok"] = ok
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(state) // the client is gone when this fails
}

// Serve serves HTTP on a listener until ctx ends, then lets requests finish for five seconds. Streams that have no end
// (server-sent events) are cut then; their clients connect again.
func Serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	server.ReadHeaderTimeout = 10 * time.Second
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close() // what did not finish in time is cut
	}
	return nil
}
