// Package release has the words of Sluice as types: changes, runs, tasks, attempts, outcomes, artifacts, candidates,
// publications. It imports the standard library only, and everything else imports it.
//
// The words are those of the glossary (docs/glossary.md); CDEvents' words come first. Every type that travels in an
// event has the JSON form of the protobuf message of the same name under proto/; a test in pkg/event holds the two
// together.
package release
