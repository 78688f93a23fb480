// Package edge is the HTTP side of a process as the network sees it: which names it answers to, how many connections it
// keeps, how long each of them may take for what, and how many bytes of requests it holds in memory. It knows nothing of
// what the requests mean and who sends them.
package edge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits bound what clients can take from a process. Zero values mean the defaults.
type Limits struct {
	Connections int   `yaml:"connections"` // open at once; 2048
	Bodies      int64 `yaml:"bodies"`      // bytes of requests' bodies that are held in memory at once; 64 MiB
}

const (
	defaultConnections = 2048
	defaultBodies      = 64 << 20

	headerTimeout = 10 * time.Second
	bodyTimeout   = 20 * time.Second // of a whole body; forges give up after ten seconds
	writeTimeout  = 30 * time.Second // of one write, not of a whole answer: downloads and event streams take as long as they take
	idleTimeout   = 45 * time.Second // between two requests
	maxHeader     = 32 << 10         // bytes
)

// Edge serves HTTP within limits.
type Edge struct {
	hosts       Hosts
	proxies     Proxies
	bodies      *bodies
	connections int
	log         *slog.Logger
	key         string // of the installation's other processes; none may hand requests over when it is empty
}

// Siblings lets the processes that know a key hand requests over.
func (e *Edge) Siblings(key string) error {
	e.key = key
	return CheckKey(key)
}

// New makes an edge that answers to some names, and believes some proxies.
func New(hosts Hosts, proxies Proxies, l Limits, log *slog.Logger) *Edge {
	if l.Connections <= 0 {
		l.Connections = defaultConnections
	}
	if l.Bodies <= 0 {
		l.Bodies = defaultBodies
	}
	return &Edge{hosts: hosts, proxies: proxies, bodies: newBodies(l.Bodies), connections: l.Connections, log: log}
}

// Handler puts the limits of each request before a handler.
func (e *Edge) Handler(next http.Handler) http.Handler {
	inner := timed(e.bodies.bounded(next))
	own := e.hosts.only(e.proxies.noted(inner))
	return headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r = e.take(r); handedOver(r) { // the sibling has looked at its host and where it comes from
			inner.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	}))
}

// Serve serves a handler on a listener until ctx ends, then lets requests finish for five seconds. Streams that have no end
// (server-sent events) are cut then; their clients connect again.
func (e *Edge) Serve(ctx context.Context, handler http.Handler, listener net.Listener) error {
	kept := newConnections(e.connections, e.proxies)
	server := &http.Server{
		Handler:           e.Handler(handler),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnState:      kept.changed,
		ErrorLog:       slog.NewLogLogger(e.log.Handler(), slog.LevelDebug), // clients that speak no HTTP are no news
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(kept.listen(listener)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil && !errors.Is(err, http.ErrServerClosed) {
		_ = server.Close() // what did not finish in time is cut
	}
	return nil
}

// headers are those of every answer. Pages add a policy of their own that lets them load their files.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if r.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
