package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Served is a route and the service whose it is: together they name a durable consumer.
type Served struct {
	Service string
	Route   Route
}

func (s Served) name() string { return s.Route.Durable(s.Service) }

// consumer is the durable consumer as it is to be.
func (s Served) consumer() jetstream.ConsumerConfig {
	deliver := jetstream.DeliverAllPolicy
	if s.Route.Fresh {
		deliver = jetstream.DeliverNewPolicy
	}
	return jetstream.ConsumerConfig{
		Durable: s.name(), Description: fmt.Sprintf("%s hears %s", s.Service, s.Route.Hears), FilterSubject: s.Route.Filter(),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.Route.ackWait(), MaxAckPending: orDefault(s.Route.Pending, 1000),
		DeliverPolicy: deliver, MaxWaiting: 4096,
	}
}

func (r Route) ackWait() time.Duration { return orDefault(r.AckWait, 5*time.Second) }

// Declares adds the durable consumers of routes to what a connection that is not open yet declares beside the streams.
func (b *Bus) Declares(served ...Served) { b.options.Durables = append(b.options.Durables, served...) }

// missing is what to do about a consumer that does not answer a connection that may declare none.
func (b *Bus) missing(s Served) error {
	return fault.New(fault.Transient, "consumer %s of stream %s does not exist for identity %s, or its server is restarting; if this lasts, run "+
		"\"sluice setup\" with an installation's file that names this service and its pool", s.name(), Facts, b.whoAmI())
}

// declareConsumer makes a durable consumer, or brings it up to date.
func (b *Bus) declareConsumer(ctx context.Context, s Served) error {
	if _, err := b.js.CreateOrUpdateConsumer(ctx, Facts, s.consumer()); err != nil {
		return fault.New(fault.Transient, "cannot make consumer %s: %w", s.name(), err)
	}
	return nil
}

// bringConsumer makes one durable consumer as it is to be, and says what it did.
func (b *Bus) bringConsumer(ctx context.Context, s Served) (string, error) {
	before, err := b.js.Consumer(ctx, Facts, s.name())
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return "", err
	}
	after, err := b.js.CreateOrUpdateConsumer(ctx, Facts, s.consumer())
	if err != nil {
		return "", err
	}
	if before == nil {
		return "created", nil
	}
	return changed(before.CachedInfo().Config, after.CachedInfo().Config), nil
}

func (b *Bus) whoAmI() string { return orDefault(b.options.Identity, "nobody") }
