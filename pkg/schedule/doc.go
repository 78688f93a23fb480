// Package schedule is the test-scheduler's core: what is known of runs, tasks, pools and executors, folded from events,
// and what follows from it. It does no I/O, reads no clock and imports the domain and its events only; a test holds that.
//
//	s := schedule.New(schedule.Config{})
//	s.Apply(e)                                  // for every fact and heartbeat, in any order, as often as it comes
//	intents, next := schedule.Decide(s, now)    // what is to be said, and when to look again
//	s.Sent(intents)                             // they are on their way
//
// State is a function of the set of facts: their order of arrival changes nothing, since what depends on order (rounds,
// holds, cancellations) is read from the facts' places in the stream.
//
// A decision is made again until it has become a fact. Each intent has a place (run, type, key) in the stream that holds
// one event, so making it twice, after a crash or by a second scheduler, stores it once.
//
// Decide looks only at what changed: Apply marks tasks, runs and pools, and timers mark them when time alone changes
// something. The judgement on one task (judge) and on one gate (conditions) are functions of their own; Explain calls
// the same ones. docs/scheduling.md has the rules in their order.
package schedule
