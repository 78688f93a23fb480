package bus

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Serve runs a route until ctx ends: its durable consumer, its workers, and for each message its function and what
// follows from the error. source names this process in what it says: "/builder/host-1".
func (b *Bus) Serve(ctx context.Context, service, source string, r Route) error {
	if err := r.validate(); err != nil {
		return err
	}
	r.AckWait, r.Grace = orDefault(r.AckWait, 5*time.Second), orDefault(r.Grace, 5*time.Second)
	declare := func(ctx context.Context) error { return b.declareConsumer(ctx, service, r) }
	if err := declare(ctx); err != nil {
		return err
	}
	r.Endpoint = endpoint.Chain(b.observe(service, r.Name), recoverPanics)(r.Endpoint)
	if err := b.answerReplays(ctx, service, source, &r); err != nil {
		return err
	}
	return b.newPuller(service, &r, declare, func(msg pulled) { b.handle(ctx, service, source, &r, msg) }).run(ctx)
}

func orDefault[T comparable](d, fallback T) T {
	var zero T
	if d == zero {
		return fallback
	}
	return d
}

func (b *Bus) declareConsumer(ctx context.Context, service string, r Route) error {
	deliver := jetstream.DeliverAllPolicy
	if r.Fresh {
		deliver = jetstream.DeliverNewPolicy
	}
	cfg := jetstream.ConsumerConfig{
		Durable: r.Durable(service), Description: fmt.Sprintf("%s hears %s", service, r.Hears), FilterSubject: r.Filter(),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: r.AckWait, MaxAckPending: orDefault(r.Pending, 1000), DeliverPolicy: deliver,
		MaxWaiting: 4096,
	}
	if _, err := b.js.CreateOrUpdateConsumer(ctx, Facts, cfg); err != nil {
		return fault.New(fault.Transient, "cannot make consumer %s: %w", cfg.Durable, err)
	}
	return nil
}

// handle takes one message through the route's function. The function goes on for the grace when the service stops.
func (b *Bus) handle(ctx context.Context, service, source string, r *Route, msg pulled) {
	work, cancel := graceful(ctx, r.Grace)
	defer cancel()
	e, meta, err := b.decode(msg)
	d := &delivery{bus: b, service: service, source: source, route: r, event: e, ack: msg.ack, number: 1}
	if meta != nil {
		d.number = int32(min(meta.NumDelivered, math.MaxInt32))
	}
	if err == nil {
		pulse := startPulse(msg, r.AckWait/3)
		d.ack = func() error { pulse.stop(); return msg.ack() }
		_, err = r.Endpoint(work, d)
		pulse.stop()
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
