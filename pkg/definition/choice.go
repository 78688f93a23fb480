package definition

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// either is the shape of a value that is short, or a map with the keys of long.
func either(name, def string, short, long any) shape {
	t := reflect.TypeOf(long)
	return shape{name: name, of: t, schema: schemaNode{"anyOf": []schemaNode{
		shapeOf(reflect.TypeOf(short)).schema, {"$ref": "#/$defs/" + def},
	}}}
}

// choice is one of a few words.
type choice struct {
	Value string
	At    Pos
}

func (c *choice) take(d *decoder, n ast.Node, valid []string) {
	c.At = d.at(n)
	text, _ := scalarText(n)
	for _, v := range valid {
		if v == text {
			c.Value = text
			return
		}
	}
	d.fail(n, nearest(text, valid), "expected %s, found %s", orList(valid), describe(n))
}

func orList(valid []string) string {
	switch len(valid) {
	case 0:
		return "nothing"
	case 1:
		return valid[0]
	}
	out := valid[0]
	for _, v := range valid[1 : len(valid)-1] {
		out += ", " + v
	}
	return out + " or " + valid[len(valid)-1]
}

func choiceShape(valid []string) shape {
	return shape{name: orList(valid), schema: schemaNode{"enum": valid}}
}

// Checkout is commit or none.
type Checkout struct{ choice }

func checkouts() []string                         { return []string{"commit", "none"} }
func (c *Checkout) decode(d *decoder, n ast.Node) { c.take(d, n, checkouts()) }
func (*Checkout) shape() shape                    { return choiceShape(checkouts()) }

// Overlap is what becomes of a time of a schedule whose run before has not ended: skip, queue or allow.
type Overlap struct{ choice }

func overlaps() []string                         { return []string{OverlapSkip, OverlapQueue, OverlapAllow} }
func (c *Overlap) decode(d *decoder, n ast.Node) { c.take(d, n, overlaps()) }
func (*Overlap) shape() shape                    { return choiceShape(overlaps()) }

// The values of Overlap. One that is not given is skip.
const (
	OverlapSkip  = "skip"
	OverlapQueue = "queue"
	OverlapAllow = "allow"
)

// TargetKind is what a target is.
type TargetKind struct{ choice }

func targetKinds() []string                         { return []string{"pypi", "pypi-index", "maven", "oci"} }
func (c *TargetKind) decode(d *decoder, n ast.Node) { c.take(d, n, targetKinds()) }
func (*TargetKind) shape() shape                    { return choiceShape(targetKinds()) }

// GateKind is a kind of change that a definition can let publish; which of them may is for release to say.
type GateKind struct{ choice }

func gateKinds() []string {
	return []string{string(release.Push), string(release.Tag), string(release.Manual), string(release.Schedule)}
}
func (c *GateKind) decode(d *decoder, n ast.Node) { c.take(d, n, gateKinds()) }
func (*GateKind) shape() shape                    { return choiceShape(gateKinds()) }

// Stamp is commit, or absent.
type Stamp struct{ choice }

func stamps() []string                         { return []string{"commit"} }
func (c *Stamp) decode(d *decoder, n ast.Node) { c.take(d, n, stamps()) }
func (*Stamp) shape() shape                    { return choiceShape(stamps()) }
