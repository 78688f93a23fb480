package edge

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// The headers with which a process hands a request to another one of the same installation. They count only beside the key that
// both know; from anybody else they are dropped.
const (
	headerSibling = "Sluice-Sibling" // the key
	headerPeer    = "Sluice-Peer"    // where the request comes from, as the first process saw it
	headerDirect  = "Sluice-Direct"  // "true" when it came from that machine itself
)

// shortestKey is how many bytes the key of siblings has at least: whoever guesses it may say where requests come from.
const shortestKey = 16

// Sibling is another process of the installation. It answers what this one does not serve, so that clients need one address.
type Sibling struct {
	name  string
	key   string
	at    *url.URL
	proxy *httputil.ReverseProxy
	log   *slog.Logger
}

// CheckKey refuses a key of siblings that can be guessed.
func CheckKey(key string) error {
	if len(key) < shortestKey || strings.ContainsAny(key, "\r\n") {
		return fault.New(fault.Invalid, "cannot use the key of services: it has %d bytes, expected one line of at least %d", len(key), shortestKey)
	}
	return nil
}

// NewSibling leads to a process at a URL. It shows the key there.
func NewSibling(name, at, key string, log *slog.Logger) (*Sibling, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fault.New(fault.Invalid, "cannot reach service %s at %q: expected a URL without a path, such as http://10.0.0.8:8030", name, at)
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	s := &Sibling{name: name, key: key, at: u, log: log}
	s.proxy = &httputil.ReverseProxy{
		Rewrite: s.rewrite, ErrorHandler: s.failed, FlushInterval: -1, // logs are followed line by line
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Transport: siblingTransport(),
	}
	return s, nil
}

// siblingTransport uses no proxy of the environment, and lets go of a connection before the other side does.
func siblingTransport() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
		ResponseHeaderTimeout: time.Minute, IdleConnTimeout: idleTimeout - 15*time.Second, MaxIdleConnsPerHost: 64,
		MaxResponseHeaderBytes: 1 << 20, DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// rewrite keeps the request as it is, its Host included: the sibling judges it as if it had come there.
func (s *Sibling) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(s.at)
	r.Out.Host = r.In.Host
	r.Out.Header.Set(headerSibling, s.key)
	r.Out.Header.Set(headerPeer, Peer(r.In))
	r.Out.Header.Del(headerDirect)
	if Direct(r.In) {
		r.Out.Header.Set(headerDirect, "true")
	}
}

// failed answers when the sibling does not.
func (s *Sibling) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	s.log.Warn("a service of this installation does not answer", "service", s.name, "url", s.at.String(), "path", r.URL.Path, "err", err)
	Refuse(w, fault.New(fault.Transient, "cannot answer: service %s, which serves this, does not answer", s.name))
}

// Or lets the sibling answer what a mux does not serve. A request that a sibling has handed over goes no further.
func (s *Sibling) Or(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" || handedOver(r) {
			mux.ServeHTTP(w, r)
			return
		}
		own := w.Header()
		for _, name := range answered() { // the sibling sets its own
			own.Del(name)
		}
		s.proxy.ServeHTTP(w, r)
	})
}

// answered are the headers that every process sets by itself.
func answered() []string {
	return []string{
		"X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options", "Cross-Origin-Resource-Policy", "Cross-Origin-Opener-Policy",
		"Content-Security-Policy",
	}
}

type handedKey struct{}

// handed is what a sibling says of a request.
type handed struct{ direct bool }

func handedOver(r *http.Request) bool {
	_, yes := r.Context().Value(handedKey{}).(handed)
	return yes
}

// take reads what a sibling says of a request, if its key is right, and drops the headers in any case.
func (e *Edge) take(r *http.Request) *http.Request {
	shown, peer, direct := r.Header.Get(headerSibling), r.Header.Get(headerPeer), r.Header.Get(headerDirect) == "true"
	for _, name := range []string{headerSibling, headerPeer, headerDirect} {
		r.Header.Del(name)
	}
	if e.key == "" || subtle.ConstantTimeCompare([]byte(shown), []byte(e.key)) != 1 {
		return r
	}
	ctx := context.WithValue(r.Context(), peerKey{}, peer)
	return r.WithContext(context.WithValue(ctx, handedKey{}, handed{direct}))
}
