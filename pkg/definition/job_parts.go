package definition

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Texts is one text, or a list of them.
type Texts []Text

func (v *Texts) decode(d *decoder, n ast.Node) {
	if _, scalar := scalarText(n); scalar {
		var one Text
		one.decode(d, n)
		*v = Texts{one}
		return
	}
	(*List[Text])(v).decode(d, n)
}

func (*Texts) shape() shape {
	text, list := (&Text{}).shape(), (&List[Text]{}).shape()
	return shape{name: "text, or list of text", schema: schemaNode{"anyOf": []schemaNode{text.schema, list.schema}}}
}

// shortOr decodes a scalar into short, and anything else into the keys of long.
func (d *decoder) shortOr(n ast.Node, short element, long any) {
	if _, scalar := scalarText(n); scalar {
		short.decode(d, n)
		return
	}
	d.object(n, reflect.ValueOf(long).Elem())
}

func (v *Concurrency) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	d.shortOr(n, &v.Group, v)
	if v.Limit.At.Line > 0 && v.Limit.Value < 1 {
		d.source.fail(v.Limit.At, "", "expected a limit from 1, found %d", v.Limit.Value)
	}
}

func (*Concurrency) shape() shape {
	return either("name, or map", "concurrency", Text{}, Concurrency{})
}

func (v *Lease) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	d.shortOr(n, &v.From, v)
	if v.Nodes.At.Line > 0 && (v.Nodes.Value < 1 || v.Nodes.Value > maxPlaces) {
		d.source.fail(v.Nodes.At, "", "expected a number of places between 1 and %d, found %d", maxPlaces, v.Nodes.Value)
	}
}

func (*Lease) shape() shape { return either("name of a provider, or map", "lease", Text{}, Lease{}) }

const maxPlaces = 10_000 // of one lease

func (v *Lease) release() release.LeaseRequest {
	return release.LeaseRequest{Nodes: v.Nodes.Value, Shared: v.Shared.Value, For: v.For.Value}
}

// Phase is a phase of a task.
type Phase struct{ choice }

func phases() []string                         { return []string{"cleanup-first", "prepare", "test", "cleanup"} }
func (c *Phase) decode(d *decoder, n ast.Node) { c.take(d, n, phases()) }
func (*Phase) shape() shape                    { return choiceShape(phases()) }

// Network is what a container may reach.
type Network struct{ choice }

func networks() []string                         { return []string{"none", "full"} }
func (c *Network) decode(d *decoder, n ast.Node) { c.take(d, n, networks()) }
func (*Network) shape() shape                    { return choiceShape(networks()) }

// Sequence is a matrix whose rows are measured one after the other by one task.
type Sequence struct{ Matrix }

func (s *Sequence) decode(d *decoder, n ast.Node) {
	s.Matrix.decode(d, n)
	for _, a := range s.Adjustments {
		d.source.fail(a.At, "", "a sequence has no adjustments: its rows are one task")
	}
}

func (*Sequence) shape() shape {
	s := matrixShape(false)
	return s
}
