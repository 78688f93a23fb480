package bus

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/fault"
)

// StreamStatus is how a stream is, now.
type StreamStatus struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Messages    uint64           `json:"messages"`
	Bytes       uint64           `json:"bytes"`
	MaxBytes    int64            `json:"max_bytes"` // -1 is without a limit
	FirstSeq    uint64           `json:"first_seq"`
	LastSeq     uint64           `json:"last_seq"`
	LastTime    time.Time        `json:"last_time,omitzero"`
	Created     time.Time        `json:"created"`
	Consumers   []ConsumerStatus `json:"consumers"`
}

// Full is how much of its limit a stream uses, from 0 to 1; 0 without a limit.
func (s StreamStatus) Full() float64 {
	if s.MaxBytes <= 0 {
		return 0
	}
	return float64(s.Bytes) / float64(s.MaxBytes)
}

// ConsumerStatus is how a reader of a stream is, now.
type ConsumerStatus struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Durable     bool      `json:"durable"` // a route's; the others are followers, which come and go
	Filters     []string  `json:"filters,omitempty"`
	Pending     uint64    `json:"pending"`     // messages that it has not been given
	AckPending  int       `json:"ack_pending"` // given, and neither acknowledged nor given up
	Redelivered int       `json:"redelivered"` // of these, given more than once
	Waiting     int       `json:"waiting"`     // workers that ask for more
	Delivered   uint64    `json:"delivered"`   // sequence of the newest that was given
	LastActive  time.Time `json:"last_active,omitzero"`
}

// Lag is how many messages a consumer has before it.
func (c ConsumerStatus) Lag() uint64 { return c.Pending + uint64(max(0, c.AckPending)) }

// Status tells how the streams and their consumers are. It changes nothing.
func (b *Bus) Status(ctx context.Context) ([]StreamStatus, error) {
	var out []StreamStatus
	for _, name := range []string{Facts, Logs, Fleet, Dead} {
		s, err := b.StreamStatus(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// StreamStatus tells how one stream and its consumers are.
func (b *Bus) StreamStatus(ctx context.Context, name string) (StreamStatus, error) {
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return StreamStatus{}, fault.New(fault.Transient, "cannot look at stream %s: %w", name, err)
	}
	info := stream.CachedInfo()
	out := StreamStatus{
		Name: name, Description: info.Config.Description, Messages: info.State.Msgs, Bytes: info.State.Bytes,
		MaxBytes: info.Config.MaxBytes, FirstSeq: info.State.FirstSeq, LastSeq: info.State.LastSeq,
		LastTime: info.State.LastTime, Created: info.Created, Consumers: []ConsumerStatus{},
	}
	list := stream.ListConsumers(ctx)
	for c := range list.Info() {
		out.Consumers = append(out.Consumers, consumerStatus(c))
	}
	if err := list.Err(); err != nil {
		return out, fault.New(fault.Transient, "cannot look at the consumers of stream %s: %w", name, err)
	}
	slices.SortFunc(out.Consumers, func(a, b ConsumerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func consumerStatus(c *jetstream.ConsumerInfo) ConsumerStatus {
	out := ConsumerStatus{
		Name: c.Name, Description: c.Config.Description, Durable: c.Config.Durable != "", Filters: c.Config.FilterSubjects,
		Pending: c.NumPending, AckPending: c.NumAckPending, Redelivered: c.NumRedelivered, Waiting: c.NumWaiting,
		Delivered: c.Delivered.Stream,
	}
	if f := c.Config.FilterSubject; f != "" {
		out.Filters = []string{f}
	}
	if c.Delivered.Last != nil {
		out.LastActive = *c.Delivered.Last
	}
	return out
}
