// Package alert judges what a test measured: suites of thresholds, the signature of a crash, and releases compared with
// each other.
//
// A threshold names a test by the name that it has in the file of tests. The tests that run are its variations,
// "long_running_many_tasks.aws"; a threshold is theirs too.
package alert
