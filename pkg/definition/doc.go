// Package definition is the language of sluice.yaml: it reads the text (Parse), says whether a change starts a run
// (Triggered), and resolves the definition for one change to the frozen list of tasks (Resolve, to a plan.Plan).
//
// Everything here is pure: no I/O, no clock, no randomness; the same text and the same request give the same plan.
// The text is hostile until proven otherwise: size, depth, aliases, the number of tasks, of edges and of bytes in the
// plan are all bounded, and so is the cost of every condition.
//
// The keys, their types, defaults and examples are the struct tags of Definition and of what it is made of. The
// decoder, the JSON Schema and docs/definition.md are all derived from those tags, so they cannot disagree.
package definition
