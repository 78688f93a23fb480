// Package jinja renders the Jinja2 templates that cluster compute files are, within bounds: a template that loops, grows
// or nests without end is an error soon, and without much memory. It reads nothing but its text and its variables.
//
// What a compute file needs is there: expressions, filters, if, for, set, raw and comments. What reads other files or calls
// itself (include, import, extends, macro, block) is not.
package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The bounds of a template and of rendering it.
const (
	maxText      = 32 << 10  // bytes of a text that is a template
	maxOutput    = 256 << 10 // bytes
	maxSteps     = 4_000     // expressions evaluated and rounds of loops
	maxOperands  = 60        // tokens of one expression
	maxNesting   = 20        // parentheses within each other, and statements within each other
	maxValue     = 4 << 10   // bytes that a variable may hold, whatever its type
	maxRange     = 1_000     // numbers of a range()
	longestError = 200
)

// Error is why a template was not rendered; Line counts from 1, 0 when it is not known.
type Error struct {
	Line    int
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// IsTemplate reports whether a text has anything to render; one that has not renders to itself.
func IsTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// Render renders a template with variables: strings, numbers, booleans, lists and maps of them. The error is an *Error.
// A variable that is not there renders as nothing, as in Jinja2.
func Render(text string, variables map[string]any) (out string, err error) {
	if !IsTemplate(text) {
		return text, nil
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = "", failure(fmt.Errorf("the template engine gave up: %v", r))
		}
	}()
	if len(text) > maxText {
		return "", &Error{Message: fmt.Sprintf("the template has %d bytes, expected at most %d", len(text), maxText)}
	}
	list, err := scan(text)
	if err != nil {
		return "", err
	}
	p := parser.NewParser("template", tokens.NewStream(list), dialect(), nil, statements{})
	root, err := p.Parse()
	if err != nil {
		return "", failure(err)
	}
	r := newRenderer(variables)
	if err := r.all(root.Nodes); err != nil {
		return "", failure(err)
	}
	return r.out.String(), nil
}

var lineOf = regexp.MustCompile(`\(Line: (\d+) `)

// failure makes an error of this package of any other: of what is at the bottom of it, with the line when its text tells it.
func failure(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	if known, ok := err.(*Error); ok {
		return known
	}
	e := &Error{Message: strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "�")), " ")}
	if m := lineOf.FindStringSubmatch(e.Message); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
	}
	if text := []rune(e.Message); len(text) > longestError {
		e.Message = string(text[:longestError]) + "…"
	}
	return e
}

// renderer writes nodes and counts what that costs.
type renderer struct {
	out   *strings.Builder
	scope *exec.Environment
	steps *int
}

func newRenderer(variables map[string]any) *renderer {
	scope := &exec.Environment{
		Filters: allowed().Filters, Tests: builtins.Tests, Methods: allowed().Methods,
		Context: exec.NewContext(map[string]any{"range": numbers}),
	}
	for name, value := range variables {
		scope.Context.Set(name, value)
	}
	return &renderer{out: &strings.Builder{}, scope: scope, steps: new(int)}
}

// inner is a renderer whose variables are gone when it is done.
func (r *renderer) inner() *renderer {
	scope := *r.scope
	scope.Context = r.scope.Context.Inherit()
	return &renderer{out: r.out, scope: &scope, steps: r.steps}
}

func (r *renderer) all(list []nodes.Node) error {
	for _, n := range list {
		if err := r.one(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) one(n nodes.Node) error {
	switch n := n.(type) {
	case *nodes.Data:
		return r.write(data(n), n.Data.Line)
	case *nodes.Output:
		return r.output(n)
	case *nodes.ControlStructureBlock:
		return n.ControlStructure.(statement).render(r)
	default: // a comment, or the end
		return nil
	}
}

// data is a text between tags, without the blanks that a tag with a dash takes away.
func data(n *nodes.Data) string {
	text := n.Data.Val
	if n.Trim.Left {
		text = strings.TrimLeft(text, " \r\n\t")
	}
	if n.Trim.Right {
		text = strings.TrimRight(text, " \r\n\t")
	}
	return text
}

func (r *renderer) output(n *nodes.Output) error {
	expression := n.Expression
	if n.Condition != nil {
		condition, err := r.value(n.Condition)
		if err != nil {
			return err
		}
		if expression = n.Alternative; condition.IsTrue() {
			expression = n.Expression
		}
	}
	if expression == nil {
		return nil
	}
	value, err := r.value(expression)
	if err != nil {
		return err
	}
	if size(value.Interface(), maxOutput) > maxOutput {
		return &Error{n.Start.Line, fmt.Sprintf("the expression gives more than %d bytes", maxOutput)}
	}
	return r.write(value.String(), n.Start.Line)
}

func (r *renderer) write(text string, line int) error {
	if r.out.Len()+len(text) > maxOutput {
		return &Error{line, fmt.Sprintf("the template renders to more than %d bytes", maxOutput)}
	}
	r.out.WriteString(text)
	return nil
}

// value evaluates an expression; each evaluation is a step.
func (r *renderer) value(n nodes.Expression) (*exec.Value, error) {
	if err := r.step(n); err != nil {
		return nil, err
	}
	v := (&exec.Evaluator{Config: dialect(), Environment: r.scope}).Eval(n)
	if v.IsError() {
		e := failure(v).(*Error)
		e.Line = line(n)
		return nil, e
	}
	return v, nil
}

func (r *renderer) step(n nodes.Node) error {
	if *r.steps++; *r.steps > maxSteps {
		return &Error{line(n), fmt.Sprintf("the template takes more than %d steps", maxSteps)}
	}
	return nil
}

// line is the line of a node, 0 when it does not know.
func line(n nodes.Node) (at int) {
	defer func() { _ = recover() }() // some nodes of the library have a place only when they have parts
	if t := n.Position(); t != nil {
		at = t.Line
	}
	return at
}
