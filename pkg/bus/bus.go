package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
)

// maxPayload is the largest message, in bytes. Whatever may grow beyond it (plans, candidates, logs) is a blob.
const maxPayload = 8 << 20

// Bus is a connection to the streams. It is safe for concurrent use.
type Bus struct {
	server  *Server // when it is in this process
	conn    *nats.Conn
	js      jetstream.JetStream
	log     *slog.Logger
	now     func() time.Time
	metrics *metrics
	options Options
	decoded *decoded

	troubles troubles
	refused  refusals
	closed   chan struct{} // by Close
	closing  sync.Once
	lost     atomic.Int64              // connections, since the streams were declared
	dialed   atomic.Pointer[nats.Conn] // conn, for what runs while it is made
}

// Options configure a Bus.
type Options struct {
	Name     string                // of this process, as the server lists it
	Log      *slog.Logger          // discards when nil
	Now      func() time.Time      // time.Now when nil
	Registry prometheus.Registerer // no metrics when nil
	Replicas int                   // of each stream; 1 when 0
	MaxBytes int64                 // of the stream of facts; 0 is without a limit
	Onlooker bool                  // declares no streams and no consumers: they stay as whoever may declare them has made them
	Durables []Served              // consumers to declare beside the streams

	Identity string // whose key this is, as its rights name it; empty where the server knows no identities
	Key      *NKey  // shown to the server
	KeyFile  string // where Key was read; it is read again when the connection is made again
	Creds    string // file of JWT credentials, instead of Key
	TLS      TLS    // of the connection
}

// TLS says how a connection is encrypted, and who shows a certificate.
type TLS struct {
	CA   string `yaml:"ca"`   // file of the certificates that the server's must come from; the system's when empty
	Cert string `yaml:"cert"` // file of the client's certificate
	Key  string `yaml:"key"`  // file of its key
}

// options are what a connection needs of o.
func (o Options) options() []nats.Option {
	var out []nats.Option
	if o.Identity != "" {
		out = append(out, nats.CustomInboxPrefix(inboxOf(o.Identity)))
	}
	if o.Key != nil {
		out = append(out, o.Key.option())
	}
	if o.Creds != "" {
		out = append(out, nats.UserCredentials(o.Creds))
	}
	if o.TLS.CA != "" {
		out = append(out, nats.RootCAs(o.TLS.CA))
	}
	if o.TLS.Cert != "" {
		out = append(out, nats.ClientCert(o.TLS.Cert, o.TLS.Key))
	}
	return out
}

const (
	// connectTimeout is how long a server may take to answer: one that is there and busy is not one that is away.
	connectTimeout = 15 * time.Second
	// answerTimeout is how long JetStream may take. A server that is started anew never answers what it was asked before.
	answerTimeout = 10 * time.Second
	// pingEvery and pingsOut notice a connection that died without a word within ten seconds.
	pingEvery = 3 * time.Second
	pingsOut  = 2
)

// New makes a Bus that is not connected yet: services can be made with it before the server that they need knows them.
func New(o Options) *Bus {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Bus{log: o.Log, now: o.Now, metrics: newMetrics(o.Registry), options: o, decoded: &decoded{}, closed: make(chan struct{})}
}

// Connect connects to a NATS server by URL and declares the streams.
func Connect(ctx context.Context, url string, o Options) (*Bus, error) {
	b := New(o)
	return b, b.Open(ctx, url)
}

// Connect connects to the embedded server and declares the streams.
func (s *Server) Connect(ctx context.Context, o Options) (*Bus, error) {
	return s.ConnectThrough(ctx, s, o)
}

// ConnectThrough connects by another way than the shortest, such as one that can be cut.
func (s *Server) ConnectThrough(ctx context.Context, way nats.InProcessConnProvider, o Options) (*Bus, error) {
	b := New(o)
	return b, b.openThrough(ctx, s, way)
}

// Open connects to NATS servers by their URLs, separated by commas.
func (b *Bus) Open(ctx context.Context, urls string) error { return b.connect(ctx, urls) }

// OpenIn connects to the embedded server.
func (b *Bus) OpenIn(ctx context.Context, s *Server) error { return b.openThrough(ctx, s, s) }

func (b *Bus) openThrough(ctx context.Context, s *Server, way nats.InProcessConnProvider) error {
	b.server, b.decoded = s, &s.decoded
	return b.connect(ctx, "", nats.InProcessServer(way))
}

func (b *Bus) connect(ctx context.Context, urls string, more ...nats.Option) error {
	if err := b.dial(urls, more...); err != nil {
		return err
	}
	if err := b.open(ctx); err != nil {
		b.conn.Close()
		return err
	}
	return nil
}

// dial connects, and asks the server for nothing yet.
func (b *Bus) dial(urls string, more ...nats.Option) (err error) {
	options := append([]nats.Option{
		nats.Name(b.options.Name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.ErrorHandler(b.asyncError),
		nats.Timeout(connectTimeout), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut),
		// What waited while the server was away comes out late, and nobody waits for it any more: publishing is tried again.
		nats.ReconnectBufSize(-1), nats.ReconnectHandler(func(*nats.Conn) { b.redeclare() }),
		// A key that is being rotated may reach the server later than this process.
		nats.IgnoreAuthErrorAbort(), b.rekey(),
	}, append(b.options.options(), more...)...)
	if b.conn, err = nats.Connect(urls, options...); err != nil {
		return fmt.Errorf("cannot connect to NATS%s as %s: %w; is the server running, and does it know this identity?",
			at(urls), b.whoAmI(), err)
	}
	b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(maxPending),
		jetstream.WithPublishAsyncTimeout(publishTimeout), jetstream.WithDefaultTimeout(answerTimeout))
	if err != nil {
		b.conn.Close()
		return fmt.Errorf("cannot use JetStream: %w", err)
	}
	b.dialed.Store(b.conn)
	return nil
}

// at names servers without what their URLs may hold.
func at(urls string) string {
	if urls == "" {
		return ""
	}
	var out []string
	for one := range strings.SplitSeq(urls, ",") {
		if u, err := url.Parse(one); err == nil {
			one = u.Redacted()
		}
		out = append(out, one)
	}
	return " at " + strings.Join(out, ", ")
}

// redeclare declares the streams again after a connection was lost, and tries until it has worked: a server that has started
// anew has none of those that it kept in memory, and may not be ready for a while.
func (b *Bus) redeclare() {
	if b.options.Onlooker || b.dialed.Load() == nil || b.lost.Add(1) > 1 {
		return
	}
	go func() {
		for pause := declarePause; ; pause = min(2*pause, time.Minute) {
			lost := b.lost.Load()
			ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
			err := b.declare(ctx)
			cancel()
			if err == nil && b.lost.CompareAndSwap(lost, 0) {
				return
			}
			b.log.Warn("the streams are not declared yet after a lost connection; trying again", "err", err, "again_in", pause)
			select {
			case <-time.After(pause):
			case <-b.closed:
				return
			}
		}
	}()
}

// declarePause is before the streams are declared again for the second time.
const declarePause = time.Second

func (b *Bus) open(ctx context.Context) error {
	if b.options.Onlooker {
		return b.checkStreams(ctx)
	}
	return b.declare(ctx)
}

func (b *Bus) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrConnectionClosed) {
		return
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	b.refused.note(err)
	b.log.Warn("NATS reported an error", "err", err, "subject", subject, "identity", b.whoAmI())
}

// Close ends the connection; what was published and not yet acknowledged may or may not be stored.
func (b *Bus) Close() {
	b.closing.Do(func() { close(b.closed) })
	if b.conn != nil {
		b.conn.Close()
	}
}

// Ready reports whether the server answers and has JetStream.
func (b *Bus) Ready(ctx context.Context) error {
	if _, err := b.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("cannot reach JetStream: %w", err)
	}
	return nil
}

// Now is the bus's clock.
func (b *Bus) Now() time.Time { return b.now() }
