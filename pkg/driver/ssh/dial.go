package ssh

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/sluiceci/sluice/pkg/fault"
)

// dialTime bounds the way to a host and the greeting there.
const dialTime = 30 * time.Second

// maxSessions is how many sessions share a connection. Hosts allow ten.
const maxSessions = 8

// clientConfig says who we are and whom we trust.
func clientConfig(o Options) (*ssh.ClientConfig, error) {
	pem, err := os.ReadFile(o.KeyFile)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the key for %s: %w", o.Address, err)
	}
	key, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot use the key %s: %w; expected a private key without a passphrase", o.KeyFile, err)
	}
	known, err := knownhosts.New(o.KnownHosts)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the known hosts in %q: %w", o.KnownHosts, err)
	}
	algorithms, err := keyAlgorithms(known, o)
	if err != nil {
		return nil, err
	}
	return &ssh.ClientConfig{
		User: o.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: known, HostKeyAlgorithms: algorithms, Timeout: dialTime,
	}, nil
}

// noKey is a key that no host has: known_hosts is asked for it to say which ones it has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// keyAlgorithms are those of the keys that the host is known by. A host has several keys, and one that is not in
// known_hosts would look like a stranger's.
func keyAlgorithms(known ssh.HostKeyCallback, o Options) ([]string, error) {
	var unknown *knownhosts.KeyError
	if !errors.As(known(o.Address, &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &unknown) || len(unknown.Want) == 0 {
		return nil, fault.New(fault.Invalid, "cannot trust host %s: %s has no key of it; add the one that ssh-keyscan prints, once you know it is right",
			o.Address, o.KnownHosts)
	}
	var algorithms []string
	for _, key := range unknown.Want {
		if kind := key.Key.Type(); kind == ssh.KeyAlgoRSA {
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			algorithms = append(algorithms, kind)
		}
	}
	slices.Sort(algorithms)
	return slices.Compact(algorithms), nil
}

// host is the connections to one machine.
type host struct {
	address   string
	config    *ssh.ClientConfig
	keepAlive time.Duration

	dialing chan struct{} // one at a time: hosts refuse crowds of strangers
	mu      sync.Mutex
	closed  bool
	links   []*link
}

// link is one connection and how many sessions use it.
type link struct {
	client   *ssh.Client
	sessions int
	full     bool // the host takes no more sessions on it, whatever we count
}

var errClosed = fault.New(fault.Transient, "the driver was closed")

// session gives a new session and what ends it. Whoever has one closes it.
func (h *host) session(ctx context.Context) (*ssh.Session, func(), error) {
	for {
		l, err := h.link(ctx)
		if err != nil {
			return nil, nil, err
		}
		session, err := l.client.NewSession()
		if err == nil {
			var once sync.Once
			return session, func() { once.Do(func() { _ = session.Close(); h.release(l) }) }, nil
		}
		var full *ssh.OpenChannelError
		if errors.As(err, &full) {
			h.fill(l)
		} else {
			h.drop(l)
		}
		if ctx.Err() != nil {
			return nil, nil, fault.New(fault.Transient, "cannot open a session on %s: %w", h.address, err)
		}
	}
}

// link takes a place on a connection that has one left, or makes a connection.
func (h *host) link(ctx context.Context) (*link, error) {
	select {
	case h.dialing <- struct{}{}:
		defer func() { <-h.dialing }()
	case <-ctx.Done():
		return nil, fault.New(fault.Transient, "cannot reach host %s: %w", h.address, context.Cause(ctx))
	}
	if l, err := h.vacant(); l != nil || err != nil {
		return l, err
	}
	client, err := h.dial(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{client: client, sessions: 1}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		_ = client.Close()
		return nil, errClosed
	}
	h.links = append(h.links, l)
	go h.keep(l)
	return l, nil
}

func (h *host) vacant() (*link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	for _, l := range h.links {
		if l.sessions < maxSessions && !l.full {
			l.sessions++
			return l, nil
		}
	}
	return nil, nil
}

// release gives a place back. A connection without sessions is closed but for the last one.
func (h *host) release(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.sessions--
	if l.sessions == 0 && len(h.links) > 1 {
		h.remove(l)
	}
}

// fill gives a place back that the host does not give.
func (h *host) fill(l *link) {
	h.release(l)
	h.mu.Lock()
	defer h.mu.Unlock()
	l.full = true
}

// drop forgets a connection that broke.
func (h *host) drop(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(l)
}

func (h *host) remove(l *link) {
	_ = l.client.Close()
	h.links = slices.DeleteFunc(h.links, func(one *link) bool { return one == l })
}

func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, l := range slices.Clone(h.links) {
		h.remove(l)
	}
}

// dial connects, within dialTime and ctx.
func (h *host) dial(ctx context.Context) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.address)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot reach host %s: %w", h.address, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	transport, channels, requests, err := ssh.NewClientConn(conn, h.address, h.config)
	if err != nil || !stop() {
		_ = conn.Close()
		return nil, h.refused(ctx, err)
	}
	return ssh.NewClient(transport, channels, requests), nil
}

// refused gives the end of a greeting a kind: keys do not become right by trying again.
func (h *host) refused(ctx context.Context, err error) error {
	var other *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	var auth *ssh.ServerAuthError
	switch {
	case errors.As(err, &other), errors.As(err, &revoked):
		return fault.New(fault.Denied, "cannot trust host %s: %w; expected the key in known_hosts: somebody else may answer there", h.address, err)
	case errors.As(err, &auth), err != nil && noMethodLeft(err):
		return fault.New(fault.Denied, "cannot log in to host %s as %s: %w", h.address, h.config.User, err)
	case ctx.Err() != nil:
		return fault.New(fault.Transient, "cannot greet host %s: %w", h.address, context.Cause(ctx))
	}
	return fault.New(fault.Transient, "cannot greet host %s: %w", h.address, err)
}

// keep asks the host for a sign of life now and again. A connection that gives none is closed, which ends its sessions.
func (h *host) keep(l *link) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.client.Wait()
	}()
	ticker := time.NewTicker(h.keepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			h.drop(l)
			return
		case <-ticker.C:
			silence := time.AfterFunc(h.keepAlive+dialTime, func() { _ = l.client.Close() })
			_, _, _ = l.client.SendRequest("keepalive@openssh.com", true, nil)
			silence.Stop()
		}
	}
}
