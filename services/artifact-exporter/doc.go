// Package exporter keeps what runs leave where people look for it: artifacts, results and logs below
// <branch>/<commit>/, and latest/ for the newest commit of the release branch whose gate opened. docs/exports.md has the
// layout.
//
// It decides what is kept where. It never decides what is released, never lets anything of a pull request or of another
// branch into latest/, never changes a file that it wrote, and never makes a name of a branch, a task or a file that could
// leave its place or meet another's.
//
// What it wrote is made again from the events: a destination that was lost is filled by replaying them. Every write is
// idempotent, so a crash anywhere costs a repetition. Each destination has consumers of its own: one that is down only
// grows its own lag.
//
// A destination is an extension point: one file destination_<kind>.go and one line in the table in destination.go.
package exporter
