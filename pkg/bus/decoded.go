package bus

import (
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/event"
)

// decoded holds the facts that this process decoded last: what several services in one process hear is decoded once.
// Nobody changes an event that was read.
type decoded struct {
	slots [1024]atomic.Pointer[event.Event]
}

// find returns the fact that a message of the stream of facts holds. Its time is compared too: a server that lost its disk
// counts from one again.
func (d *decoded) find(meta *jetstream.MsgMetadata) (event.Event, bool) {
	if meta.Stream != Facts {
		return event.Event{}, false
	}
	e := d.slots[meta.Sequence.Stream%uint64(len(d.slots))].Load()
	if e == nil || e.Seq != meta.Sequence.Stream || !e.Stored.Equal(meta.Timestamp) {
		return event.Event{}, false
	}
	return *e, true
}

func (d *decoded) keep(stream string, e event.Event) {
	if stream == Facts {
		d.slots[e.Seq%uint64(len(d.slots))].Store(&e)
	}
}
