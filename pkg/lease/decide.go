package lease

import (
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Intent is something that is to be said, of a run or of event.Fleet.
type Intent struct {
	Run     release.RunID
	Payload event.Payload
}

// Living reports whether an executor's heartbeats name an attempt.
type Living func(event.AttemptRef) bool

// Decide says what follows from what is known, and when to ask again although nothing new was heard. Asked again, it
// answers the same until Sent has been told, or the intents are facts.
func (t *Table) Decide(now time.Time, living Living) (intents []Intent, next time.Time) {
	t.watch.look(t, now)
	return nil, time.Time{}
}

// Sent tells that intents are on their way. Each is made again when it is no fact after Config.Resend.
func (t *Table) Sent(intents []Intent, now time.Time) {
	for _, i := range intents {
		t.sent[identify(i.Run, i.Payload)] = now
	}
}

// resume begins a watch.
func (t *Table) resume(now time.Time) {}
