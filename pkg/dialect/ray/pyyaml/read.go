package pyyaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Remark is something about a text: an error when it stopped the reading, else a warning.
type Remark struct {
	At      Pos
	Message string
}

// Read reads the one document of a text; an empty text is null. It returns the value, or the error that no value could
// be made for, and warnings about what PyYAML reads in silence: a key given twice.
func Read(file, text string) (root *Node, warnings []Remark, failed *Remark) {
	r := &reader{file: file, anchors: map[string]*Node{}}
	text = strings.TrimPrefix(text, "\ufeff")
	if !r.readable(text) {
		return nil, nil, r.failed
	}
	body := r.parse(strings.ReplaceAll(text, "\r\n", "\n"))
	if r.failed != nil {
		return nil, nil, r.failed
	}
	if body == nil {
		return plain("", Pos{file, 1, 1}), nil, nil
	}
	root = r.node(body, 0)
	if r.failed != nil {
		return nil, r.warnings, r.failed
	}
	return root, r.warnings, nil
}

// reader turns the tree of a text into nodes. It stops at the first error: nothing that is read past it is reliable.
type reader struct {
	file     string
	anchors  map[string]*Node
	warnings []Remark
	failed   *Remark
}

func (r *reader) fail(at Pos, format string, args ...any) {
	if r.failed == nil {
		r.failed = &Remark{at, fmt.Sprintf(format, args...)}
	}
}

const maxWarnings = 100 // more than a person reads

func (r *reader) warn(at Pos, format string, args ...any) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, Remark{at, fmt.Sprintf(format, args...)})
	}
}

func (r *reader) at(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{r.file, 1, 1}
	}
	return Pos{r.file, t.Position.Line, max(1, t.Position.Column)}
}

// parse returns the body of the one document.
func (r *reader) parse(text string) ast.Node {
	tokens, err := tokenize(text)
	if err != nil {
		r.syntax(err)
		return nil
	}
	if !r.shallow(tokens) {
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for i, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, comment := doc.Body.(*ast.CommentGroupNode); comment {
			continue
		}
		if body != nil {
			r.fail(r.at(file.Docs[i].Start), "found more than one YAML document, expected one")
		}
		body = doc.Body
	}
	return body
}

// tokenize and parseTokens keep a panic of the YAML library, which hostile text may find, from ending the process.
func tokenize(text string) (tokens token.Tokens, err error) {
	defer gaveUp(&err)
	return lexer.Tokenize(text), nil
}

func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer gaveUp(&err)
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func gaveUp(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the YAML parser gave up: %v", r)
	}
}

func (r *reader) syntax(err error) {
	var known yaml.Error
	if errors.As(err, &known) {
		r.fail(r.at(known.GetToken()), "cannot read YAML: %s", oneLine(known.GetMessage()))
		return
	}
	r.fail(Pos{File: r.file}, "cannot read YAML: %s", oneLine(err.Error()))
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if text := []rune(s); len(text) > 200 {
		return string(text[:200]) + "…"
	}
	return s
}
