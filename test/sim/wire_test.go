package sim

import (
	"errors"
	"net"
	"sync"

	"github.com/sluiceci/sluice/pkg/bus"
)

// network is a server and the wires to it.
type network struct {
	mu     sync.Mutex
	server *bus.Server // nil while it is down
}

// wire is how one service reaches the server. While it is cut, bytes vanish in both directions and nobody is told. When it is
// mended, a connection that lost some ends: no network delivers a stream with a hole in it.
type wire struct {
	of    *network
	mu    sync.Mutex
	cut   bool
	conns []*conn
}

type conn struct {
	net.Conn
	w    *wire
	lost bool
}

var errDown = errors.New("connection refused")

// InProcessConn is what the NATS client calls to connect.
func (w *wire) InProcessConn() (net.Conn, error) {
	w.of.mu.Lock()
	server := w.of.server
	w.of.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if server == nil || w.cut {
		return nil, errDown
	}
	inner, err := server.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, w: w}
	w.conns = append(w.conns, c)
	return c, nil
}

func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		if !cut && c.lost {
			_ = c.Conn.Close()
		}
	}
}

// loses reports whether bytes of a connection vanish now.
func (c *conn) loses() bool {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.lost = c.lost || c.w.cut
	return c.lost
}

func (c *conn) Write(b []byte) (int, error) {
	if c.loses() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.loses() {
			return n, err
		}
	}
}
