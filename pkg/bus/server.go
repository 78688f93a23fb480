package bus

import (
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a NATS server in this process, with its streams in a directory. An acknowledged fact is on the disk: it
// survives the loss of power, not only of the process.
type Server struct {
	nats *server.Server
}

// ServerOptions configure an embedded server.
type ServerOptions struct {
	Dir    string // where the streams are kept
	Host   string // with Port: a socket for others, such as executors and the nats command; no socket when Port is 0
	Port   int    // -1 takes any free port
	Token  string // demanded from those who come by the socket; empty demands none
	NoSync bool   // for measuring only: do not fsync each write
}

// Embed starts a server. Close ends it.
func Embed(o ServerOptions) (*Server, error) {
	opts := &server.Options{
		ServerName: "sluice", JetStream: true, StoreDir: o.Dir, SyncAlways: !o.NoSync, MaxPayload: maxPayload,
		DontListen: o.Port == 0, Host: o.Host, Port: o.Port, Authorization: o.Token, NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 40,
	}
	if opts.Host == "" {
		opts.Host = "127.0.0.1"
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("cannot start the embedded NATS server in %s: %w", o.Dir, err)
	}
	ns.Start()
	if !ns.ReadyForConnections(30*time.Second) || !ns.JetStreamEnabled() {
		ns.Shutdown()
		return nil, fmt.Errorf("cannot start the embedded NATS server in %s: not ready after 30s; is the directory "+
			"writable, and does no other process use it?", o.Dir)
	}
	return &Server{nats: ns}, nil
}

// URL is where others connect to, or "" without a socket.
func (s *Server) URL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return "nats://" + s.nats.Addr().String()
}

// Option makes nats.Connect use the server in this process, without a socket.
func (s *Server) Option(token string) []nats.Option {
	return []nats.Option{nats.InProcessServer(s.nats), nats.Token(token)}
}

// Close ends the server and waits until its files are closed.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
