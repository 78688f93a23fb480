// Package planner makes plans of definitions that nobody trusts, in a process that can be killed. A definition brings
// templates, conditions, globs and files of other systems: each has limits of its own, but a goroutine that loops cannot be
// ended, and a process can. Workers keeps processes that wait for work; one that is late, or takes too much memory, is killed,
// and the change that it planned gets an error. Here does the work itself: it is what such a process runs.
package planner
