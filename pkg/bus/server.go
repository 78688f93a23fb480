package bus

import (
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process, with its streams in a directory. An acknowledged fact is on the disk: it
// survives the loss of power, not only of the process.
type Server struct {
	dir     string
	options server.Options
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
	Token  string // demanded from those who come by the socket; empty demands none
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

func users(list []Identity) []*server.NkeyUser {
	var out []*server.NkeyUser
	for _, i := range list {
		out = append(out, &server.NkeyUser{Nkey: i.Public, Permissions: i.Rights.permissions()})
	}
	return out
}

// Embed starts a server. Close ends it.
func Embed(o ServerOptions) (*Server, error) {
	opts := server.Options{
		ServerName: "sluice", JetStream: true, StoreDir: o.Dir, SyncAlways: !o.NoSync, MaxPayload: maxPayload,
		DontListen: o.Port == 0, Host: o.Host, Port: o.Port, Authorization: o.Token, NoLog: true, NoSigs: true,
		Nkeys: users(o.Identities), JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 40,
	}
	if opts.Host == "" {
		opts.Host = "127.0.0.1"
	}
	s := &Server{dir: o.Dir, options: opts, closing: make(chan struct{}), guarded: make(chan struct{})}
	var err error
	if s.nats, err = startServer(&opts); err != nil {
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
