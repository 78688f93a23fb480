// Package bisect finds the commit that broke a test: k commits at a time, knowing that tests flake and machines fail,
// within a deadline and a budget. It is a fold: from the runs that there were follows what to run next, so that it goes
// on where it was after any stop.
package bisect
