package lease

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Look reads the event at a place of the stream; found is false when the place is empty. With a bus:
//
//	func(subject string) (event.Event, bool, error) {
//		e, err := b.Get(ctx, subject)
//		if bus.Empty(err) {
//			return e, false, nil
//		}
//		return e, err == nil, err
//	}
type Look func(subject string) (e event.Event, found bool, err error)

// Lost says that a lease is no longer its holder's: whatever the holder does on the place from now on, another may be
// using it.
type Lost struct{ Reason string }

func (l *Lost) Error() string { return l.Reason }

// Prove asks the stream whether every place of a lease is still the holder's. It returns a *Lost when one is not, and
// another error when the stream cannot be asked: then nothing is proven, and nothing may be done.
func Prove(look Look, holder event.AttemptRef, l release.Lease) error {
	for _, h := range l.Places {
		if err := proveHeld(look, holder, l.Provider, h); err != nil {
			return err
		}
	}
	return nil
}

func proveHeld(look Look, holder event.AttemptRef, provider string, h release.Held) error {
	at := fmt.Sprintf("cannot use %s/%s under token %d: ", provider, h.Place, h.Token)
	e, found, err := look(subject(event.LeaseGranted{Provider: provider, Place: h.Place, Token: h.Token}))
	switch g, _ := e.Data.(event.LeaseGranted); {
	case err != nil:
		return err
	case !found:
		return &Lost{at + "it was never granted"}
	case g.Holder != holder:
		return &Lost{at + "it was granted to " + describe(g.Holder)}
	}
	e, found, err = look(subject(event.LeaseEnded{Provider: provider, Place: h.Place, Token: h.Token}))
	if err != nil || !found {
		return err
	}
	end, _ := e.Data.(event.LeaseEnded)
	return &Lost{at + "the lease has ended: " + end.Reason}
}

func subject(p event.Payload) string {
	return event.Event{Run: event.Fleet, Type: p.EventType(), Key: p.Key()}.Subject()
}
