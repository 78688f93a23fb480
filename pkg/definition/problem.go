package definition

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Problem is one thing that is wrong with a definition, or with a request to resolve it.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 when the problem is not at a place in the text
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Message string `json:"message"`          // what was found, and what was expected
	Hint    string `json:"hint,omitempty"`   // what to do next: the nearest valid name, an example
	Excerpt string `json:"excerpt,omitempty"`
}

// String is the problem as a person reads it: place and message, the line with a caret, the hint.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + p.Message)
	if p.Excerpt != "" {
		b.WriteString("\n" + p.Excerpt)
	}
	if p.Hint != "" {
		b.WriteString("\n    hint: " + p.Hint)
	}
	return b.String()
}

// Errors is every problem that was found in one pass, in the order of the text.
type Errors []Problem

// Error prints all problems, one after the other.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, p := range e {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// Flag is how a problem names the part of a request that is wrong: "--set tests.gpu=2", "/skip wheel".
func Flag(name, value string) string { return name + " " + shorten(printable(value), 60) }

// Placed tells of each problem with a part of a request where that was said, as far as where knows it by its Flag.
func (e Errors) Placed(where map[string]Problem) Errors {
	out := slices.Clone(e)
	for i, p := range e {
		if at, known := where[p.File]; known {
			out[i].File, out[i].Line, out[i].Column = at.File, at.Line, at.Column
		}
	}
	return out.sorted()
}

// sorted orders problems by their place, file by file, and drops those said twice.
func (e Errors) sorted() Errors {
	files := map[string]int{}
	for _, p := range e {
		if _, seen := files[p.File]; !seen {
			files[p.File] = len(files)
		}
	}
	sort.SliceStable(e, func(i, j int) bool {
		if a, b := files[e[i].File], files[e[j].File]; a != b {
			return a < b
		}
		if e[i].Line != e[j].Line {
			return e[i].Line < e[j].Line
		}
		return e[i].Column < e[j].Column
	})
	var out Errors
	for i, p := range e {
		if i == 0 || p != e[i-1] {
			out = append(out, p)
		}
	}
	return out
}

// orNil keeps an empty list from becoming a non-nil error.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e.sorted()
}
