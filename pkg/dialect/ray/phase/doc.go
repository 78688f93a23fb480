// Package phase has the phases of one of Ray's release tests in their order, what each may take, and how a failure in
// one ends the test. The cluster is terminated and the result reported whatever happened before.
package phase
