package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// followQuiet is after which silence a follower looks whether the stream has gone on without it. After a server of a cluster was away
// for a while, a consumer on it was seen to bring nothing, and to go on saying that it is there.
const followQuiet = 10 * time.Second

// errPassed says that the stream has gone on and the consumer has brought nothing.
var errPassed = errors.New("the stream has gone on without it")

// current compares a quiet follower with the stream. What came since may be none of its own: then the next consumer shows it, and
// it is not asked again for that.
func (f *Follower) current(ctx context.Context) error {
	if f.source.Stream != Facts {
		return nil // heartbeats and logs come all the time
	}
	last, err := f.bus.lastFact(ctx)
	if err != nil || last <= max(f.read, f.checked) {
		return nil // a connection that is away is noticed otherwise
	}
	f.checked = last
	return errPassed
}

// lastFact is the sequence of the newest fact.
func (b *Bus) lastFact(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	raw, err := b.conn.RequestWithContext(ctx, directGet(Facts, "sluice.fact.>"), nil)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(raw.Header.Get(jetstream.SequenceHeader), 10, 64) // an empty stream has none
}
