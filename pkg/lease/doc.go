// Package lease is the table of places (machines, clusters, devices) and of who may use them until when. It is folded
// from facts, decides without I/O and reads no clock; pkg/schedule asks it while it dispatches.
//
//	t := lease.New(lease.Config{})
//	t.Apply(e)                                       // for every fact that Hears lists, in any order, as often as it comes
//	a := t.Grant(lease.Ask{Holder: ref, Request: r}, now)
//	switch {
//	case a.Held:                                     // every grant is a fact: say task.dispatched with a.Lease
//	case len(a.Grants) > 0:                          // say these, of run event.Fleet, and ask again when they are facts
//	case a.Wait.Never:                               // no place will ever do: a.Wait.Reason
//	default:                                         // a.Wait says who has what it waits for; ask again when Revision moved
//	}
//	t.Drop(ref)                                      // it no longer asks
//	intents, next := t.Decide(now, living)           // renewals, ends, cleaning, checks, quarantine
//	t.Sent(intents, now)                             // they are on their way
//
// # Tokens
//
// Each grant of a place has the token after the one before, and the stream keeps one lease.granted per place and token.
// Who grants has seen every grant before it, and that each of them ended, or that it is shared as this one is. So two
// schedulers at once never give a place twice, and in the stream the end of an exclusive lease stands before the next
// grant.
//
// # What an executor proves
//
// Before each side effect on a place the executor asks whether its lease is still its own:
//
//	err := lease.Prove(look, ref, dispatched.Lease)
//
// look reads one place of the stream (bus.Get of a subject, bus.Empty for nothing there): no service is asked, so a dead
// scheduler stops nobody, and who cannot reach the stream cannot prove anything and must not go on. It proves after it has
// claimed task.started, since a lease that nobody started under is given back as unused. The attempts that clean and
// check places have leases too, and prove them in the same way. The token belongs in the attempt's environment: a place
// that can refuse a lower token than it has seen is safe even from a holder that stands still between proof and deed.
//
// # How a lease ends
//
// A place is free again when its holder never started, or finished with its cleanup phase done and nothing unclean, and
// nobody else has to clean it. Every other end leaves it cleanup-pending, whatever lease.ended says: the fold looks at
// what it knows itself. From there it comes back by an attempt of the provider's task "clean", made under a lease of its
// own, or by the word of a person.
package lease
