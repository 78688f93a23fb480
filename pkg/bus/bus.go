package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	decoded decoded
}

// Options configure a Bus.
type Options struct {
	Name     string                // of this process, as the server lists it
	Token    string                // for the server
	Log      *slog.Logger          // discards when nil
	Now      func() time.Time      // time.Now when nil
	Registry prometheus.Registerer // no metrics when nil
	Replicas int                   // of each stream; 1 when 0
	MaxBytes int64                 // of the stream of facts; 0 is without a limit
	Onlooker bool                  // declares no streams: those of the services, with their limits, stay as they are
}

const (
	// connectTimeout is how long a server may take to answer: one that is there and busy is not one that is away.
	connectTimeout = 15 * time.Second
	// answerTimeout is how long JetStream may take. A server that is started anew never answers what it was asked before.
	answerTimeout = 10 * time.Second
)

// Connect connects to a NATS server by URL and declares the streams.
func Connect(ctx context.Context, url string, o Options) (*Bus, error) {
	return connect(ctx, nil, url, o)
}

// Connect connects to the embedded server and declares the streams.
func (s *Server) Connect(ctx context.Context, o Options) (*Bus, error) {
	return connect(ctx, s, "", o, nats.InProcessServer(s))
}

func connect(ctx context.Context, server *Server, url string, o Options, more ...nats.Option) (*Bus, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &Bus{server: server, log: o.Log, now: o.Now, metrics: newMetrics(o.Registry), options: o}
	options := append([]nats.Option{
		nats.Name(o.Name), nats.Token(o.Token), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.RetryOnFailedConnect(false), nats.ErrorHandler(b.asyncError), nats.Timeout(connectTimeout),
	}, more...)
	var err error
	if b.conn, err = nats.Connect(url, options...); err != nil {
		return nil, fmt.Errorf("cannot connect to NATS at %q: %w; is the server running, and is the token right?", url, err)
	}
	if err := b.open(ctx); err != nil {
		b.conn.Close()
		return nil, err
	}
	return b, nil
}

func (b *Bus) open(ctx context.Context) error {
	var err error
	b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(maxPending),
		jetstream.WithPublishAsyncTimeout(publishTimeout), jetstream.WithDefaultTimeout(answerTimeout))
	if err != nil {
		return fmt.Errorf("cannot use JetStream: %w", err)
	}
	if b.options.Onlooker {
		return nil
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
	b.log.Warn("NATS reported an error", "err", err, "subject", subject)
}

// Close ends the connection; what was published and not yet acknowledged may or may not be stored.
func (b *Bus) Close() { b.conn.Close() }

// Ready reports whether the server answers and has JetStream.
func (b *Bus) Ready(ctx context.Context) error {
	if _, err := b.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("cannot reach JetStream: %w", err)
	}
	return nil
}

// Now is the bus's clock.
func (b *Bus) Now() time.Time { return b.now() }
