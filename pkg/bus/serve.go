package bus

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Serve runs a route until ctx ends: its durable consumer, its workers, and for each message its function and what
// follows from the error. source names this process in what it says: "/builder/host-1".
func (b *Bus) Serve(ctx context.Context, service, source string, r Route) error {
	if err := r.validate(); err != nil {
		return err
	}
	r.AckWait, r.Grace = r.ackWait(), orDefault(r.Grace, 5*time.Second)
	served := Served{service, r}
	if !b.options.Onlooker {
		if err := b.declareConsumer(ctx, served); err != nil {
			return err
		}
	}
	r.Endpoint = endpoint.Chain(b.observe(service, r.Name), recoverPanics)(r.Endpoint)
	if err := b.answerReplays(ctx, service, source, &r); err != nil {
		return err
	}
	return b.newPuller(served, &r, func(msg pulled) { b.handle(ctx, service, source, &r, msg) }).run(ctx)
}

func orDefault[T comparable](d, fallback T) T {
	var zero T
	if d == zero {
		return fallback
	}
	return d
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
