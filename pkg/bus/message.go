package bus

import (
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// message is what a stream delivers, to a follower or to a route.
type message interface {
	Subject() string
	Headers() nats.Header
	Data() []byte
	Metadata() (*jetstream.MsgMetadata, error)
}

// pulled is a message that a route's consumer gave. Until it is settled the server waits for a word.
type pulled struct{ raw *nats.Msg }

func (m pulled) Subject() string      { return m.raw.Subject }
func (m pulled) Headers() nats.Header { return m.raw.Header }
func (m pulled) Data() []byte         { return m.raw.Data }

// Metadata says where the stream keeps the message and how often it was delivered.
func (m pulled) Metadata() (*jetstream.MsgMetadata, error) {
	meta, err := m.raw.Metadata()
	if err != nil {
		return nil, err
	}
	return &jetstream.MsgMetadata{
		Sequence:     jetstream.SequencePair{Consumer: meta.Sequence.Consumer, Stream: meta.Sequence.Stream},
		NumDelivered: meta.NumDelivered, NumPending: meta.NumPending, Timestamp: meta.Timestamp,
		Stream: meta.Stream, Consumer: meta.Consumer, Domain: meta.Domain,
	}, nil
}

func (m pulled) ack() error          { return m.raw.Respond([]byte("+ACK")) }
func (m pulled) working() error      { return m.raw.Respond([]byte("+WPI")) }
func (m pulled) dead(r string) error { return m.raw.Respond([]byte("+TERM " + r)) }
func (m pulled) later(d time.Duration) error {
	return m.raw.Respond(fmt.Appendf(nil, `-NAK {"delay":%d}`, d.Nanoseconds()))
}

// pulse tells the server, while a handler runs, that its message is in good hands.
type pulse struct {
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func startPulse(msg pulled, every time.Duration) *pulse {
	p := &pulse{}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(every, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.stopped {
			return
		}
		_ = msg.working() // a lost word costs a redelivery, which is harmless
		p.timer.Reset(every)
	})
	return p
}

func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.timer.Stop()
}

// decode reads the event of a message, and where the stream keeps it; that is known even of what cannot be read.
func (b *Bus) decode(msg message) (event.Event, *jetstream.MsgMetadata, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return event.Event{}, nil, fault.New(fault.Invalid, "cannot take a message at %s: %w", msg.Subject(), err)
	}
	if e, ok := b.decoded.find(meta); ok {
		return e, meta, nil
	}
	if msg.Headers().Get(jetstream.StreamHeader) != "" {
		return event.Event{}, meta, fault.New(fault.Invalid, "cannot take a message at %s: the server copied it from elsewhere, nobody published it there",
			msg.Subject())
	}
	e, err := event.Decode(msg.Data(), msg.Headers().Get)
	if err != nil {
		return e, meta, err
	}
	e.Seq, e.Stored = meta.Sequence.Stream, meta.Timestamp
	if e.Subject() != msg.Subject() {
		return e, meta, fault.New(fault.Invalid, "cannot take event %s: it stands at %s but belongs at %s",
			e.ID, msg.Subject(), e.Subject())
	}
	b.decoded.keep(meta.Stream, e)
	return e, meta, nil
}
