package edge

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// connections are those that are open. When there are too many, the one that has waited longest for a request makes room:
// whoever opens connections to ask nothing keeps nobody out. When all of them are at work the newcomer is refused. One address
// has at most half of all, whatever its connections do, so that others find room. A trusted proxy has no such limit: everybody
// comes through it.
type connections struct {
	mu      sync.Mutex
	most    int
	proxies Proxies
	open    map[net.Conn]*list.Element // nil while a request is served, or its header is read
	waiting *list.List                 // of net.Conn, the longest waiting first
	from    map[netip.Prefix]int       // how many are open from an address
}

func newConnections(most int, proxies Proxies) *connections {
	return &connections{most: most, proxies: proxies, open: map[net.Conn]*list.Element{}, waiting: list.New(), from: map[netip.Prefix]int{}}
}

// source is where a connection comes from, as connections are counted: somebody with IPv6 has a whole network of addresses. Of a
// proxy, and of what is no network's, it is the zero prefix.
func (c *connections) source(conn net.Conn) netip.Prefix {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	ip := at.Addr().Unmap().WithZone("")
	if err != nil || c.proxies.trusts(ip) {
		return netip.Prefix{}
	}
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// forget takes a connection out of the books.
func (c *connections) forget(conn net.Conn) {
	if at := c.open[conn]; at != nil {
		c.waiting.Remove(at)
	}
	delete(c.open, conn)
	from := c.source(conn)
	if c.from[from]--; c.from[from] <= 0 {
		delete(c.from, from)
	}
}

// changed is http.Server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.open[conn]
	if !known {
		return // it was refused, or made room
	}
	if state == http.StateClosed || state == http.StateHijacked {
		c.forget(conn)
		return
	}
	if at != nil {
		c.waiting.Remove(at)
		c.open[conn] = nil
	}
	if state == http.StateNew || state == http.StateIdle {
		c.open[conn] = c.waiting.PushBack(conn)
	}
}

// admit makes room for a connection and reports whether there is some.
func (c *connections) admit(conn net.Conn) bool {
	c.mu.Lock()
	from := c.source(conn)
	own := from.IsValid() && c.from[from] >= max(1, c.most/2)
	var idle net.Conn
	if own || len(c.open) >= c.most {
		idle = c.longest(func(other net.Conn) bool { return !own || c.source(other) == from })
		if idle == nil {
			c.mu.Unlock()
			return false
		}
	}
	if idle != nil {
		c.forget(idle)
	}
	c.open[conn] = c.waiting.PushBack(conn)
	c.from[from]++
	c.mu.Unlock()
	if idle != nil {
		_ = idle.Close() // nobody had asked anything on it
	}
	return true
}

// longest is the connection that has waited longest, of those that are wanted; nil when none of them waits.
func (c *connections) longest(wanted func(net.Conn) bool) net.Conn {
	for at := c.waiting.Front(); at != nil; at = at.Next() {
		if conn := at.Value.(net.Conn); wanted(conn) {
			return conn
		}
	}
	return nil
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
