// Package publisher takes a candidate that the gate let through to the targets of its plan: package indexes, Maven
// repositories, OCI registries.
//
// It decides, per target, which step comes next: planned, probed, staged, committed, verified (saga.go, pure). It says
// that a release is published only when every target is verified by downloading again what was uploaded. Nothing that
// users can see is done before everything that can be undone is done on every target.
//
// It never publishes a digest that is not in the candidate, never replaces what is already there under the same name,
// and never decides by itself what to do when the name is taken: that is a hard stop, and a person decides.
//
// A target is an extension point: one file target_<kind>.go and one line in the table in kind.go. The suite in
// conformance_test.go says what every kind must do.
package publisher
