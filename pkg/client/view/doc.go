// Package view shows what the API says on a terminal, or in a file: aligned, what failed first, what went well folded to
// a line. What it shows came from outside; every text is made harmless before it is printed.
package view
