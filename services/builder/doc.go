// Package builder turns a change into a plan, and finished builds into a candidate.
//
// It decides two things. What a run does: it reads the definition at the exact commit from git, resolves it to a plan,
// freezes the plan as a blob and requests its build tasks. And whether a candidate is complete: when every build is in,
// it opens each artifact that should carry the commit and looks, then freezes the set.
//
// It also serves the pool of builds that are not run but fetched: it asks for each until it is there, takes it, and looks
// whether it is what was asked for. Whether one has waited for too long, and what follows then, the scheduler decides.
//
// It never runs a build, never chooses a pool's executor and never publishes. Its state is a fold over the facts; it can
// be killed at any point and goes on where the facts stop.
package builder
