package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Following says what a Follower reads.
type Following struct {
	Name   string       // of the fold, for logs and dead letters: "test-scheduler-queue"
	Stream string       // Facts when empty
	From   uint64       // the first sequence; 0 and 1 are the beginning
	Types  []event.Type // all when empty
	Run    string       // one run only, when set
	Keys   []string     // with Types: only events whose key begins with these tokens
	Latest bool         // only the newest event of each place, then what comes
	New    bool         // only what is stored from now on
}

// Batch is a piece of history, or of the present.
type Batch struct {
	Events []event.Event
	Live   bool   // nothing more was stored when the last of these was: the state is as new as can be
	Last   uint64 // sequence of the last message read, for a cursor; 0 before the first
}

// Follower reads a stream in its order, from any point, for ever. It has one owner and is not safe for concurrent use.
type Follower struct {
	bus     *Bus
	name    string
	iter    jetstream.MessagesContext
	msgs    chan jetstream.Msg
	failed  chan error
	live    bool
	last    uint64
	carried jetstream.Msg // read while a batch was full
}

const (
	followBatch = 1024
	// followerGone is when the server forgets a follower that no longer asks; one that was only cut off begins anew.
	followerGone = 15 * time.Second
)

// Follow begins to read. The follower ends with ctx, or with Close.
func (b *Bus) Follow(ctx context.Context, f Following) (*Follower, error) {
	stream := f.Stream
	if stream == "" {
		stream = Facts
	}
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: f.subjects(), DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: followerGone,
	}
	switch {
	case f.Latest:
		cfg.DeliverPolicy = jetstream.DeliverLastPerSubjectPolicy
	case f.New:
		cfg.DeliverPolicy = jetstream.DeliverNewPolicy
	case f.From > 1:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.From
	}
	asking, answered := context.WithTimeout(ctx, 2*answerTimeout)
	defer answered()
	consumer, err := b.js.OrderedConsumer(asking, stream, cfg)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot follow %s: %w", stream, err)
	}
	info, err := consumer.Info(asking)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot follow %s: %w", stream, err)
	}
	iter, err := consumer.Messages(jetstream.PullMaxMessages(followBatch))
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot follow %s: %w", stream, err)
	}
	follower := &Follower{
		bus: b, name: f.Name, iter: iter, msgs: make(chan jetstream.Msg, followBatch), failed: make(chan error, 1),
		live: info.NumPending == 0,
	}
	context.AfterFunc(ctx, iter.Stop)
	go follower.read(ctx)
	return follower, nil
}

func (f Following) subjects() []string {
	if len(f.Types) == 0 {
		if f.Run != "" {
			return []string{event.RunFilter(runID(f.Run))}
		}
		return nil
	}
	run := f.Run
	if run == "" {
		run = "*"
	}
	var out []string
	for _, t := range f.Types {
		out = append(out, t.FilterRun(runID(run), f.Keys...))
	}
	return out
}

func (f *Follower) read(ctx context.Context) {
	defer close(f.msgs)
	for {
		msg, err := f.iter.Next()
		if err != nil {
			if !errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				f.failed <- fault.New(fault.Transient, "cannot follow: %w", err)
			}
			return
		}
		select {
		case f.msgs <- msg:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the reading.
func (f *Follower) Close() { f.iter.Stop() }

// Next returns what has come since the last call, waiting at most the time given for a first event. An empty batch
// after that time is no error.
func (f *Follower) Next(ctx context.Context, wait time.Duration) (Batch, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var batch Batch
	select {
	case msg, open := <-f.msgs:
		if !open {
			return batch, f.end(ctx)
		}
		f.take(ctx, msg, &batch)
	case <-timer.C:
	case <-ctx.Done():
		return batch, fault.As(fault.Transient, context.Cause(ctx))
	}
	f.drain(ctx, &batch)
	batch.Live, batch.Last = f.live, f.last
	return batch, nil
}

// drain takes what is there without waiting.
func (f *Follower) drain(ctx context.Context, batch *Batch) {
	for len(batch.Events) < followBatch {
		select {
		case msg, open := <-f.msgs:
			if !open {
				return
			}
			f.take(ctx, msg, batch)
		default:
			return
		}
	}
}

// take decodes a message. One that cannot be decoded is buried with the reason, and the fold goes on without it.
func (f *Follower) take(ctx context.Context, msg jetstream.Msg, batch *Batch) {
	e, meta, err := f.bus.decode(msg)
	if meta != nil {
		f.last, f.live = meta.Sequence.Stream, meta.NumPending == 0
	}
	if err == nil {
		batch.Events = append(batch.Events, e)
		return
	}
	f.bus.log.Error("cannot read an event", "follower", f.name, "subject", msg.Subject(), "err", err)
	if err := f.bus.bury(ctx, f.name, msg, 1, err); err != nil {
		f.bus.log.Error("cannot store a dead letter", "follower", f.name, "subject", msg.Subject(), "err", err)
	}
}

func (f *Follower) end(ctx context.Context) error {
	select {
	case err := <-f.failed:
		return err
	default:
	}
	if err := context.Cause(ctx); err != nil {
		return fault.As(fault.Transient, err)
	}
	return fault.New(fault.Transient, "cannot follow: the reading was closed")
}
