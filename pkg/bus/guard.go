package bus

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluiceci/sluice/pkg/fault"
)

// A server whose disk is full cannot write, and a stream that once could not write refuses everything until the server
// is started again, also when there is room. So the guard stops publishing while there is still a reserve, and if the
// disk went below it starts the server anew, with the same streams, once there is room.
const (
	reserve     = 32 << 20 // bytes of disk that are left free
	guardPeriod = 100 * time.Millisecond
)

// guard watches the disk until the server is closed.
func (s *Server) guard() {
	defer close(s.guarded)
	tick := time.NewTicker(guardPeriod)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		s.check(free(s.options.Dir))
	}
}

func (s *Server) check(bytes int64) {
	s.free.Store(bytes)
	switch {
	case bytes < reserve:
		s.low.Store(true)
	case s.low.Load() && bytes > 2*reserve:
		if err := s.restart(); err == nil { // else the next look tries again
			s.low.Store(false)
		}
	}
}

// free is the room on the disk of a directory; a disk that cannot be asked is taken for one with room.
func free(dir string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 1 << 62
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// room is an error while the disk is nearly full. Publishing stops then, and everybody who publishes tries again later.
func (s *Server) room() error {
	if s == nil || !s.low.Load() {
		return nil
	}
	return fault.New(fault.Transient, "the disk of the event stream (%s) has %d MiB free, expected more than %d: make room",
		s.options.Dir, s.free.Load()>>20, 2*reserve>>20)
}

// restart starts the server anew at the same address.
func (s *Server) restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Port == -1 {
		if a, ok := s.nats.Addr().(*net.TCPAddr); ok {
			s.options.Port = a.Port
		}
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	fresh, err := startServer(s.options)
	if err != nil {
		return err
	}
	s.nats = fresh
	return nil
}

// InProcessConn connects to the server as it is now; clients come here again after a restart.
func (s *Server) InProcessConn() (net.Conn, error) { return s.current().InProcessConn() }

func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats
}

func startServer(o ServerOptions) (*server.Server, error) {
	options, err := o.configuration()
	if err != nil {
		return nil, err
	}
	ns, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("cannot start the embedded NATS server in %s: %w", o.Dir, err)
	}
	ns.Start()
	if !ns.ReadyForConnections(30*time.Second) || !ns.JetStreamEnabled() {
		ns.Shutdown()
		return nil, fmt.Errorf("cannot start the embedded NATS server in %s: not ready after 30s; is the directory "+
			"writable, and does no other process use it?", o.Dir)
	}
	return ns, nil
}
