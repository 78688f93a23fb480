// Package executor runs attempts: cleanup, prepare, run, collect, cleanup, whatever happens. One executor is one process
// with a number of slots for one pool; a pool has any number of them.
//
// It decides nothing about a run: not what runs, not whether to try again. It claims an attempt on the stream (one
// executor can), runs it and claims its result (a result that comes after the attempt was declared lost is refused). In
// between it beats its heart; when that stops, the scheduler gives the attempt to somebody else, and nothing of it is
// left running (pkg/driver). Before each phase it proves that the attempt's lease is still its own (pkg/lease).
//
// Its only state is its directory: a workspace for each attempt in hand, whose name says which attempt that is, and a
// record of each that has something to be undone, written before its first command. What an executor finds there when
// it starts was in hand when an earlier one ended: what is recorded is undone, the rest is cleaned away, and all of it is
// reported as lost.
package executor
