// Package rules tells from the paths that a change touches which steps are worth running, by files that people read:
//
//	! lint tools          # declares tags; once a file declares any, it may emit no other
//
//	ci/lint/              # a directory and everything in it
//	.vale.ini             # a file
//	doc/*.rst             # a pattern, in which * crosses slashes as Python's fnmatch has it
//	@ tools               # what the rule emits; a rule without tags emits nothing, and settles the path
//	;                     # ends the rule
//
// The first rule that matches a path settles it. A path that no rule matches emits every tag: what nobody thought of
// is not skipped. Several files are looked at each for itself, and what they emit is united.
//
// Beside a file stands its specification, FILE.rules.test.txt, whose lines are "path: tags".
package rules
