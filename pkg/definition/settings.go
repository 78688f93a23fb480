package definition

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// Setting is a node of the free tree of settings: a scalar, a list, or a map.
type Setting struct {
	At   Pos
	Text string       // of a scalar, as written
	Item any          // of a scalar: string, int64, float64, bool or nil
	Keys Map[Setting] // of a map
	Map  bool         // it is a map, though perhaps empty
	List []Setting    // of a list; nil when it is none

	cause cause
}

func (s *Setting) decode(d *decoder, n ast.Node) {
	s.At = d.at(n)
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		s.Map = true
		s.Keys.decode(d, n)
	case *ast.SequenceNode:
		var list List[Setting]
		list.decode(d, n)
		s.List = list
	default:
		s.Text, s.Item = scalarText2(n)
	}
}

func (*Setting) shape() shape { return shape{name: "anything", schema: schemaNode{}} }

// scalarText2 is the text of a scalar and its value.
func scalarText2(n ast.Node) (string, any) {
	text, _ := scalarText(n)
	switch node := n.(type) {
	case *ast.BoolNode:
		return text, node.Value
	case *ast.IntegerNode:
		if v, err := strconv.ParseInt(text, 0, 64); err == nil {
			return text, v
		}
	case *ast.FloatNode:
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) {
			return text, v
		}
	case *ast.NullNode:
		return "", nil
	}
	return text, text
}

// value is the setting in the form that conditions read.
func (s *Setting) value() any {
	if s.List != nil {
		items := make([]any, len(s.List))
		for i := range s.List {
			items[i] = s.List[i].value()
		}
		return items
	}
	if !s.Map {
		return s.Item
	}
	out := make(map[string]any, len(s.Keys))
	for i := range s.Keys {
		out[s.Keys[i].Name] = s.Keys[i].Value.value()
	}
	return out
}

// text is a leaf as it is recorded: as written, a list as JSON.
func (s *Setting) text() string {
	if s.List == nil {
		return s.Text
	}
	b, err := json.Marshal(s.value())
	if err != nil {
		return ""
	}
	return string(b)
}

// Preset is a named set of overrides.
type Preset struct {
	Extends List[Text]
	Set     Map[Setting] // by path
	before  int          // how many of Set stand before extends
}

func (p *Preset) decode(d *decoder, n ast.Node) {
	found, ok := d.entries(n, "a map of dotted paths")
	if !ok {
		return
	}
	for _, e := range found {
		if e.name == "extends" {
			p.before = len(p.Set)
			d.into(e.value, &p.Extends)
			continue
		}
		one := Entry[Setting]{Name: e.name, At: e.at}
		d.into(e.value, &one.Value)
		p.Set = append(p.Set, one)
	}
}

func (*Preset) shape() shape {
	return shape{name: "map of dotted paths to values, and extends: list of presets", schema: schemaNode{
		"type": "object", "properties": schemaNode{"extends": schemaNode{"type": "array", "items": schemaNode{"type": "string"}}},
	}}
}
