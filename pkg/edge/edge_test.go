package edge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// network is a listener in memory, so that the clock of a bubble is the clock of its connections.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newNetwork() *network { return &network{conns: make(chan net.Conn), done: make(chan struct{})} }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (n *network) dial() net.Conn {
	client, server := net.Pipe()
	n.conns <- server
	return client
}

// from is a connection from an address.
func (n *network) from(address string) net.Conn {
	client, server := net.Pipe()
	n.conns <- placed{server, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
	return client
}

type placed struct {
	net.Conn
	at net.Addr
}

func (p placed) RemoteAddr() net.Addr { return p.at }

// served runs a handler behind an edge within a bubble.
func served(t *testing.T, l Limits, handler http.HandlerFunc, test func(*network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := New(NewHosts("127.0.0.1:80", "https://sluice.example/"), nil, l, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		n := newNetwork()
		ended := make(chan error, 1)
		go func() { ended <- e.Serve(ctx, handler, n) }()
		test(n)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
}

func ask(t *testing.T, c net.Conn, text string) *http.Response {
	t.Helper()
	go func() { _, _ = io.WriteString(c, text) }() // a server that answers early reads no more
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer to %.60q: %v", text, err)
	}
	return answer
}

// heldFor sends a text, reads what comes, and tells for how long the connection stays open.
func heldFor(c net.Conn, text string) time.Duration {
	start := time.Now()
	go func() { _, _ = io.WriteString(c, text) }() // it is closed before all is written
	_, _ = io.Copy(io.Discard, c)                  // until it ends
	return time.Since(start)
}

// TestNobodyHoldsAConnection is attack 10: what asks nothing, or never finishes asking, is closed.
func TestNobodyHoldsAConnection(t *testing.T) {
	t.Parallel()
	reading := func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		fmt.Fprint(w, err)
	}
	served(t, Limits{}, reading, func(n *network) {
		for _, c := range []struct {
			name, text string
			most       time.Duration
		}{
			{"nothing", "", headerTimeout},
			{"half a header", "GET / HTTP/1.1\r\nX: ", headerTimeout},
			{"idle", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", idleTimeout},
			{"no body", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n", bodyTimeout + drainTimeout},
			{"a body of a GET", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n", bodyTimeout + drainTimeout},
			{"a body in pieces", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", bodyTimeout + drainTimeout},
			{"a wrong host", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n", bodyTimeout + time.Second},
		} {
			if held := heldFor(n.dial(), c.text); held > c.most+time.Second {
				t.Errorf("%s is held for %s, want at most %s", c.name, held, c.most)
			}
		}
	})
}

// TestTrickle sends a byte a second: the deadline is of the whole body, not of each read.
func TestTrickle(t *testing.T) {
	t.Parallel()
	served(t, Limits{}, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, func(n *network) {
		c := n.dial()
		start := time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
			for {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		_, _ = io.Copy(io.Discard, c)
		if held := time.Since(start); held > bodyTimeout+drainTimeout+time.Second {
			t.Errorf("a slow body is held for %s", held)
		}
		_ = c.Close()
		<-ended
	})
}

// TestStreamsGoOn shows that the limits of time end no stream of events: neither its reading side nor its writing side.
func TestStreamsGoOn(t *testing.T) {
	t.Parallel()
	const beats = 40
	stream := func(w http.ResponseWriter, r *http.Request) {
		for i := range beats {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(15 * time.Second):
			}
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	}
	served(t, Limits{}, stream, func(n *network) {
		c := n.dial()
		answer := ask(t, c, "GET / HTTP/1.1\r\nHost: sluice.example\r\n\r\n")
		text, err := io.ReadAll(answer.Body)
		if got := strings.Count(string(text), "data:"); err != nil || got != beats {
			t.Errorf("a stream of ten minutes gave %d of %d messages: %v", got, beats, err)
		}
		_ = c.Close()
	})
}

// TestWhoDoesNotRead is dropped: a write has a deadline.
func TestWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	var failed chan error // made within the bubble, so that waiting for it lets its clock go on
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				failed <- err
				return
			}
		}
	}
	served(t, Limits{}, endless, func(n *network) {
		failed = make(chan error, 1)
		c := n.dial()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err := <-failed; !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "timeout") {
			t.Errorf("writing to whoever reads nothing ended with %v", err)
		}
		_ = c.Close()
	})
}

func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	served(t, Limits{}, func(http.ResponseWriter, *http.Request) {}, func(n *network) {
		c := n.dial()
		answer := ask(t, c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 128<<10)+"\r\n\r\n")
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("128 KiB of headers are answered %d", answer.StatusCode)
		}
		_ = c.Close()
	})
}

// TestPipelining sends many requests at once on one connection: they are answered one after the other, each by its own host.
func TestPipelining(t *testing.T) {
	t.Parallel()
	served(t, Limits{}, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }, func(n *network) {
		c := n.dial()
		var text strings.Builder
		for i := range 50 {
			fmt.Fprintf(&text, "GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n", i)
		}
		text.WriteString("GET /secret HTTP/1.1\r\nHost: attacker.example\r\n\r\nGET /after HTTP/1.1\r\nHost: localhost\r\n\r\n")
		go func() { _, _ = io.WriteString(c, text.String()) }()
		in := bufio.NewReader(c)
		for i := range 50 {
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			if string(body) != fmt.Sprintf("/%d", i) {
				t.Fatalf("answer %d is %q", i, body)
			}
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil || answer.StatusCode != http.StatusMisdirectedRequest {
			t.Fatalf("the other host is answered %v, %v", answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if _, err := http.ReadResponse(in, nil); err == nil {
			t.Error("the connection goes on after a wrong host")
		}
		_ = c.Close()
	})
}

// TestOneAddressLeavesRoom: whatever somebody does on their connections, half headers or requests that never end, others are served.
func TestOneAddressLeavesRoom(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half headers": "GET / HTTP/1.1\r\nHost: loc", "bodies that do not come": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", "nothing": "",
	} {
		served(t, Limits{Connections: 10}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}, func(n *network) {
			var thiefs []net.Conn
			for i := range 30 {
				c := n.from(fmt.Sprintf("[2001:db8::%x]:%d", i, 1000+i)) // one network
				go func() { _, _ = io.WriteString(c, text) }()
				thiefs = append(thiefs, c)
				synctest.Wait()
			}
			for i := range 5 {
				c := n.from(fmt.Sprintf("192.0.2.%d:1", i))
				if answer := ask(t, c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); answer.StatusCode != http.StatusOK {
					t.Errorf("%s: somebody else is answered %d", name, answer.StatusCode)
				}
			}
			for _, c := range thiefs {
				_ = c.Close()
			}
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	var hold chan struct{}
	served(t, Limits{Connections: 10}, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			<-hold
		}
	}, func(n *network) {
		hold = make(chan struct{})
		var idle []net.Conn
		for range 10 {
			idle = append(idle, n.dial())
		}
		synctest.Wait()
		var busy []net.Conn
		for range 10 { // each takes the place of one that asked nothing
			c := n.dial()
			go func() { _, _ = io.WriteString(c, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
			busy = append(busy, c)
			synctest.Wait()
		}
		for i, c := range idle {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("idle connection %d was not closed: %v", i, err)
			}
		}
		refused := n.dial()
		answer, err := http.ReadResponse(bufio.NewReader(refused), nil)
		if err != nil || answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("the eleventh that works is answered %v, %v; want 503 with Retry-After", answer, err)
		}
		close(hold)
		for _, c := range busy {
			if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("one that was at work is answered %v, %v", answer, err)
			}
			_ = c.Close()
		}
	})
}

// TestBodiesAreBounded has many senders of bodies that never end: what is held stays within the bound, others are told to
// come again, and there is room again when the first are gone.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	answered := func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			refuse(w, http.StatusServiceUnavailable, "transient", err.Error(), "")
		}
	}
	const most = 1 << 20
	served(t, Limits{Bodies: most}, answered, func(n *network) {
		half := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 99_999)
		var held []net.Conn
		for range 12 {
			c := n.dial()
			go func() { _, _ = io.WriteString(c, half) }()
			held = append(held, c)
		}
		synctest.Wait()
		late := ask(t, n.dial(), "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100_000))
		if text, _ := io.ReadAll(late.Body); late.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "too many bodies") {
			t.Errorf("one more is answered %d %s, want 503", late.StatusCode, text)
		}
		for _, c := range held {
			_ = c.Close()
		}
		time.Sleep(time.Minute)
		if again := ask(t, n.dial(), "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"); again.StatusCode != http.StatusOK {
			t.Errorf("once they are gone it is answered %d", again.StatusCode)
		}
	})
}
