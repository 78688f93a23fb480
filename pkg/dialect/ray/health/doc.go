// Package health folds the results of a test into the state of its health, and says what is to follow: a bisection, an
// issue to open, to close, to open again, a jail with an owner and an end. It also has the record of a result and hands
// it to sinks, none of which can keep it from another.
package health
