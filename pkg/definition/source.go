package definition

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pos is a place in the text; lines and columns count from 1, columns in characters.
type Pos struct{ Line, Column int }

const maxProblems = 100 // more than a person reads; bounds what a hostile text can make us write

// source is the text with its lines, for excerpts, and the problems found in it so far.
type source struct {
	file     string
	text     string
	lines    []string
	problems Errors
}

func newSource(file, text string) *source {
	return &source{file: file, text: text, lines: strings.Split(text, "\n")}
}

// fail notes a problem at a place.
func (s *source) fail(at Pos, hint, format string, args ...any) {
	if len(s.problems) >= maxProblems {
		return
	}
	s.problems = append(s.problems, Problem{
		File: s.file, Line: at.Line, Column: at.Column,
		Message: fmt.Sprintf(format, args...), Hint: hint, Excerpt: s.excerpt(at),
	})
}

// full reports whether enough has been said; what would add to it can stop.
func (s *source) full() bool { return len(s.problems) >= maxProblems }

const excerptWidth = 120

// excerpt is the line at a place with a caret under the column. Long lines are cut around the column.
func (s *source) excerpt(at Pos) string {
	if at.Line < 1 || at.Line > len(s.lines) {
		return ""
	}
	before := max(0, at.Column-1-excerptWidth/2)
	line := s.lines[at.Line-1]
	line = line[byteOffset(line, before):]
	line = printable(line[:byteOffset(line, excerptWidth)])
	number := fmt.Sprintf("%5d | ", at.Line)
	caret := min(at.Column-1-before, utf8.RuneCountInString(line))
	return number + line + "\n" + strings.Repeat(" ", len(number)-2) + "| " + strings.Repeat(" ", max(0, caret)) + "^"
}

// printable keeps control characters of a hostile text off the terminal.
func printable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\r':
			return -1
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return '�'
		}
		return r
	}, s)
}

// find returns the place of the first occurrence of part at or after a place; that place itself when there is none.
func (s *source) find(at Pos, part string) Pos {
	if part == "" || at.Line < 1 || s.full() {
		return at
	}
	for i := at.Line - 1; i < len(s.lines) && i < at.Line+2000; i++ {
		line, skipped := s.lines[i], 0
		if i == at.Line-1 {
			skipped = byteOffset(line, at.Column-1)
			line = line[skipped:]
		}
		if j := strings.Index(line, part); j >= 0 {
			return Pos{Line: i + 1, Column: utf8.RuneCountInString(s.lines[i][:skipped+j]) + 1}
		}
	}
	return at
}

func byteOffset(line string, runes int) int {
	for i := range line {
		if runes <= 0 {
			return i
		}
		runes--
	}
	return len(line)
}
