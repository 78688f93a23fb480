package bus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-kit/kit/endpoint"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Route is one line of a service's table: what it hears, what it may say, and the function between.
type Route struct {
	Name     string // of its durable consumer, after the service's: "plan"
	Hears    event.Type
	Keys     []string // the first tokens of the key that it hears: a pool, a kind of target
	Says     []event.Type
	Workers  int           // messages handled at once; 1 when 0
	AckWait  time.Duration // until a worker that fell silent loses its message to another; 5s when 0
	Grace    time.Duration // that a running handler gets when the service stops; 5s when 0
	Pending  int           // messages that may be handled, or wait to come again, at once; 1000 when 0
	Fresh    bool          // hear only what is said after the consumer was first made
	Endpoint endpoint.Endpoint

	// Gate, when set, is asked before each request for a message and blocks while the service can take none, or until
	// ctx ends.
	Gate func(ctx context.Context)
	// Shut, when set, is asked after each request for a channel that closes when the gate does: what was asked for and has
	// not come is taken back, so that it goes to another process at once. Once the gate is open again it is another channel.
	Shut func() <-chan struct{}
}

// Option changes a route as it is made.
type Option func(*Route)

// Workers sets how many messages are handled at once.
func Workers(n int) Option { return func(r *Route) { r.Workers = n } }

// AckWait sets after which silence a message goes to another worker. Heartbeats are sent while a handler runs.
func AckWait(d time.Duration) Option { return func(r *Route) { r.AckWait = d } }

// Grace sets what a running handler gets when the service stops.
func Grace(d time.Duration) Option { return func(r *Route) { r.Grace = d } }

// Pending sets how many messages may be handled, or wait to come again, at once; more wait in the stream.
func Pending(n int) Option { return func(r *Route) { r.Pending = n } }

// Key narrows a route to events whose key begins with the tokens.
func Key(tokens ...string) Option { return func(r *Route) { r.Keys = tokens } }

// Gate sets what keeps the route from asking for messages for a while, and what tells that it begins to.
func Gate(wait func(ctx context.Context), shut func() <-chan struct{}) Option {
	return func(r *Route) { r.Gate, r.Shut = wait, shut }
}

// On makes a route of a function that decides: what it returns is said, durably, before the message is acknowledged.
func On[P event.Payload](
	name string, says []event.Type, decide func(ctx context.Context, e event.Event, p P) ([]event.Payload, error),
	options ...Option,
) Route {
	return Work(name, says, func(ctx context.Context, d *Delivery[P]) error {
		out, err := decide(ctx, d.Event, d.Data)
		if err != nil {
			return err
		}
		return d.Emit(ctx, out...)
	}, options...)
}

// Work makes a route of a function that works: it may say things on the way, and may acknowledge early.
func Work[P event.Payload](
	name string, says []event.Type, work func(ctx context.Context, d *Delivery[P]) error, options ...Option,
) Route {
	var zero P
	r := Route{Name: name, Hears: zero.EventType(), Says: says, Workers: 1}
	for _, o := range options {
		o(&r)
	}
	r.Endpoint = func(ctx context.Context, request any) (any, error) {
		d := request.(*delivery)
		p, ok := d.event.Data.(P)
		if !ok {
			return nil, fault.New(fault.Internal, "cannot handle %s as %T", d.event.Describe(), zero)
		}
		return nil, work(ctx, &Delivery[P]{Event: d.event, Data: p, delivery: d})
	}
	return r
}

// Delivery is an event on its way to a route's function.
type Delivery[P event.Payload] struct {
	Event event.Event
	Data  P
	*delivery
}

// delivery is what all deliveries share.
type delivery struct {
	bus     *Bus
	service string
	source  string
	route   *Route
	event   event.Event
	ack     func() error
	acked   bool
	number  int32
}

// Number tells how often the message has come, this time included.
func (d *delivery) Number() int32 { return d.number }

// Emit says things, caused by the event that was heard, and returns when they are durable. A type that the route does
// not declare is an error: the topology must be true.
func (d *delivery) Emit(ctx context.Context, payloads ...event.Payload) error {
	events := make([]event.Event, 0, len(payloads))
	for _, p := range payloads {
		e, err := d.make(p)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	return d.bus.Publish(ctx, events...)
}

// Claim says one thing and reports whether this speaker holds its place; see Bus.Claim.
func (d *delivery) Claim(ctx context.Context, p event.Payload) (bool, error) {
	e, err := d.make(p)
	if err != nil {
		return false, err
	}
	return d.bus.Claim(ctx, e)
}

// Ack acknowledges early: from here on the message will not come again, whatever the function returns. It is for work
// whose fate is known by other means, such as an attempt that was claimed.
func (d *delivery) Ack() error {
	if err := d.ack(); err != nil {
		return fault.New(fault.Transient, "cannot acknowledge %s: %w", d.event.Describe(), err)
	}
	d.acked = true
	return nil
}

func (d *delivery) make(p event.Payload) (event.Event, error) {
	if !slices.Contains(d.route.Says, p.EventType()) {
		return event.Event{}, fault.New(fault.Internal, "cannot say %s: route %s/%s declares only %v",
			p.EventType(), d.service, d.route.Name, d.route.Says)
	}
	return event.New(d.event, d.source, d.bus.now(), p), nil
}

// Filter is the subject filter of the route.
func (r Route) Filter() string { return r.Hears.Filter(r.Keys...) }

// Durable is the name of the route's consumer.
func (r Route) Durable(service string) string {
	name := service + "-" + r.Name
	for _, k := range r.Keys {
		name += "-" + k
	}
	return name
}

func (r Route) validate() error {
	if _, known := event.Find(r.Hears); !known || r.Name == "" || r.Endpoint == nil {
		return fmt.Errorf("cannot serve route %q: it hears %q and has no name or no function", r.Name, r.Hears)
	}
	return nil
}
