package definition

import (
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Matrix is the axes of a job and the rows added, removed and changed.
type Matrix struct {
	At          Pos
	Axes        []Axis
	Include     List[Map[Text]]
	Exclude     List[Map[Text]]
	Adjustments List[Adjustment]
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
		case "adjustments":
			d.into(e.value, &m.Adjustments)
		default:
			axis := Axis{Name: e.name, At: e.at}
			d.into(e.value, &axis)
			m.Axes = append(m.Axes, axis)
		}
	}
	m.bound(d, n)
}

// maxAxes bounds the different keys of one matrix: every row is asked for every key.
const maxAxes = 100

func (m *Matrix) bound(d *decoder, n ast.Node) {
	names := map[string]bool{}
	for _, a := range m.Axes {
		names[a.Name] = true
	}
	for _, row := range m.Include {
		for _, e := range row {
			names[e.Name] = true
		}
	}
	if len(names) > maxAxes {
		d.fail(n, "", "a matrix has %d different keys, expected at most %d", len(names), maxAxes)
		m.Axes, m.Include = nil, nil
	}
}

func (*Matrix) shape() shape { return matrixShape(true) }

func matrixShape(adjustable bool) shape {
	rows := schemaNode{"type": "array", "items": schemaNode{"type": "object", "additionalProperties": (&Text{}).shape().schema}}
	properties := schemaNode{"include": rows, "exclude": rows}
	out := shape{name: "map of lists, with include and exclude: list of maps", schema: schemaNode{
		"type": "object", "additionalProperties": (&Axis{}).shape().schema, "properties": properties,
	}}
	if adjustable {
		out.name = "map of lists, with include, exclude and adjustments: list of maps"
		properties["adjustments"] = (&List[Adjustment]{}).shape().schema
		out.of = reflect.TypeFor[Adjustment]()
	}
	return out
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

// Adjustment changes the tasks of some rows, or adds a row.
type Adjustment struct {
	At   Pos
	With Map[Text] `key:"with" doc:"Values of the matrix, as globs: the rows that fit are changed. When none does and every key of the matrix is given, the row is added." required:"true" example:"{python: \"3.14\"}"`
	Skip Reason    `key:"skip" doc:"The rows are left out: true, or the reason." example:"not supported yet"`

	change Job // what it says of the job
}

// adjustable lists the keys of a job that an adjustment can change.
func adjustable() []key {
	fixed := []string{"extends", "fetch", "needs", "matrix", "if", "unless", "skip", "outputs", "stamp", "stable", "environment"}
	return slices.DeleteFunc(keysOfType(reflect.TypeFor[Job]()), func(k key) bool { return slices.Contains(fixed, k.name) })
}

func (a *Adjustment) decode(d *decoder, n ast.Node) {
	found, ok := d.entries(n, "a map with with, and keys of a job")
	if !ok {
		return
	}
	a.At = d.at(n)
	var rest []entry
	for _, e := range found {
		switch e.name {
		case "with":
			d.into(e.value, &a.With)
		case "skip":
			d.into(e.value, &a.Skip)
		default:
			rest = append(rest, e)
		}
	}
	d.fields(n, rest, adjustable(), reflect.ValueOf(&a.change).Elem())
	a.change.At = Pos{} // the job stays where it is
	if len(a.With) == 0 && !d.full() {
		d.fail(n, `for example with: {python: "3.14"}`, "an adjustment says which rows it is for: with is missing or empty")
	}
}

func (*Adjustment) shape() shape {
	return shape{name: "adjustment", of: reflect.TypeFor[Adjustment](), schema: schemaNode{"$ref": "#/$defs/adjustment"}}
}

// Reason is true, or why.
type Reason struct {
	At   Pos
	Text string
}

func (r *Reason) decode(d *decoder, n ast.Node) {
	r.At = d.at(n)
	if b, is := n.(*ast.BoolNode); is {
		if !b.Value {
			r.At = Pos{}
		}
		return
	}
	var t Text
	t.decode(d, n)
	r.Text = t.Value
}

func (*Reason) shape() shape {
	return shape{name: "true, or a reason", schema: schemaNode{"type": []string{"boolean", "string"}}}
}
