package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	maxPending     = 1 << 14          // messages on their way, of all callers
	publishTimeout = 15 * time.Second // until an unanswered message counts as not stored
)

// Publish stores events in their order and returns when all are durable. An event whose place is taken is stored
// already: that is success. After an error some of the events may be stored; publishing all of them again is right.
func (b *Bus) Publish(ctx context.Context, events ...event.Event) error {
	if len(events) >= batchHead+batchMin {
		if err := b.publishWindow(ctx, events[:batchHead]); err != nil {
			return err
		}
		events = events[batchHead:]
	}
	for size := batchMin; len(events) > 0; size = min(2*size, batchMost) {
		n := min(len(events), size)
		if err := b.publishSome(ctx, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

func (b *Bus) publishSome(ctx context.Context, events []event.Event) error {
	if len(events) >= batchMin {
		if stored, err := b.publishBatch(ctx, events); stored || fault.Is(err, fault.Invalid) || fault.Is(err, fault.Denied) {
			return err
		}
	}
	return b.publishWindow(ctx, events)
}

func (b *Bus) publishWindow(ctx context.Context, events []event.Event) error {
	futures := make([]sent, 0, len(events))
	for _, e := range events {
		f, err := b.send(e)
		if err != nil {
			return fmt.Errorf("cannot publish %s: %w", e.Describe(), err)
		}
		futures = append(futures, f)
	}
	for i, f := range futures {
		if _, err := b.await(ctx, f); err != nil {
			return fmt.Errorf("cannot publish %s: %w", events[i].Describe(), err)
		}
	}
	return nil
}

// Claim stores an event and reports whether this speaker holds its place: true when it was stored now, or earlier by
// the same source (an answer that was lost on the way); false when somebody else was first.
func (b *Bus) Claim(ctx context.Context, e event.Event) (bool, error) {
	f, err := b.send(e)
	if err != nil {
		return false, fmt.Errorf("cannot publish %s: %w", e.Describe(), err)
	}
	stored, err := b.await(ctx, f)
	if err != nil {
		return false, fmt.Errorf("cannot publish %s: %w", e.Describe(), err)
	}
	if stored {
		return true, nil
	}
	holder, err := b.Get(ctx, e.Subject())
	if err != nil {
		return false, fmt.Errorf("cannot see who holds %s: %w", e.Describe(), err)
	}
	return holder.Source == e.Source, nil
}

// sent is a message on its way, and what the server had refused before.
type sent struct {
	jetstream.PubAckFuture
	mark uint64
}

// send hands an event to the connection without waiting for the stream.
func (b *Bus) send(e event.Event) (sent, error) {
	msg, err := b.message(e)
	if err != nil {
		return sent{}, err
	}
	return b.sendMsg(msg)
}

func (b *Bus) sendMsg(msg *nats.Msg) (sent, error) {
	mark := b.refused.mark()
	f, err := b.js.PublishMsgAsync(msg, jetstream.WithStallWait(5*time.Second))
	if err != nil {
		return sent{}, publishError(err)
	}
	return sent{f, mark}, nil
}

// message is an event as the stream takes it: only when its place is empty. It has no Nats-Msg-Id: the server takes a message
// for stored when anybody has used its id shortly before, at whatever subject.
func (b *Bus) message(e event.Event) (*nats.Msg, error) {
	if err := b.server.room(); err != nil {
		return nil, err
	}
	body, err := event.Encode(e)
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: e.Subject(), Data: body, Header: nats.Header{"Content-Type": {event.ContentType}}}
	if !e.Type.Ephemeral() {
		msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{"0"}
	}
	return msg, nil
}

// await waits until the stream has answered. It reports whether the event was stored now; false means that its place
// was taken.
func (b *Bus) await(ctx context.Context, f sent) (bool, error) {
	mine := only(f.Msg().Subject)
	for {
		refused, next := b.refused.since(f.mark, mine)
		if refused != "" {
			return false, b.denied(refused)
		}
		select {
		case <-f.Ok():
			return true, nil
		case err := <-f.Err():
			if taken(err) {
				return false, nil
			}
			return false, publishError(err)
		case <-next:
		case <-ctx.Done():
			return false, fault.As(fault.Transient, context.Cause(ctx))
		}
	}
}

func taken(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// kindOf is the kind of an error of a request: one that the server refused stays so, all else may pass.
func kindOf(err error) fault.Kind {
	if fault.Is(err, fault.Denied) {
		return fault.Denied
	}
	return fault.Transient
}

// publishError gives an error of the stream its kind: a message that is too large never fits; all else may pass.
func publishError(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return fault.New(fault.Invalid, "message is larger than %d bytes: %w", maxPayload, err)
	}
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return fault.New(fault.Transient, "the connection to NATS is lost: %w", err)
	}
	return fault.New(kindOf(err), "the stream did not store it: %w", err)
}

// Get returns the event in a place. An empty place is an error of kind Invalid that wraps jetstream.ErrMsgNotFound.
func (b *Bus) Get(ctx context.Context, subject string) (event.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	raw, err := b.read(ctx, directGet(Facts, subject))
	if err != nil {
		return event.Event{}, fault.New(kindOf(err), "cannot read %s: %w", subject, err)
	}
	switch status := raw.Header.Get("Status"); status {
	case "":
	case "404":
		return event.Event{}, fault.New(fault.Invalid, "nothing is stored at %s: %w", subject, jetstream.ErrMsgNotFound)
	default:
		return event.Event{}, fault.New(fault.Transient, "cannot read %s: %s %s", subject, status, raw.Header.Get("Description"))
	}
	e, err := event.Decode(raw.Data, raw.Header.Get)
	if err != nil {
		return e, err
	}
	if at := raw.Header.Get(jetstream.SubjectHeader); e.Subject() != at {
		return event.Event{}, fault.New(fault.Invalid, "cannot take event %s: it stands at %s but belongs at %s", e.ID, at, e.Subject())
	}
	e.Seq, _ = strconv.ParseUint(raw.Header.Get(jetstream.SequenceHeader), 10, 64)
	e.Stored, _ = time.Parse(time.RFC3339Nano, raw.Header.Get(jetstream.TimeStampHeaer))
	return e, nil
}

// readAgain is when a read is sent once more: its answer is lost when the server restarts.
const readAgain = 2 * time.Second

// read sends a request that changes nothing, again and again until it is answered or ctx ends.
func (b *Bus) read(ctx context.Context, subject string) (*nats.Msg, error) {
	for {
		try, cancel := context.WithTimeout(ctx, readAgain)
		answer, err := b.request(try, &nats.Msg{Subject: subject})
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return answer, err
		}
	}
}

// Empty reports whether an error of Get says that its place is empty.
func Empty(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }
