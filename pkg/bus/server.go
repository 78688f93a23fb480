package bus

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process, with its streams in a directory. An acknowledged fact is on the disk: it
// survives the loss of power, not only of the process.
type Server struct {
	options ServerOptions
	low     atomic.Bool  // the disk is nearly full
	free    atomic.Int64 // bytes, when it was last looked at
	closing chan struct{}
	once    sync.Once // closes closing
	guarded chan struct{}
	decoded decoded // shared by all who connect from this process

	mu   sync.Mutex
	nats *server.Server
}

// ServerOptions configure an embedded server.
type ServerOptions struct {
	Dir    string // where the streams are kept
	Host   string // with Port: a socket for others, such as executors and the nats command; no socket when Port is 0
	Port   int    // -1 takes any free port
	NoSync bool   // for measuring only: do not fsync each write

	// Identities are who may connect, each with a key of its own and the rights that it has. Without any, whoever comes from
	// this process may do everything: tests do.
	Identities []Identity
}

// Identity is somebody whom a server knows.
type Identity struct {
	Rights Rights `json:"rights"`
	Public string `json:"public"` // half of its key
}

// global is the account in which an embedded server keeps its streams, whether it knows identities or not.
const global = "$G"

// configuration is what the server is told. It knows its accounts by the same text as a server elsewhere. They belong to
// the server that is started with them, so another one needs others.
func (o ServerOptions) configuration() (*server.Options, error) {
	opts := &server.Options{}
	if len(o.Identities) > 0 {
		var conf strings.Builder
		accountsConf(&conf, o.Identities)
		if err := opts.ProcessConfigString(conf.String()); err != nil {
			return nil, fmt.Errorf("cannot configure the identities of the embedded NATS server: %w", err)
		}
		for _, a := range opts.Accounts {
			if a.Name == account {
				a.Name = global
			}
		}
	}
	opts.ServerName, opts.JetStream, opts.StoreDir, opts.SyncAlways, opts.MaxPayload = "sluice", true, o.Dir, !o.NoSync, maxPayload
	opts.DontListen, opts.Host, opts.Port, opts.NoLog, opts.NoSigs = o.Port == 0, orDefault(o.Host, "127.0.0.1"), o.Port, true, true
	opts.JetStreamMaxMemory, opts.JetStreamMaxStore = 256<<20, 1<<40
	return opts, nil
}

// Embed starts a server. Close ends it.
func Embed(o ServerOptions) (*Server, error) {
	s := &Server{options: o, closing: make(chan struct{}), guarded: make(chan struct{})}
	var err error
	if s.nats, err = startServer(o); err != nil {
		return nil, err
	}
	go s.guard()
	return s, nil
}

// URL is where others connect to, or "" without a socket.
func (s *Server) URL() string {
	addr := s.current().Addr()
	if addr == nil {
		return ""
	}
	return "nats://" + addr.String()
}

// Close ends the server and waits until its files are closed. Closing it again changes nothing.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closing) })
	<-s.guarded
	ns := s.current()
	ns.Shutdown()
	ns.WaitForShutdown()
}
