package edge

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are those that are open. When there are too many, the one that has waited longest for a request makes room:
// whoever opens connections to ask nothing keeps nobody out. When all of them are at work the newcomer is refused.
type connections struct {
	mu      sync.Mutex
	most    int
	open    map[net.Conn]*list.Element // nil while a request is served
	waiting *list.List                 // of net.Conn, the longest waiting first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}, waiting: list.New()}
}

// changed is http.Server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.open[conn]
	if !known {
		return // it was refused, or made room
	}
	if at != nil {
		c.waiting.Remove(at)
		c.open[conn] = nil
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// admit makes room for a connection and reports whether there is some.
func (c *connections) admit(conn net.Conn) bool {
	c.mu.Lock()
	var idle net.Conn
	if len(c.open) >= c.most {
		longest := c.waiting.Front()
		if longest == nil {
			c.mu.Unlock()
			return false
		}
		idle = c.waiting.Remove(longest).(net.Conn)
		delete(c.open, idle)
	}
	c.open[conn] = c.waiting.PushBack(conn)
	c.mu.Unlock()
	if idle != nil {
		_ = idle.Close() // nobody had asked anything on it
	}
	return true
}

func (c *connections) listen(l net.Listener) net.Listener { return &admitting{l, c} }

// admitting is a listener that gives on what is admitted.
type admitting struct {
	net.Listener
	kept *connections
}

// full is the answer to a connection that is not admitted, before it has asked anything.
const full = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

func (a *admitting) Accept() (net.Conn, error) {
	for {
		conn, err := a.Listener.Accept()
		if err != nil || a.kept.admit(conn) {
			return conn, err
		}
		_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = conn.Write([]byte(full)) // it fits the socket's buffer
		_ = conn.Close()
	}
}
