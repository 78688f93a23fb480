package definition

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a text. They hold before anything recursive or multiplying is done with it.
const (
	maxSize  = 1 << 20 // bytes
	maxDepth = 40      // maps and lists within each other
	maxNodes = 200_000 // nodes visited, aliases expanded
)

// parseText reads the one document of a text. A problem with the text itself is noted, and nil returned: nothing
// that is read past it would be reliable.
func parseText(s *source) ast.Node {
	if !readable(s) {
		return nil
	}
	tokens := lexer.Tokenize(s.text)
	if !shallow(s, tokens) {
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		syntaxProblem(s, err)
		return nil
	}
	var bodies []*ast.DocumentNode
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc)
		}
	}
	switch {
	case len(bodies) == 0:
		s.fail(Pos{1, 1}, "", "the definition is empty, expected a map with project, builds …")
		return nil
	case len(bodies) > 1 || len(file.Docs) > 1:
		s.fail(position(file.Docs[1].Start), "remove the second document; one file holds one definition",
			"found more than one YAML document, expected one")
		return nil
	}
	return bodies[0].Body
}

// readable checks what can be said of the text without reading it as YAML.
func readable(s *source) bool {
	if len(s.text) > maxSize {
		s.lines = nil
		s.fail(Pos{}, "", "the definition has %d bytes, expected at most %d", len(s.text), maxSize)
		return false
	}
	for i, line := range s.lines {
		if !utf8.ValidString(line) {
			at := Pos{i + 1, utf8.RuneCountInString(line[:invalidAt(line)]) + 1}
			s.fail(at, "save the file as UTF-8", "found bytes that are not UTF-8")
			return false
		}
		if strings.IndexByte(line, 0) >= 0 {
			s.fail(Pos{i + 1, utf8.RuneCountInString(line[:strings.IndexByte(line, 0)]) + 1}, "", "found a zero byte")
			return false
		}
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			s.fail(Pos{i + 1, strings.IndexByte(indent, '\t') + 1}, "indent with spaces", "found a tab in the indentation")
		}
	}
	return len(s.problems) == 0
}

func invalidAt(line string) int {
	for i, r := range line {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(line[i:]); size == 1 {
				return i
			}
		}
	}
	return len(line)
}

// shallow refuses texts that would nest deeper than any definition, before the recursive parser sees them. It
// overestimates the depth of block style (a key, its colon and its value each count), so it allows more.
func shallow(s *source, tokens token.Tokens) bool {
	flow, columns := 0, []int{}
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		}
		if flow == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= t.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, t.Position.Column)
		}
		if flow > maxDepth || len(columns) > 4*maxDepth {
			s.fail(position(t), "", "found more than %d levels of nesting", maxDepth)
			return false
		}
	}
	return true
}

// parseTokens keeps a panic of the YAML library, which hostile text may find, from ending the process.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func syntaxProblem(s *source, err error) {
	var known yaml.Error
	if !errors.As(err, &known) {
		s.fail(Pos{}, "", "cannot read YAML: %s", shorten(printable(err.Error()), 200))
		return
	}
	s.fail(position(known.GetToken()), "", "cannot read YAML: %s", shorten(printable(known.GetMessage()), 200))
}

func position(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{1, 1}
	}
	return Pos{Line: t.Position.Line, Column: max(1, t.Position.Column)}
}
