package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// pullWait is how long one request for a message stands at the server.
const pullWait = 10 * time.Second

// Serve runs a route until ctx ends: its durable consumer, its workers, and for each message its function and what
// follows from the error. source names this process in what it says: "/builder/host-1".
func (b *Bus) Serve(ctx context.Context, service, source string, r Route) error {
	if err := r.validate(); err != nil {
		return err
	}
	r.AckWait, r.Grace = orDefault(r.AckWait, 5*time.Second), orDefault(r.Grace, 5*time.Second)
	consumer, err := b.consumer(ctx, service, r)
	if err != nil {
		return err
	}
	r.Endpoint = endpoint.Chain(b.observe(service, r.Name), recoverPanics)(r.Endpoint)
	if err := b.answerReplays(ctx, service, source, &r); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for range max(1, r.Workers) {
		group.Go(func() error { return b.work(ctx, service, source, &r, consumer) })
	}
	return group.Wait()
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

func (b *Bus) consumer(ctx context.Context, service string, r Route) (jetstream.Consumer, error) {
	deliver := jetstream.DeliverAllPolicy
	if r.Fresh {
		deliver = jetstream.DeliverNewPolicy
	}
	cfg := jetstream.ConsumerConfig{
		Durable: r.Durable(service), Description: fmt.Sprintf("%s hears %s", service, r.Hears), FilterSubject: r.Filter(),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: r.AckWait, MaxAckPending: 1000, DeliverPolicy: deliver,
		MaxWaiting: 4096,
	}
	c, err := b.js.CreateOrUpdateConsumer(ctx, Facts, cfg)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot make consumer %s: %w", cfg.Durable, err)
	}
	return c, nil
}

// work is one worker: it asks for a message only when it has nothing to do, so that none waits behind a busy one.
func (b *Bus) work(ctx context.Context, service, source string, r *Route, c jetstream.Consumer) error {
	for ctx.Err() == nil {
		if r.Gate != nil {
			r.Gate(ctx)
		}
		if err := b.pull(ctx, service, source, r, c); err != nil {
			b.pause(ctx, r.Durable(service), err)
		}
	}
	return nil
}

// pull asks for one message and handles it. No message within pullWait is no error.
func (b *Bus) pull(ctx context.Context, service, source string, r *Route, c jetstream.Consumer) error {
	bounded, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	batch, err := c.Fetch(1, jetstream.FetchContext(bounded))
	if err != nil {
		return err
	}
	for msg := range batch.Messages() {
		b.handle(ctx, service, source, r, msg)
	}
	return batch.Error()
}

// pause waits before the next request after one failed: the connection is away, or the server restarts.
func (b *Bus) pause(ctx context.Context, consumer string, err error) {
	if ctx.Err() != nil || errors.Is(err, jetstream.ErrNoMessages) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	b.log.Warn("cannot ask for messages; trying again in 500ms", "consumer", consumer, "err", err)
	select {
	case <-ctx.Done():
	case <-time.After(500 * time.Millisecond):
	}
}

// handle takes one message through the route's function. The function goes on for the grace when the service stops.
func (b *Bus) handle(ctx context.Context, service, source string, r *Route, msg jetstream.Msg) {
	work, cancel := graceful(ctx, r.Grace)
	defer cancel()
	e, err := decode(msg)
	d := &delivery{bus: b, service: service, source: source, route: r, event: e, ack: msg.Ack}
	if err == nil {
		stop := heartbeat(msg, r.AckWait/3)
		_, err = r.Endpoint(work, d)
		stop()
	}
	if d.acked {
		if err != nil {
			b.log.Error("a handler failed after it had acknowledged", "service", service, "event", e.Describe(), "err", err)
		}
		return
	}
	b.settle(context.WithoutCancel(ctx), service, r, msg, e, err)
}

// graceful is a context that ends the grace after its parent, or when cancel is called.
func graceful(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { stop(); cancel() }
}

// heartbeat tells the server, while a handler runs, that its message is in good hands.
func heartbeat(msg jetstream.Msg, every time.Duration) (stop func()) {
	timer := time.NewTicker(every)
	done := make(chan struct{})
	go func() {
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				_ = msg.InProgress() // a lost heartbeat costs a redelivery, which is harmless
			}
		}
	}()
	return func() { close(done) }
}

func decode(msg jetstream.Msg) (event.Event, error) {
	e, err := event.Decode(msg.Data(), msg.Headers().Get)
	if err != nil {
		return e, err
	}
	if meta, err := msg.Metadata(); err == nil {
		e.Seq, e.Stored = meta.Sequence.Stream, meta.Timestamp
	}
	if e.Subject() != msg.Subject() {
		return e, fault.New(fault.Invalid, "cannot take event %s: it stands at %s but belongs at %s",
			e.ID, msg.Subject(), e.Subject())
	}
	return e, nil
}

// recoverPanics turns a panic into an error of kind Internal: one bad event must not end the service.
func recoverPanics(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (response any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fault.New(fault.Internal, "panic: %v\n%s", p, debug.Stack())
			}
		}()
		return next(ctx, request)
	}
}
