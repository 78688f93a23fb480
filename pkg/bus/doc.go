// Package bus is Sluice's use of NATS JetStream: the streams, publishing facts, hearing them, and what happens to a
// message that cannot be handled. It is the only package that knows NATS.
//
// # Publishing
//
// A fact has a place (event.Event.Subject) and the stream keeps one message per place: every fact is published with the
// expectation that its place is empty. Publishing it again, after a crash or by a second process, changes nothing.
// Publish takes that for success; Claim tells who was first, and is how exactly one executor starts an attempt and how a
// late result is refused. Neither depends on the stream's window for duplicates.
//
// # Hearing
//
// A Route is one line of a service's table: the events it hears, the events it may say, a function. On makes one of a
// function that decides and returns what it says; Work makes one of a function that works and gets a Delivery. Each
// route has a durable consumer of its own, so a slow one only grows its own lag. The error that a function returns
// decides what becomes of the message (settle): nobody acknowledges or retries by hand.
//
//	routes := []bus.Route{
//		bus.On("ignore", []event.Type{event.TypeChangeIgnored}, s.ignore),
//		bus.Work("plan", []event.Type{event.TypeRunPlanned, event.TypeRunRejected}, s.plan, bus.Workers(2)),
//	}
//
// A service whose state is a fold follows the facts from the beginning with Follow.
package bus
