package definition

import (
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// List is a YAML list.
type List[T any] []T

func (l *List[T]) decode(d *decoder, n ast.Node) {
	node, ok := n.(*ast.SequenceNode)
	if !ok {
		hint := ""
		if text, scalar := scalarText(n); scalar {
			hint = fmt.Sprintf("write a list: [%s]", shorten(printable(text), 40))
		}
		d.fail(n, hint, "expected a list, found %s", describe(n))
		return
	}
	out := make(List[T], 0, len(node.Values))
	for _, one := range node.Values {
		var v T
		d.into(one, &v)
		out = append(out, v)
	}
	*l = out
}

func (*List[T]) shape() shape {
	item := shapeOf(reflect.TypeFor[T]())
	return shape{name: "list of " + item.name, schema: schemaNode{"type": "array", "items": item.schema}, of: item.of}
}

// Entry is one named value of a Map.
type Entry[T any] struct {
	Name  string
	At    Pos
	Value T
}

// Map is a YAML map with names of the user's choice, in the order of the text.
type Map[T any] []Entry[T]

// Get returns the value of a name.
func (m Map[T]) Get(name string) (*T, bool) {
	for i := range m {
		if m[i].Name == name {
			return &m[i].Value, true
		}
	}
	return nil, false
}

// Names lists the names in order.
func (m Map[T]) Names() []string {
	out := make([]string, len(m))
	for i, e := range m {
		out[i] = e.Name
	}
	return out
}

func (m *Map[T]) decode(d *decoder, n ast.Node) {
	found, ok := d.entries(n, "a map")
	if !ok {
		return
	}
	found = d.lift(found)
	out := make(Map[T], len(found))
	for i, e := range found {
		out[i].Name, out[i].At = e.name, e.at
		d.into(e.value, &out[i].Value)
	}
	*m = out
}

func (*Map[T]) shape() shape {
	item := shapeOf(reflect.TypeFor[T]())
	return shape{
		name:   "map of " + item.name,
		schema: schemaNode{"type": "object", "additionalProperties": item.schema}, of: item.of,
	}
}
