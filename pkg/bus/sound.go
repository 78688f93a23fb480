package bus

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/fault"
)

// troubleLasts is how long a request that failed counts against a route when none has failed since: one that fails is made again
// every half second.
const troubleLasts = 5 * time.Second

// troubles are the consumers that cannot be asked for messages.
type troubles struct {
	mu  sync.Mutex
	all map[string]trouble
}

type trouble struct {
	reason string
	until  time.Time // zero: until a request is answered
}

// note says how the last request to a consumer ended; an empty reason is an answer.
func (t *troubles) note(consumer, reason string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if reason == "" {
		delete(t.all, consumer)
		return
	}
	if t.all == nil {
		t.all = map[string]trouble{}
	}
	t.all[consumer] = trouble{reason, until}
}

// Unserved tells which of the routes that this connection serves get no messages now, by consumer, and why.
func (b *Bus) Unserved() map[string]string {
	out := map[string]string{}
	now := time.Now()
	b.troubles.mu.Lock()
	defer b.troubles.mu.Unlock()
	for consumer, t := range b.troubles.all {
		if t.until.IsZero() || now.Before(t.until) {
			out[consumer] = t.reason
		}
	}
	return out
}

// never is a sequence that no place has: a message that expects it is refused, by a stream that could store it.
const never = "18446744073709551615"

// CanStore reports why somebody with these duties cannot store facts now; nil when they can. It stores nothing: it offers a
// message that the stream must refuse, at a subject of theirs, and looks how full the stream is if they may look.
func (b *Bus) CanStore(ctx context.Context, d Duties) error {
	if err := b.server.room(); err != nil {
		return err
	}
	if !b.conn.IsConnected() {
		return fault.New(fault.Transient, "cannot store facts: the connection to NATS is away (%s)", b.conn.Status())
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if subject := d.fact(); subject != "" {
		ctx, stop := b.allowed(ctx, only(subject))
		defer stop()
		offer := &nats.Msg{Subject: subject, Header: nats.Header{jetstream.ExpectedLastSubjSeqHeader: {never}}}
		if _, err := b.js.PublishMsg(ctx, offer, jetstream.WithRetryAttempts(0)); !taken(err) {
			err = cmp.Or(refusal(ctx, err), errTookIt)
			return fault.New(kindOf(err), "cannot store facts: stream %s does not answer as it should: %w", Facts, err)
		}
	}
	if slices.Contains(d.ordered(), Facts) {
		return b.fits(ctx)
	}
	return nil
}

var errTookIt = errors.New("it took a message that it has to refuse")

// fact is a subject at which somebody may store a fact.
func (d Duties) fact() string {
	for _, filter := range d.Says {
		if strings.HasPrefix(filter, "sluice.fact.") {
			return concrete(filter)
		}
	}
	return ""
}

// concrete is a subject that a filter allows.
func concrete(filter string) string {
	tokens := strings.Split(filter, ".")
	for i, t := range tokens {
		if t == "*" || t == ">" {
			tokens[i] = "probe"
		}
	}
	return strings.Join(tokens, ".")
}

// fits looks whether the largest fact would find room below the stream's limit.
func (b *Bus) fits(ctx context.Context) error {
	stream, err := b.js.Stream(ctx, Facts)
	if err != nil {
		return fault.New(fault.Transient, "cannot look at stream %s: %w", Facts, err)
	}
	info := stream.CachedInfo()
	if limit := info.Config.MaxBytes; limit > 0 && uint64(limit) < info.State.Bytes+factRoom {
		return fault.New(fault.Transient, "cannot store facts: stream %s holds %d bytes of at most %d; raise nats.max_bytes", Facts, info.State.Bytes, limit)
	}
	return nil
}

// factRoom is what a full stream must have left to count as one that stores facts: most have less than a kilobyte.
const factRoom = 64 << 10
