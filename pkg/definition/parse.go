package definition

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Parse reads a definition and checks everything that can be checked without a change: the error is an Errors with
// every problem of the text. The file's name is only for messages.
func Parse(file string, src []byte) (*Definition, error) {
	text := string(src)
	s := newSource(file, text)
	body := parseText(s)
	if body == nil {
		return nil, s.problems.orNil()
	}
	d := &decoder{source: s, anchors: map[string]ast.Node{}}
	ast.Walk(anchorCollector{d}, body)
	def := &Definition{Digest: release.DigestOf(src), source: s}
	d.into(body, def)
	if !d.refused && !s.full() {
		check(def, s)
	}
	if err := s.problems.orNil(); err != nil {
		return nil, err
	}
	return def, nil
}

// anchorCollector remembers every anchor; one name means one thing in a text.
type anchorCollector struct{ d *decoder }

// Visit implements ast.Visitor.
func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		name := a.Name.GetToken().Value
		if _, twice := c.d.anchors[name]; twice {
			c.d.fail(a, "", "anchor &%s is given twice", shorten(name, 40))
		}
		c.d.anchors[name] = a.Value
	}
	return c
}
