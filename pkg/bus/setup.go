package bus

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Declaration says what Setup did with a stream, or with a durable consumer of it.
type Declaration struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer,omitempty"`
	Did      string `json:"did"` // "created", "updated" or "unchanged"
}

// Setup creates the streams and the durable consumers on NATS servers, or brings their configuration up to date. Running it
// again changes nothing. It returns what it did before the first error.
func Setup(ctx context.Context, urls string, o Options) ([]Declaration, error) {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	b := New(o)
	// A server drops a request that it does not allow: only the error handler hears of it.
	if err := b.dial(urls, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			refuse(err)
		}
	})); err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.checkPayload(); err != nil {
		return nil, err
	}
	var did []Declaration
	for _, config := range streams(o) {
		what, err := b.bring(ctx, config)
		if err != nil {
			return did, fmt.Errorf("cannot declare stream %s as identity %s: %w", config.Name, b.whoAmI(), explained(ctx, err))
		}
		did = append(did, Declaration{Stream: config.Name, Did: what})
	}
	for _, s := range o.Durables {
		what, err := b.bringConsumer(ctx, s)
		if err != nil {
			return did, fmt.Errorf("cannot declare consumer %s as identity %s: %w", s.name(), b.whoAmI(), explained(ctx, err))
		}
		did = append(did, Declaration{Stream: Facts, Consumer: s.name(), Did: what})
	}
	return did, nil
}

// explained prefers the server's refusal to the timeout that follows from it.
func explained(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, nats.ErrPermissionViolation) {
		return fmt.Errorf("%w; use the credentials of the identity that may create streams, and the server's configuration that "+
			"\"sluice nats config\" prints", cause)
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("%w; enable JetStream in the server's configuration, as \"sluice nats config\" prints it", err)
	}
	return err
}

// bring makes one stream as it is to be.
func (b *Bus) bring(ctx context.Context, config jetstream.StreamConfig) (string, error) {
	before, err := b.js.Stream(ctx, config.Name)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return "", err
	}
	after, err := b.js.CreateOrUpdateStream(ctx, config)
	switch {
	case err != nil:
		return "", err
	case before == nil:
		return "created", nil
	}
	return changed(before.CachedInfo().Config, after.CachedInfo().Config), nil
}

func changed[C any](before, after C) string {
	if reflect.DeepEqual(before, after) {
		return "unchanged"
	}
	return "updated"
}

// checkPayload refuses a server that takes smaller messages than the services send.
func (b *Bus) checkPayload() error {
	if limit := b.conn.MaxPayload(); limit < maxPayload {
		return fmt.Errorf("cannot use NATS: the server takes messages of %d bytes, expected %d; set max_payload in its configuration, as "+
			"\"sluice nats config\" prints it", limit, maxPayload)
	}
	return nil
}
