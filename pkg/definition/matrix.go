package definition

import "github.com/goccy/go-yaml/ast"

// Matrix is the axes of a job and the rows added and removed.
type Matrix struct {
	At      Pos
	Axes    []Axis
	Include List[Map[Text]]
	Exclude List[Map[Text]]
}

// Axis is one key of a matrix: a list of values, or a reference to one.
type Axis struct {
	Name   string
	At     Pos
	Values List[Text]
	Ref    string // "pythons" of $pythons, "settings.a.b" of $settings.a.b; "" with a list
}

func (m *Matrix) decode(d *decoder, n ast.Node) {
	m.At = d.at(n)
	found, ok := d.entries(n, "a map of lists")
	if !ok {
		return
	}
	for _, e := range found {
		switch e.name {
		case "include":
			d.into(e.value, &m.Include)
		case "exclude":
			d.into(e.value, &m.Exclude)
		default:
			axis := Axis{Name: e.name, At: e.at}
			d.into(e.value, &axis)
			m.Axes = append(m.Axes, axis)
		}
	}
}

func (*Matrix) shape() shape {
	axis := (&Axis{}).shape().schema
	rows := schemaNode{"type": "array", "items": schemaNode{"type": "object", "additionalProperties": (&Text{}).shape().schema}}
	return shape{name: "map of lists, with include and exclude: list of maps", schema: schemaNode{
		"type": "object", "additionalProperties": axis, "properties": schemaNode{"include": rows, "exclude": rows},
	}}
}

func (a *Axis) decode(d *decoder, n ast.Node) {
	text, scalar := scalarText(n)
	if !scalar {
		a.Values.decode(d, n)
		return
	}
	if len(text) < 2 || text[0] != '$' {
		d.fail(n, "write a list, or $name of a list of definitions", "expected a list or $name, found %s", describe(n))
		return
	}
	a.Ref = text[1:]
}

func (*Axis) shape() shape {
	return shape{name: "list, or $name", schema: schemaNode{"anyOf": []schemaNode{
		{"type": "string", "pattern": `^\$.`}, (&List[Text]{}).shape().schema,
	}}}
}
