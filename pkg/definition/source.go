package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a text; lines and columns count from 1, columns in characters.
type Pos struct {
	Line, Column int

	in *text // nil in a problem of a whole definition
}

// text is one file of a definition.
type text struct {
	file  string
	text  string
	lines []string
}

const maxProblems = 100 // more than a person reads; bounds what a hostile text can make us write

// source is a text, for excerpts, and the problems found so far in it and in what it includes.
type source struct {
	*text
	problems Errors
}

// byteOrderMark is how some editors begin UTF-8; it is no part of the text.
// lineBreaks makes every line break of YAML the one that places are counted by.
func lineBreaks() *strings.Replacer { return strings.NewReplacer("\r\n", "\n", "\r", "\n") }

const byteOrderMark = "\ufeff"

func newSource(file, content string) *source {
	content = lineBreaks().Replace(strings.TrimPrefix(content, byteOrderMark))
	return &source{text: &text{file: file, text: content, lines: strings.Split(content, "\n")}}
}

// pos is a place in the source's own text.
func (s *source) pos(line, column int) Pos { return Pos{line, column, s.text} }

// textAt is the text that a place is in.
func (s *source) textAt(at Pos) *text {
	if at.in == nil {
		return s.text
	}
	return at.in
}

// fileOf names the file that a place is in.
func (s *source) fileOf(at Pos) string { return s.textAt(at).file }

// fail notes a problem at a place.
func (s *source) fail(at Pos, hint, format string, args ...any) {
	if len(s.problems) >= maxProblems {
		return
	}
	s.problems = append(s.problems, s.problem(at, hint, fmt.Sprintf(format, args...)))
}

func (s *source) problem(at Pos, hint, message string) Problem {
	t := s.textAt(at)
	return Problem{File: t.file, Line: at.Line, Column: at.Column, Message: message, Hint: hint, Excerpt: t.excerpt(at)}
}

// told reports whether there is a problem at a place already.
func (s *source) told(at Pos) bool {
	file := s.fileOf(at)
	return slices.ContainsFunc(s.problems, func(p Problem) bool { return p.File == file && p.Line == at.Line && p.Column == at.Column })
}

// full reports whether enough has been said; what would add to it can stop.
func (s *source) full() bool { return len(s.problems) >= maxProblems }

const excerptWidth = 120

// excerpt is the line at a place with a caret under the column. Long lines are cut around the column.
func (t *text) excerpt(at Pos) string {
	if at.Line < 1 || at.Line > len(t.lines) {
		return ""
	}
	before := max(0, at.Column-1-excerptWidth/2)
	line := t.lines[at.Line-1]
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
	t := s.textAt(at)
	for i := at.Line - 1; i < len(t.lines) && i < at.Line+2000; i++ {
		line, skipped := t.lines[i], 0
		if i == at.Line-1 {
			skipped = byteOffset(line, at.Column-1)
			line = line[skipped:]
		}
		if j := strings.Index(line, part); j >= 0 {
			return Pos{i + 1, utf8.RuneCountInString(t.lines[i][:skipped+j]) + 1, t}
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
