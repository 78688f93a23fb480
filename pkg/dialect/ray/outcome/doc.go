// Package outcome has the words with which Ray's release tests end: exceptions, exit codes, statuses, and the class of
// each, so that a test of Ray's ends as every other task of Sluice does.
//
// One thing is not taken over. Ray calls every first failure that came within three hours "transient infrastructure
// error", whatever failed. Here the cause decides: only what is the platform's fault can be transient, and whether
// another attempt is left has no part in what the failure is called.
package outcome
