// Package wrapper decides what the wrapper around a release test does: run it, wait and run it again, or end with an
// exit code. It folds attempts that ended; who starts processes, waits and passes signals on is cmd/sluice.
package wrapper
