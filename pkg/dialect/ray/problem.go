package ray

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// Problem is one thing that is wrong with a suite, at its place.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 when the problem is not at a place in the text
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Test    string `json:"test,omitempty"`   // the first test that it was found in
	Message string `json:"message"`          // in the words of Ray's own validation where it has one for this
	Hint    string `json:"hint,omitempty"`   // what to do next
}

// String is the problem as a person reads it.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Test != "" {
		fmt.Fprintf(&b, "test %s: ", p.Test)
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("\n    hint: " + p.Hint)
	}
	return b.String()
}

// Error is the problem without its place, which Position tells.
func (p Problem) Error() string {
	if p.Test == "" {
		return p.Message
	}
	return "test " + p.Test + ": " + p.Message
}

// Position is the place of the problem.
func (p Problem) Position() (file string, line, column int) { return p.File, p.Line, p.Column }

// Problems is every problem that was found in one pass.
type Problems []Problem

// Error prints all problems, and how many tests they are in.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p)+1)
	tests := map[string]bool{}
	for _, one := range p {
		lines = append(lines, one.String())
		tests[one.Test] = true
	}
	delete(tests, "")
	if len(tests) > 0 {
		lines = append(lines, fmt.Sprintf("Release test configuration error: Found %d test validation errors.", len(tests)))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lists the problems as errors of their own.
func (p Problems) Unwrap() []error {
	out := make([]error, len(p))
	for i, one := range p {
		out[i] = one
	}
	return out
}

// sorted orders problems by their place and drops what is said twice of one place.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	type place struct {
		file         string
		line, column int
		message      string
	}
	seen := map[place]bool{}
	var out Problems
	for _, one := range p {
		at := place{one.File, one.Line, one.Column, one.Message}
		if !seen[at] {
			seen[at] = true
			out = append(out, one)
		}
	}
	return out
}

// orNil keeps an empty list from becoming a non-nil error.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

const maxProblems = 1_000 // more than a person reads; bounds what a hostile suite can make us write

// notes collects problems and warnings.
type notes struct {
	problems Problems // each costs the test that it is in
	refused  Problems // of whole files
	warnings Problems
	failures int  // problems found, those that are not kept too
	strict   bool // what would be a remark is a problem
}

// fail notes a problem, for which its test is left out.
func (n *notes) fail(at pyyaml.Pos, test, format string, args ...any) {
	n.failures++
	if len(n.problems) < maxProblems {
		n.problems = append(n.problems, problem(at, test, fmt.Sprintf(format, args...)))
	}
}

// refuse notes a problem of a whole file.
func (n *notes) refuse(at pyyaml.Pos, format string, args ...any) {
	if len(n.refused) < maxProblems {
		n.refused = append(n.refused, problem(at, "", fmt.Sprintf(format, args...)))
	}
}

func (n *notes) warn(at pyyaml.Pos, test, format string, args ...any) {
	if len(n.warnings) < maxProblems {
		n.warnings = append(n.warnings, problem(at, test, fmt.Sprintf(format, args...)))
	}
}

// remark notes what the tooling of the generation would refuse and nothing here needs to: a problem for who is strict, else a
// warning with its effect. Without an effect there is nothing to tell.
func (n *notes) remark(at pyyaml.Pos, test, effect, format string, args ...any) {
	switch {
	case n.strict:
		n.fail(at, test, format, args...)
	case effect != "":
		n.warn(at, test, "%s; %s", fmt.Sprintf(format, args...), effect)
	}
}

func problem(at pyyaml.Pos, test, message string) Problem {
	return Problem{File: at.File, Line: at.Line, Column: at.Column, Test: test, Message: message}
}
