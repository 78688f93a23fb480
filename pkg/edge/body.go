package edge

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// bodies is how much of requests' bodies is in memory. What was read counts until its request is answered: nobody has shown
// yet who they are, and any number may send at once.
type bodies struct {
	mu    sync.Mutex
	most  int64
	held  int64
	peers map[string]int64 // by address: one takes half of all at most
}

func newBodies(most int64) *bodies { return &bodies{most: most, peers: map[string]int64{}} }

// retryAfter is when a sender who found no room may come again.
const retryAfter = 5 * time.Second

// step is by how much a body's share grows, in bytes: small ones do not come back for every read.
const step = 32 << 10

func (b *bodies) take(peer string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.most || b.peers[peer]+n > b.most/2 {
		return false
	}
	b.held += n
	b.peers[peer] += n
	return true
}

func (b *bodies) give(peer string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.peers[peer] -= n; b.peers[peer] <= 0 {
		delete(b.peers, peer)
	}
}

// bounded counts what is read of each body, and fails the reading of what there is no room for.
func (b *bodies) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &counted{ReadCloser: r.Body, of: b, peer: Peer(r)}
		defer body.release()
		unread := r.Body
		r.Body = body
		next.ServeHTTP(w, r)
		drain(w, unread)
	})
}

const (
	drainMost    = 1<<20 + 64<<10
	drainTimeout = 5 * time.Second
)

// drain reads past a body that the handler left unread, so that a sender who still writes sees the answer instead of a broken
// connection. Nothing of it is kept.
func drain(w http.ResponseWriter, body io.Reader) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTimeout)) // a test's recorder has none
	_, _ = io.CopyN(io.Discard, body, drainMost)                                    // whoever breaks off is not waited for
}

// counted is a body whose bytes are counted as they come.
type counted struct {
	io.ReadCloser
	of         *bodies
	peer       string
	read, paid int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.read >= c.paid {
		if !c.of.take(c.peer, step) {
			return 0, fault.Later(retryAfter, "cannot read the request: too many bodies are on their way")
		}
		c.paid += step
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.paid-c.read)])
	c.read += int64(n)
	return n, err
}

func (c *counted) release() {
	c.of.give(c.peer, c.paid)
	c.paid = 0
}
