// Package event has everything that is ever said on the bus: the envelope (CloudEvents 1.0.2), the payloads, and the
// catalogue that lists them.
//
// A fact has a place: its run, its type and its key. The bus stores at most one event in a place, so a fact that is
// said twice, by a handler that was redelivered or by two processes that raced, is stored once. The key of each payload
// is its Key method; where something may rightly happen again (a retry asked for by a person), the key holds a number or
// a request's id.
//
// Payloads are plain structs of pkg/release's words; the protobuf messages of the same names under proto/ are their
// public schema. A test holds both together, field by field and by round trip.
package event
