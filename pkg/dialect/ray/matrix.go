package ray

import (
	"regexp"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// binding is a variable of a matrix with the value that it has in one test.
type binding struct {
	name, value string
	pattern     *regexp.Regexp
}

// axis is a variable of a matrix with all its values.
type axis struct {
	name    string
	pattern *regexp.Regexp
	values  []*pyyaml.Node
}

// maxMatrix bounds the tests of one matrix.
const maxMatrix = 2_000

// matrix makes a test of each combination of the values, and then one of each adjustment.
func (x *expander) matrix(n *pyyaml.Node) {
	x.note(n.At)
	name, m, base := nameOf(n), n.Get("matrix"), n.Without("matrix")
	axes, ok := x.axes(m, name)
	if !ok {
		return
	}
	total := 1
	for _, a := range axes {
		if total *= len(a.values); total > maxMatrix {
			x.fail(m.At, name, "the matrix has more than %d combinations", maxMatrix)
			return
		}
	}
	for i := range total {
		x.combination(base, name, pick(axes, i, total))
	}
	for _, a := range x.adjustments(m, name) {
		if values, ok := x.adjusted(a, axes, name); ok {
			x.combination(base, name, values)
		}
	}
}

// pick returns the i-th combination; the last variable changes fastest.
func pick(axes []axis, i, total int) []binding {
	out := make([]binding, len(axes))
	for j, a := range axes {
		total /= len(a.values)
		out[j] = binding{a.name, pyyaml.Str(a.values[i/total%len(a.values)]), a.pattern}
	}
	return out
}

func (x *expander) combination(base *pyyaml.Node, name string, values []binding) {
	if x.full {
		return
	}
	r := raw{node: replaceAll(base, values), definition: name, matrix: map[string]string{}}
	for _, b := range values {
		r.matrix[b.name] = b.value
	}
	x.add(r)
}

func (x *expander) axes(m *pyyaml.Node, test string) ([]axis, bool) {
	setup := m.Get("setup")
	if m.Kind != pyyaml.Map || setup == nil || setup.Kind != pyyaml.Map || len(setup.Entries) == 0 {
		x.fail(m.At, test, "the matrix has no setup; write setup: {variable: [value, ...]}")
		return nil, false
	}
	var out []axis
	ok := true
	for _, e := range setup.Entries {
		if e.Value.Kind != pyyaml.List {
			x.fail(e.Value.At, test, "%s is not of type 'array'", pyyaml.Repr(e.Value))
			ok = false
			continue
		}
		name := pyyaml.Str(e.Key)
		out = append(out, axis{name, regexp.MustCompile(`\{\{\s*` + regexp.QuoteMeta(name) + `\s*\}\}`), e.Value.Items})
	}
	return out, ok
}

func (x *expander) adjustments(m *pyyaml.Node, test string) []*pyyaml.Node {
	list := m.Get("adjustments")
	if list == nil || list.Kind == pyyaml.Null {
		return nil
	}
	if list.Kind != pyyaml.List {
		x.fail(list.At, test, "%s is not of type 'array'", pyyaml.Repr(list))
	}
	return list.Items
}

// adjusted reads the values of an adjustment, which must name every variable and no other.
func (x *expander) adjusted(a *pyyaml.Node, axes []axis, test string) ([]binding, bool) {
	with := a.Get("with")
	if with == nil || with.Kind != pyyaml.Map || len(with.Entries) != len(axes) {
		x.fail(a.At, test, "You need to specify all matrix variables in the adjustment.")
		return nil, false
	}
	var out []binding
	for _, axis := range axes {
		value := with.Get(axis.name)
		if value == nil {
			x.fail(a.At, test, "You need to specify all matrix variables in the adjustment.")
			return nil, false
		}
		out = append(out, binding{axis.name, pyyaml.Str(value), axis.pattern})
	}
	return out, true
}
