package bus

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Listen calls hear with the facts of a type as they are published, until ctx ends. What is said while the connection is
// away is lost, and a fact may come that the stream then refuses: who listens looks into the stream as well. It needs no
// consumer; so the server can let a pool hear its own facts and nothing else.
func (b *Bus) Listen(ctx context.Context, t event.Type, keys []string, hear func(event.Event)) error {
	sub, err := b.conn.Subscribe(t.Filter(keys...), func(msg *nats.Msg) {
		e, err := event.Decode(msg.Data, msg.Header.Get)
		if err == nil && e.Subject() == msg.Subject { // whoever follows the stream buries what is not
			hear(e)
		}
	})
	if err != nil {
		return fault.New(fault.Transient, "cannot listen to %s: %w", t, err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return nil
}
