package jinja

import (
	"fmt"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

type forStatement struct {
	place
	key, value string // value: of "for key, value in a.items()"
	over       nodes.Expression
	when       nodes.Expression // may be nil
	body       []nodes.Node
	otherwise  []nodes.Node
}

func parseFor(p, args *parser.Parser) (nodes.ControlStructure, error) {
	s := &forStatement{place: place{args.Current()}}
	if err := s.head(args); err != nil {
		return nil, err
	}
	body, _, err := p.WrapUntil("else", "endfor")
	if err != nil {
		return nil, err
	}
	s.body = body.Nodes
	if body.EndTag == "else" {
		rest, _, err := p.WrapUntil("endfor")
		if err != nil {
			return nil, err
		}
		s.otherwise = rest.Nodes
	}
	return s, nil
}

func (s *forStatement) head(args *parser.Parser) (err error) {
	expected := "Expected {% for name in expression %}"
	name := args.Match(tokens.Name)
	if name == nil {
		return args.Error(expected, args.Current())
	}
	s.key = name.Val
	if args.Match(tokens.Comma) != nil {
		if name = args.Match(tokens.Name); name == nil {
			return args.Error(expected, args.Current())
		}
		s.value = name.Val
	}
	if args.Match(tokens.In) == nil {
		return args.Error(expected, args.Current())
	}
	if s.over, err = args.ParseExpression(); err != nil {
		return err
	}
	if args.MatchName("if") != nil {
		if s.when, err = args.ParseExpression(); err != nil {
			return err
		}
	}
	if !args.End() {
		return args.Error("Unexpected text after the loop's expression", args.Current())
	}
	return nil
}

func (s *forStatement) render(r *renderer) error {
	over, err := r.value(s.over)
	if err != nil {
		return err
	}
	items, err := s.items(r, over)
	if err != nil {
		return err
	}
	for i, inner := range items {
		inner.scope.Context.Set("loop", map[string]any{
			"index": i + 1, "index0": i, "first": i == 0, "last": i == len(items)-1, "length": len(items),
			"revindex": len(items) - i, "revindex0": len(items) - i - 1,
		})
		if err := inner.all(s.body); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		return r.all(s.otherwise)
	}
	return nil
}

// items makes a renderer for each round, with the loop's variables set.
func (s *forStatement) items(r *renderer, over *exec.Value) (rounds []*renderer, err error) {
	if !over.IsNil() && !over.IsIterable() {
		return nil, &Error{s.token.Line, fmt.Sprintf("cannot loop over %.40q", over.String())}
	}
	// A map has no order of its own in Go; by key, the same template always renders to the same text.
	over.IterateOrder(func(_, _ int, key, value *exec.Value) bool {
		inner := r.inner()
		if err = s.bind(inner, key, value); err != nil {
			return false
		}
		wanted := true
		if s.when != nil {
			var v *exec.Value
			if v, err = inner.value(s.when); err != nil {
				return false
			}
			wanted = v.IsTrue()
		}
		if wanted {
			rounds = append(rounds, inner)
		}
		return true
	}, func() {}, false, over.IsDict(), true)
	return rounds, err
}

func (s *forStatement) bind(inner *renderer, key, value *exec.Value) error {
	if err := inner.step(s); err != nil {
		return err
	}
	if size(key.Interface(), maxValue) > maxValue {
		return &Error{s.token.Line, fmt.Sprintf("the loop's variable %s would hold more than %d bytes", s.key, maxValue)}
	}
	scope := inner.scope.Context
	if s.value != "" && value == nil && key.CanSlice() && key.Len() == 2 {
		scope.Set(s.key, key.Index(0).Interface())
		scope.Set(s.value, key.Index(1).Interface())
		return nil
	}
	scope.Set(s.key, key.Interface())
	if s.value != "" && value != nil {
		scope.Set(s.value, value.Interface())
	}
	return nil
}
