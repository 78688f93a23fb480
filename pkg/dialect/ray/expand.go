package ray

import (
	"errors"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// The bounds of what the definitions of a file may expand to.
const (
	maxTests  = 10_000
	maxValues = 500_000 // of all tests together
)

// raw is one test after expansion, before anything is known about its keys.
type raw struct {
	node       *pyyaml.Node
	definition string // the name that it had in the file
	suffix     string
	matrix     map[string]string
	problem    *Problem // why it could not be expanded
}

// expander expands the definitions of one file.
type expander struct {
	*notes
	defaults    *pyyaml.Node
	definitions int
	modern      pyyaml.Pos // of the first DEFAULTS or matrix, which Ray knows since 2025; without a line there is none
	out         []raw
	values      int // of what was expanded so far
	full        bool
}

// file expands a file's definitions in order.
func (x *expander) file(root *pyyaml.Node) {
	switch {
	case root.Kind == pyyaml.Null:
		x.refuse(root.At, "the file is empty, expected a list of test definitions")
		return
	case root.Kind != pyyaml.List:
		x.refuse(root.At, "expected a list of test definitions, found %s; is this a release test file?", kindName(root))
		return
	}
	for _, one := range root.Items {
		if x.full {
			return
		}
		failures, told := x.failures, len(x.problems)
		x.entry(one)
		if x.failures > failures {
			x.broken(one, told)
		}
	}
}

// broken keeps what can be told of a definition that did not expand, or not wholly.
func (x *expander) broken(n *pyyaml.Node, told int) {
	why := Problem{Message: "there is more wrong with the suite than is told"}
	if told < len(x.problems) {
		why = x.problems[told]
	}
	if x.defaults != nil && n.Kind == pyyaml.Map {
		if merged, err := merge(x.defaults.Without("name"), n); err == nil {
			merged.At = n.At
			n = merged
		}
	}
	x.add(raw{node: n.Without("variations").Without("matrix"), definition: nameOf(n), problem: &why})
}

// note keeps the place of the first word that Ray knows since 2025.
func (x *expander) note(at pyyaml.Pos) {
	if x.modern.Line == 0 {
		x.modern = at
	}
}

func kindName(n *pyyaml.Node) string {
	if n.Kind == pyyaml.Map {
		return "a map"
	}
	return pyyaml.Repr(n)
}

// entry expands one definition; one that is named DEFAULTS lies under every definition after it, until the next.
func (x *expander) entry(n *pyyaml.Node) {
	if n.Kind != pyyaml.Map {
		x.fail(n.At, nameOf(n), "%s is not of type 'object'", pyyaml.Repr(n))
		return
	}
	if name := n.Get("name"); name != nil && name.Kind == pyyaml.String && name.Text == "DEFAULTS" {
		x.defaults = n
		x.note(n.At)
		return
	}
	x.definitions++
	if n.Has("matrix") && n.Has("variations") {
		x.fail(place(n, "matrix"), nameOf(n), "You can't specify both 'matrix' and 'variations' in a test definition")
		return
	}
	if x.defaults != nil {
		merged, ok := x.merged(x.defaults.Without("name"), n, nameOf(n))
		if !ok {
			return
		}
		merged.At = n.At
		n = merged
	}
	switch {
	case n.Has("variations"):
		x.variations(n)
	case n.Has("matrix"):
		x.matrix(n)
	default:
		x.add(raw{node: n, definition: nameOf(n)})
	}
}

func nameOf(n *pyyaml.Node) string {
	name := n.Get("name")
	if name == nil || name.Kind >= pyyaml.List {
		return "(unnamed)"
	}
	return pyyaml.Str(name)
}

// add keeps a test, unless the file has expanded to too much; then it is said once and nothing more is expanded.
func (x *expander) add(r raw) {
	if x.full {
		return
	}
	x.values += values(r.node, maxValues)
	if len(x.out) == maxTests || x.values > maxValues {
		x.full = true
		x.refuse(r.node.At, "the file expands to more than %d tests or %d values", maxTests, maxValues)
		return
	}
	x.out = append(x.out, r)
}

// values counts the values of a tree, up to about limit.
func values(n *pyyaml.Node, limit int) int {
	total := 1
	for _, item := range n.Items {
		if total <= limit {
			total += values(item, limit-total)
		}
	}
	for _, e := range n.Entries {
		if total <= limit {
			total += 1 + values(e.Value, limit-total)
		}
	}
	return total
}

// merged lays one map over another and notes where that is not possible.
func (x *expander) merged(under, over *pyyaml.Node, test string) (*pyyaml.Node, bool) {
	out, err := merge(under, over)
	var cannot *cannotMerge
	if errors.As(err, &cannot) {
		x.fail(cannot.at, test, "%s", cannot.Error())
		return nil, false
	}
	return out, true
}

// variations makes a test of each variation, laid over the definition.
func (x *expander) variations(n *pyyaml.Node) {
	name, list := nameOf(n), n.Get("variations")
	base := n.Without("variations")
	if list.Kind == pyyaml.Null || list.Kind == pyyaml.List && len(list.Items) == 0 {
		x.fail(list.At, name, "%s has invalid definition: variations field cannot be empty in a test definition", name)
		return
	}
	if list.Kind != pyyaml.List {
		x.fail(list.At, name, "%s is not of type 'array'", pyyaml.Repr(list))
		return
	}
	for _, v := range list.Items {
		if x.full {
			return
		}
		if v.Kind != pyyaml.Map {
			x.fail(v.At, name, "%s is not of type 'object'", pyyaml.Repr(v))
			continue
		}
		suffix := v.Get("__suffix__")
		if suffix == nil {
			x.fail(v.At, name, "%s has invalid definition: missing __suffix__ field in a variation", name)
			continue
		}
		text := pyyaml.Str(suffix)
		named := base.With("name", pyyaml.NewString(name+"."+text, place(base, "name")))
		if out, ok := x.merged(named, v.Without("__suffix__"), name+"."+text); ok {
			x.add(raw{node: out, definition: name, suffix: text})
		}
	}
}

// replaceAll puts values for "{{ name }}" into every string of a tree.
func replaceAll(n *pyyaml.Node, values []binding) *pyyaml.Node {
	out := *n
	switch n.Kind {
	case pyyaml.String:
		if !strings.Contains(n.Text, "{{") {
			return n
		}
		for _, b := range values {
			out.Text = b.pattern.ReplaceAllLiteralString(out.Text, b.value)
		}
	case pyyaml.List:
		out.Items = make([]*pyyaml.Node, len(n.Items))
		for i, item := range n.Items {
			out.Items[i] = replaceAll(item, values)
		}
	case pyyaml.Map:
		out.Entries = make([]pyyaml.Entry, len(n.Entries))
		for i, e := range n.Entries {
			out.Entries[i] = pyyaml.Entry{Key: e.Key, Value: replaceAll(e.Value, values)}
		}
	default:
		return n
	}
	return &out
}
