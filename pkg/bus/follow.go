package bus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
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
	source  Following
	mu      sync.Mutex
	iter    jetstream.MessagesContext // of now
	closed  bool
	begun   bool   // a first consumer was made: those after it read on
	read    uint64 // sequence of the last message that the consumers brought
	brought uint64 // messages that the consumer of now has brought
	checked uint64 // up to here a new consumer has shown that nothing is missing
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

// followBeat is how often the server says that a consumer is there and has nothing; without two of them it is lost.
// followPatience is how long a new one is tried for.
const (
	followBeat     = 5 * time.Second
	followPatience = 30 * time.Second
)

// Follow begins to read. The follower ends with ctx, or with Close.
func (b *Bus) Follow(ctx context.Context, f Following) (*Follower, error) {
	if f.Stream == "" {
		f.Stream = Facts
	}
	follower := &Follower{
		bus: b, name: f.Name, source: f, msgs: make(chan jetstream.Msg, followBatch), failed: make(chan error, 1),
	}
	if f.From > 1 {
		follower.read = f.From - 1
	}
	info, err := follower.open(ctx)
	if err != nil {
		return nil, err
	}
	follower.live, follower.begun = info.NumPending == 0, true
	if f.New {
		follower.read = info.Delivered.Stream
	}
	context.AfterFunc(ctx, follower.Close)
	go follower.run(ctx)
	return follower, nil
}

// config is a consumer of now that reads on from where the follower is: nothing of it outlives the server or its leader, since
// another is made in its place. What lives in memory is read anew: its numbers begin again with its server.
func (f *Follower) config() jetstream.ConsumerConfig {
	cfg := jetstream.ConsumerConfig{
		FilterSubjects: f.source.subjects(), DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: followerGone,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
	}
	switch {
	case f.source.Latest && (f.source.Stream == Fleet || f.read == 0):
		cfg.DeliverPolicy = jetstream.DeliverLastPerSubjectPolicy
		if len(cfg.FilterSubjects) == 0 {
			cfg.FilterSubjects = []string{">"}
		}
	case f.source.New && !f.begun:
		cfg.DeliverPolicy = jetstream.DeliverNewPolicy
	case f.read > 0 || f.source.New: // what is new began after an empty stream too
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.read+1
	}
	return cfg
}

// open makes a consumer and begins to read from it.
func (f *Follower) open(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTimeout)
	defer cancel()
	ctx, stop := f.bus.allowed(ctx, below(api+"CONSUMER.CREATE."+f.source.Stream+"."))
	defer stop()
	consumer, err := f.bus.js.CreateConsumer(ctx, f.source.Stream, f.config())
	if err = refusal(ctx, err); err != nil {
		return nil, fault.New(kindOf(err), "cannot follow %s: %w", f.source.Stream, err)
	}
	iter, err := consumer.Messages(jetstream.PullMaxMessages(followBatch), jetstream.PullHeartbeat(followBeat))
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot follow %s: %w", f.source.Stream, err)
	}
	f.brought = 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.iter = iter; f.closed {
		iter.Stop()
	}
	return consumer.CachedInfo(), nil
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

// run carries messages, and makes a new consumer when one is lost.
func (f *Follower) run(ctx context.Context) {
	defer close(f.msgs)
	for {
		err := f.carry(ctx)
		f.iter.Stop() // one that only fell silent may still be asked
		if err == nil {
			return
		}
		level := slog.LevelWarn
		if errors.Is(err, errPassed) {
			level = slog.LevelDebug // mostly, what came was for others
		}
		f.bus.log.Log(ctx, level, "a consumer was lost; making another", "follower", f.name, "stream", f.source.Stream, "err", err)
		if err := f.reopen(ctx); err != nil {
			f.failed <- err
			return
		}
	}
}

// carry brings the messages of one consumer until it is lost. It returns nil when the reading was ended.
func (f *Follower) carry(ctx context.Context) error {
	for {
		msg, err := f.iter.Next(jetstream.NextMaxWait(followQuiet))
		if errors.Is(err, nats.ErrTimeout) {
			if err := f.current(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := f.follows(msg); err != nil {
			return err
		}
		select {
		case f.msgs <- msg:
		case <-ctx.Done():
			return nil
		}
	}
}

// follows holds a message against the one before it. A consumer that acknowledges nothing sends each once: what was lost on
// the way is a gap in its numbers.
func (f *Follower) follows(msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fault.New(fault.Internal, "cannot follow %s: a message without its place: %w", f.source.Stream, err)
	}
	if f.brought++; meta.Sequence.Consumer != f.brought {
		return fault.New(fault.Transient, "cannot follow %s: message %d came in the place of %d", f.source.Stream, meta.Sequence.Consumer, f.brought)
	}
	f.read = meta.Sequence.Stream
	return nil
}

// reopen makes a consumer in the place of one that is lost.
func (f *Follower) reopen(ctx context.Context) error {
	until := time.Now().Add(followPatience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		_, err := f.open(ctx)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// Close ends the reading.
func (f *Follower) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.iter.Stop()
}

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
