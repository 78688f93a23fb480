package jinja

import (
	"fmt"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// statement is a parsed {% … %}.
type statement interface {
	nodes.ControlStructure
	render(r *renderer) error
}

// statements is the table of the statements that there are.
type statements struct{}

// Get implements parser.ControlStructureGetter.
func (statements) Get(name string) (parser.ControlStructureParser, bool) {
	p, ok := map[string]parser.ControlStructureParser{
		"if": parseIf, "for": parseFor, "set": parseSet, "raw": parseRaw,
	}[name]
	return p, ok
}

// place is where a statement stands.
type place struct{ token *tokens.Token }

func (p place) Position() *tokens.Token { return p.token }
func (p place) String() string          { return "statement" }

// branch is one condition of an if with what it guards; the condition of an else is nil.
type branch struct {
	condition nodes.Expression
	body      []nodes.Node
}

type ifStatement struct {
	place
	branches []branch
}

func parseIf(p, args *parser.Parser) (nodes.ControlStructure, error) {
	s := &ifStatement{place: place{args.Current()}}
	for {
		condition, err := only(args)
		if err != nil {
			return nil, err
		}
		body, tag, err := p.WrapUntil("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		s.branches = append(s.branches, branch{condition, body.Nodes})
		if body.EndTag == "endif" {
			return s, nil
		}
		if body.EndTag == "else" {
			rest, _, err := p.WrapUntil("endif")
			if err != nil {
				return nil, err
			}
			s.branches = append(s.branches, branch{body: rest.Nodes})
			return s, nil
		}
		args = tag
	}
}

// only parses an expression that must be all there is.
func only(args *parser.Parser) (nodes.Expression, error) {
	e, err := args.ParseExpression()
	if err != nil {
		return nil, err
	}
	if !args.End() {
		return nil, args.Error("Unexpected text after the expression", args.Current())
	}
	return e, nil
}

func (s *ifStatement) render(r *renderer) error {
	for _, b := range s.branches {
		if b.condition == nil {
			return r.all(b.body)
		}
		v, err := r.value(b.condition)
		if err != nil {
			return err
		}
		if v.IsTrue() {
			return r.all(b.body)
		}
	}
	return nil
}

type setStatement struct {
	place
	name       string
	expression nodes.Expression
}

func parseSet(_, args *parser.Parser) (nodes.ControlStructure, error) {
	name := args.Match(tokens.Name)
	if name == nil || args.Match(tokens.Assign) == nil {
		return nil, args.Error("Expected {% set name = expression %}", args.Current())
	}
	e, err := only(args)
	if err != nil {
		return nil, err
	}
	return &setStatement{place{name}, name.Val, e}, nil
}

func (s *setStatement) render(r *renderer) error {
	v, err := r.value(s.expression)
	if err != nil {
		return err
	}
	if size(v.Interface(), maxValue) > maxValue {
		return &Error{s.token.Line, fmt.Sprintf("the variable %s would hold more than %d bytes", s.name, maxValue)}
	}
	r.scope.Context.Set(s.name, v.Interface())
	return nil
}

type rawStatement struct {
	place
	body []nodes.Node
}

func parseRaw(p, args *parser.Parser) (nodes.ControlStructure, error) {
	body, _, err := p.WrapUntil("endraw")
	if err != nil {
		return nil, err
	}
	return &rawStatement{place{args.Current()}, body.Nodes}, nil
}

func (s *rawStatement) render(r *renderer) error { return r.all(s.body) }

// numbers is range(), of a bounded number of numbers.
func numbers(_ *exec.Evaluator, p *exec.VarArgs) ([]any, error) {
	given := []int{}
	for _, a := range p.Args {
		if !a.IsInteger() {
			return nil, fmt.Errorf("range() takes integers, found %s", a.String())
		}
		given = append(given, a.Integer())
	}
	from, to, step := 0, 0, 1
	switch len(given) {
	case 1:
		to = given[0]
	case 2:
		from, to = given[0], given[1]
	case 3:
		from, to, step = given[0], given[1], given[2]
	default:
		return nil, fmt.Errorf("range() takes one to three integers, found %d", len(given))
	}
	if step == 0 {
		return nil, fmt.Errorf("range() cannot go in steps of 0")
	}
	out := []any{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(out) == maxRange {
			return nil, fmt.Errorf("range() of more than %d numbers", maxRange)
		}
		out = append(out, i)
	}
	return out, nil
}
