package ray

import (
	"errors"
	"sort"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyre"
	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Filter selects tests by one attribute: those whose file says a value that one of the expressions matches. What several values
// of one attribute mean, and how much of a value must match, is for the rules of the suite to say.
type Filter struct {
	Attr     string   // a path of keys: "name", "run/type"; or "prefix", the start of the name
	Values   []string // as written: regular expressions, but of prefix plain texts
	patterns []*pyre.Expression
}

// Filters select the tests that every one of them selects.
type Filters []Filter

const prefixAttr = "prefix"

// ParseFilters reads filters as a text: one "attr:regex" per line, split at the first colon, blank lines allowed.
func ParseFilters(text string) (Filters, error) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return NewFilters(lines)
}

// NewFilters makes filters of a list of "attr:regex".
func NewFilters(lines []string) (Filters, error) {
	values := map[string][]string{}
	var order []string
	for _, line := range lines {
		attr, value, ok := strings.Cut(line, ":")
		if !ok || attr == "" {
			return nil, fault.New(fault.Invalid, "Invalid test attr regex filter: %.80s. Should be of the form attr:regex", line)
		}
		if values[attr] == nil {
			order = append(order, attr)
		}
		values[attr] = append(values[attr], value)
	}
	out := Filters{}
	for _, attr := range order {
		f := Filter{Attr: attr, Values: values[attr]}
		if err := f.compile(); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (f *Filter) compile() error {
	for _, v := range f.Values {
		p, err := pyre.Compile(v)
		switch {
		case err != nil && f.Attr == prefixAttr:
		case err != nil:
			return fault.New(fault.Invalid, "cannot use the regular expression %.80q: %w", v, err)
		}
		f.patterns = append(f.patterns, p)
	}
	return nil
}

// maxSteps is what the filters may cost for all tests of a suite together.
const maxSteps = 50_000_000

// matcher matches tests by the rules of a suite.
type matcher struct {
	filters Filters
	rules   Rules
	budget  pyre.Budget
}

func newMatcher(filters Filters, rules Rules) *matcher {
	return &matcher{filters, rules, pyre.Budget{Steps: maxSteps}}
}

// match reports whether every filter selects a test, and if not, which one does not.
func (m *matcher) match(t *Test) (ok bool, why string, err error) {
	for _, f := range m.filters {
		ok, err := m.one(f, t)
		switch {
		case err != nil:
			return false, "", fault.New(fault.Invalid, "cannot match the filter %s:%s with the tests: %w", f.Attr, cut(strings.Join(f.Values, "|"), 80), err)
		case !ok:
			return false, "the filter " + f.Attr + ":" + cut(strings.Join(f.Values, "|"), 80) + " does not match" + m.unsaid(f, t), nil
		}
	}
	return true, "", nil
}

// unsaid adds that a test's file does not say what the filter looks at.
func (m *matcher) unsaid(f Filter, t *Test) string {
	if f.Attr == prefixAttr && m.rules.FilterPrefix || t.Written(f.Attr) {
		return ""
	}
	return ": the file does not say it"
}

func (m *matcher) one(f Filter, t *Test) (bool, error) {
	first := 0
	if !m.rules.FilterAny {
		first = len(f.Values) - 1
	}
	for i := first; i < len(f.Values); i++ {
		if f.Attr == prefixAttr && m.rules.FilterPrefix {
			if strings.HasPrefix(t.Name, f.Values[i]) {
				return true, nil
			}
			continue
		}
		if f.patterns[i] == nil {
			continue // of prefix, where that is a key like any other, and this no expression
		}
		ok, err := m.any(f.patterns[i], candidates(t.Value(f.Attr)))
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// any reports whether a pattern matches one of some forms of a value.
func (m *matcher) any(p *pyre.Expression, forms []string) (bool, error) {
	match := p.Full
	if m.rules.FilterStart {
		match = p.Start
	}
	for _, form := range forms {
		if ok, err := match(form, &m.budget); ok || errors.Is(err, pyre.ErrBudget) {
			return ok, err
		}
	}
	return false, nil
}

// candidates are the forms of a value that a pattern may match: of a truth value Python's and YAML's, of a list each item and
// the whole, of a map its keys with their values. What is false, zero or empty is the empty text too, as it is in Ray.
func candidates(v *pyyaml.Node) []string {
	switch {
	case v == nil || v.Kind == pyyaml.Null:
		return []string{""}
	case v.Kind == pyyaml.Bool && !v.Bool:
		return []string{"", pyyaml.Str(v), strings.ToLower(pyyaml.Str(v))}
	case v.Kind == pyyaml.Bool:
		return []string{pyyaml.Str(v), strings.ToLower(pyyaml.Str(v))}
	case v.Kind == pyyaml.Int && v.Int == 0 && v.Big == nil:
		return []string{"", pyyaml.Str(v)}
	case v.Kind == pyyaml.List:
		return append(texts(v), pyyaml.Repr(v))
	case v.Kind == pyyaml.Map:
		return []string{oneLine(v)}
	default:
		return []string{pyyaml.Str(v)}
	}
}

// oneLine is a map as one line, its keys in order.
func oneLine(n *pyyaml.Node) string {
	var parts []string
	for _, e := range n.Entries {
		parts = append(parts, pyyaml.Repr(e.Key)+": "+pyyaml.Repr(e.Value))
	}
	sort.Strings(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}
