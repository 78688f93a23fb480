// Package executor runs attempts: prepare, run, collect, cleanup, whatever happens. One executor is one process with a
// number of slots for one pool; a pool has any number of them.
//
// It decides nothing about a run: not what runs, not whether to try again. It claims an attempt on the stream (one
// executor can), runs it and claims its result (a result that comes after the attempt was declared lost is refused). In
// between it beats its heart; when that stops, the scheduler gives the attempt to somebody else, and nothing of it is
// left running (pkg/driver).
//
// Its only state is its directory: a workspace for each attempt in hand, whose name says which attempt that is. What an
// executor finds there when it starts was in hand when an earlier one ended; it is cleaned away and reported as lost.
package executor
