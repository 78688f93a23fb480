// Package live is what moves: who is told when a run's rows change, server-sent events, and the logs of attempts, from
// the bus while they run and from the archive after.
package live
