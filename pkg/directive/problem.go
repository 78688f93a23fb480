package directive

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a comment.
type Problem struct {
	Line    int // from 1
	Column  int // from 1, in characters
	Message string
	Hint    string // what to write instead
	Foreign bool   // an unknown word that is near none of ours: it may be meant for somebody else
}

// String is the problem in one line: "2:1: unknown directive /tset; did you mean /test?".
func (p Problem) String() string {
	text := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// Errors is everything that is wrong with a comment, in its order.
type Errors []Problem

// Error prints all problems, each on a line.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, p := range e {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// Ours reports whether a comment is meant for us: it has a directive that we know, or one that is nearly one. Other
// programs listen to comments as well, and a stranger's words are no mistakes.
func Ours(c Commands, problems Errors) bool {
	return len(c) > 0 || slices.ContainsFunc(problems, func(p Problem) bool { return !p.Foreign })
}
