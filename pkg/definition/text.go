package definition

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Text is a scalar as it is written: 3.10 stays "3.10". It knows its place.
type Text struct {
	Value string
	At    Pos
}

func (t Text) String() string { return t.Value }

// Strings returns the values of texts.
func Strings(texts []Text) []string {
	if len(texts) == 0 {
		return nil
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = t.Value
	}
	return out
}

func (t *Text) decode(d *decoder, n ast.Node) {
	t.At = d.at(n)
	value, ok := scalarText(n)
	if !ok {
		d.fail(n, "", "expected text, found %s", describe(n))
		return
	}
	t.Value = value
}

func (*Text) shape() shape {
	return shape{name: "text", schema: schemaNode{"type": []string{"string", "number", "boolean"}}}
}

// scalarText is the text of a scalar as written.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// describe names a node in messages.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	default:
		if text, ok := scalarText(n); ok {
			return fmt.Sprintf("%q", shorten(printable(text), 40))
		}
		return "a " + strings.ToLower(n.Type().String())
	}
}

func shorten(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return string(r[:runes]) + "…"
}

// Bool is true or false.
type Bool struct {
	Value bool
	Set   bool // false when the key is absent
	At    Pos
}

// Or is the value, or the default when the key is absent.
func (b Bool) Or(other bool) bool {
	if !b.Set {
		return other
	}
	return b.Value
}

func (b *Bool) decode(d *decoder, n ast.Node) {
	b.At = d.at(n)
	node, ok := n.(*ast.BoolNode)
	if !ok {
		d.fail(n, "", "expected true or false, found %s", describe(n))
		return
	}
	b.Value, b.Set = node.Value, true
}

func (*Bool) shape() shape {
	return shape{name: "true or false", schema: schemaNode{"type": "boolean"}}
}
