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
	maxKeys  = 2_000   // of one map
	maxNodes = 200_000 // nodes visited, aliases expanded
)

// parseText reads the one document of a text. A problem with the text itself is noted, and nil returned: nothing
// that is read past it would be reliable.
func parseText(s *source) ast.Node {
	if !readable(s) {
		return nil
	}
	tokens := lexer.Tokenize(s.text.text)
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
		s.fail(s.pos(1, 1), "", "the definition is empty, expected a map with project, builds …")
		return nil
	case len(bodies) > 1 || len(file.Docs) > 1:
		s.fail(s.position(file.Docs[1].Start), "remove the second document; one file holds one definition",
			"found more than one YAML document, expected one")
		return nil
	}
	return bodies[0].Body
}

// readable checks what can be said of the text without reading it as YAML.
func readable(s *source) bool {
	if len(s.text.text) > maxSize {
		s.lines = nil
		s.fail(Pos{}, "", "the definition has %d bytes, expected at most %d", len(s.text.text), maxSize)
		return false
	}
	before := len(s.problems)
	for i, line := range s.lines {
		if !utf8.ValidString(line) {
			at := s.pos(i+1, utf8.RuneCountInString(line[:invalidAt(line)])+1)
			s.fail(at, "save the file as UTF-8", "found bytes that are not UTF-8")
			return false
		}
		if strings.IndexByte(line, 0) >= 0 {
			s.fail(s.pos(i+1, utf8.RuneCountInString(line[:strings.IndexByte(line, 0)])+1), "", "found a zero byte")
			return false
		}
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			s.fail(s.pos(i+1, strings.IndexByte(indent, '\t')+1), "indent with spaces", "found a tab in the indentation")
		}
	}
	return len(s.problems) == before
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

// nesting is one level of block style: the column that it starts in, and the keys of its map so far.
type nesting struct{ column, keys int }

// shallow refuses texts that nest deeper than any definition, or have maps longer than any, before the parser sees
// them: it calls itself once for each level and once for each key of a map in block style, and copies what it has. The
// depth of block style is overestimated (a key, its colon and its value each count), so more of it is allowed.
func shallow(s *source, tokens token.Tokens) bool {
	flow, levels := 0, []nesting{}
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		}
		if flow == 0 {
			levels = nest(levels, t)
		}
		if flow > maxDepth || len(levels) > 4*maxDepth {
			s.fail(s.position(t), "", "found more than %d levels of nesting", maxDepth)
			return false
		}
		if n := len(levels); n > 1 && levels[n-2].keys > maxKeys {
			s.fail(s.position(t), "", "found a map with more than %d keys", maxKeys)
			return false
		}
	}
	return true
}

// nest keeps the levels that a token in block style is in: those that start in a column before its own.
func nest(levels []nesting, t *token.Token) []nesting {
	for len(levels) > 0 && levels[len(levels)-1].column > t.Position.Column {
		levels = levels[:len(levels)-1]
	}
	if len(levels) == 0 || levels[len(levels)-1].column < t.Position.Column {
		levels = append(levels, nesting{column: t.Position.Column})
	}
	if t.Type == token.MappingValueType && len(levels) > 1 {
		levels[len(levels)-2].keys++
	}
	return levels
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
	s.fail(s.position(known.GetToken()), "", "cannot read YAML: %s", shorten(printable(known.GetMessage()), 200))
}

func (s *source) position(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return s.pos(1, 1)
	}
	return s.pos(t.Position.Line, max(1, t.Position.Column))
}
