package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/fault"
)

// DeadLetter is a message that a consumer could not handle.
type DeadLetter struct {
	Seq        uint64    `json:"seq"` // in the stream of dead letters
	Consumer   string    `json:"consumer"`
	Subject    string    `json:"subject"`
	Source     uint64    `json:"source_seq"` // in the stream of facts
	Reason     string    `json:"reason"`
	Fault      string    `json:"fault"`
	Deliveries uint64    `json:"deliveries"`
	Time       time.Time `json:"time"`
	Body       []byte    `json:"-"`
}

// The headers that say what happened to a dead letter.
const (
	headerConsumer   = "Sluice-Consumer"
	headerSubject    = "Sluice-Subject"
	headerSource     = "Sluice-Source-Sequence"
	headerReason     = "Sluice-Reason"
	headerFault      = "Sluice-Fault"
	headerDeliveries = "Sluice-Deliveries"
)

// bury copies a message, with the reason, to the stream of dead letters. A letter has a place of its own there: burying it twice
// stores it once, and nobody else can take its place.
func (b *Bus) bury(ctx context.Context, consumer string, msg message, deliveries uint64, cause error) error {
	source := uint64(0)
	if meta, err := msg.Metadata(); err == nil {
		source = meta.Sequence.Stream
	}
	place := fmt.Sprintf("sluice.dead.%s.%s.%d.%d", b.whoAmI(), consumer, source, deliveries)
	letter := &nats.Msg{Subject: place, Data: msg.Data(), Header: nats.Header{}}
	for name, value := range map[string]string{
		headerConsumer: consumer, headerSubject: msg.Subject(), headerSource: strconv.FormatUint(source, 10),
		headerReason: firstLine(cause), headerFault: string(fault.Of(cause)),
		headerDeliveries: strconv.FormatUint(deliveries, 10),
	} {
		letter.Header.Set(name, value)
	}
	letter.Header.Set("Content-Type", msg.Headers().Get("Content-Type"))
	letter.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	f, err := b.sendMsg(letter)
	if err == nil {
		_, err = b.await(ctx, f)
	}
	return err
}

// firstLine is an error as a header can hold it.
func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ToValidUTF8(line[:min(len(line), 1000)], "?")
}

// DeadLetters lists dead letters from a sequence on, at most limit; 0 begins at the oldest.
func (b *Bus) DeadLetters(ctx context.Context, from uint64, limit int) ([]DeadLetter, error) {
	stream, err := b.js.Stream(ctx, Dead)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot list dead letters: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot list dead letters: %w", err)
	}
	var out []DeadLetter
	for seq := max(from, info.State.FirstSeq, 1); seq <= info.State.LastSeq && len(out) < limit; seq++ {
		letter, err := deadLetter(ctx, stream, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, fault.New(fault.Transient, "cannot read dead letter %d: %w", seq, err)
		}
		out = append(out, letter)
	}
	return out, nil
}

func deadLetter(ctx context.Context, stream jetstream.Stream, seq uint64) (DeadLetter, error) {
	raw, err := stream.GetMsg(ctx, seq)
	if err != nil {
		return DeadLetter{}, err
	}
	source, _ := strconv.ParseUint(raw.Header.Get(headerSource), 10, 64)
	deliveries, _ := strconv.ParseUint(raw.Header.Get(headerDeliveries), 10, 64)
	return DeadLetter{
		Seq: seq, Consumer: raw.Header.Get(headerConsumer), Subject: raw.Header.Get(headerSubject), Source: source,
		Reason: raw.Header.Get(headerReason), Fault: raw.Header.Get(headerFault), Deliveries: deliveries, Time: raw.Time,
		Body: raw.Data,
	}, nil
}

// Replay gives a dead letter to its consumer again and removes it when the consumer's service has taken it. The message
// goes to the consumer alone: nobody else hears the fact a second time.
func (b *Bus) Replay(ctx context.Context, seq uint64) error {
	stream, err := b.js.Stream(ctx, Dead)
	if err != nil {
		return fault.New(fault.Transient, "cannot replay dead letter %d: %w", seq, err)
	}
	letter, err := deadLetter(ctx, stream, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return fault.New(fault.Invalid, "cannot replay dead letter %d: there is none; list them with sluice deadletters list", seq)
	}
	if err != nil {
		return fault.New(fault.Transient, "cannot replay dead letter %d: %w", seq, err)
	}
	reply, err := b.request(ctx, &nats.Msg{Subject: replaySubject(letter.Consumer), Data: letter.Body})
	if err != nil {
		return fault.New(kindOf(err), "cannot replay dead letter %d: no service with consumer %s answered: %w",
			seq, letter.Consumer, err)
	}
	if problem := reply.Header.Get(headerReason); problem != "" {
		return fault.New(fault.Kind(reply.Header.Get(headerFault)), "cannot replay dead letter %d: %s", seq, problem)
	}
	return stream.DeleteMsg(ctx, seq)
}

func replaySubject(consumer string) string { return "sluice.replay." + consumer }

// answerReplays lets a route take dead letters again, one at a time, as if they had just been delivered.
func (b *Bus) answerReplays(ctx context.Context, service, source string, r *Route) error {
	sub, err := b.conn.QueueSubscribe(replaySubject(r.Durable(service)), "replay", func(msg *nats.Msg) {
		reply := nats.NewMsg(msg.Reply)
		if err := b.again(ctx, service, source, r, msg); err != nil {
			reply.Header.Set(headerReason, firstLine(err))
			reply.Header.Set(headerFault, string(fault.Of(err)))
		}
		_ = msg.RespondMsg(reply) // the asker has a deadline and keeps the letter
	})
	if err != nil {
		return fault.New(fault.Transient, "cannot take replays: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return nil
}

func (b *Bus) again(ctx context.Context, service, source string, r *Route, msg *nats.Msg) error {
	e, err := eventOf(msg.Data)
	if err != nil {
		return err
	}
	d := &delivery{bus: b, service: service, source: source, route: r, event: e, ack: func() error { return nil }}
	_, err = r.Endpoint(ctx, d)
	return err
}
