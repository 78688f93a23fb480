// Package report reads what test tools leave behind: JUnit XML and results.json. Missing is not passing: a report that
// cannot be read, or that tells of no test, is an error and never a pass.
package report
