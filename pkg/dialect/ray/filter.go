package ray

import (
	"sort"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Filter selects tests by one attribute: those whose value matches one of the patterns in full.
type Filter struct {
	Attr     string   // a path of keys: "name", "run/type"; or "prefix", the start of the name
	Values   []string // as written: regular expressions, but of prefix plain texts
	patterns []*Pattern
}

// Filters select the tests that every one of them selects.
type Filters []Filter

const prefixAttr = "prefix"

// ParseFilters reads filters as a text: one "attr:regex" per line, split at the first colon, blank lines allowed. Of two
// lines with one attribute the later counts in the generation of 2024, and either may match in that of 2025.
func ParseFilters(text string, g Generation) (Filters, error) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return NewFilters(lines, g)
}

// NewFilters makes filters of a list of "attr:regex".
func NewFilters(lines []string, g Generation) (Filters, error) {
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
		if g == Generation2024 {
			values[attr] = nil
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
	if f.Attr == prefixAttr {
		return nil
	}
	for _, v := range f.Values {
		p, err := CompilePattern(v)
		if err != nil {
			return err
		}
		f.patterns = append(f.patterns, p)
	}
	return nil
}

// Match reports whether every filter selects a test, and if not, which one does not.
func (fs Filters) Match(t *Test) (ok bool, why string) {
	for _, f := range fs {
		if !f.match(t) {
			return false, "the filter " + f.Attr + ":" + cut(strings.Join(f.Values, "|"), 80) + " does not match"
		}
	}
	return true, ""
}

func (f Filter) match(t *Test) bool {
	if f.Attr == prefixAttr {
		for _, v := range f.Values {
			if strings.HasPrefix(t.Name, v) {
				return true
			}
		}
		return false
	}
	candidates := f.candidates(t)
	for i, p := range f.patterns {
		// An empty pattern asks for what the file does not say, whatever the default is.
		if f.Values[i] == "" && !t.Written(f.Attr) {
			return true
		}
		for _, c := range candidates {
			if p.Match(c) {
				return true
			}
		}
	}
	return false
}

// candidates are the forms of a value that a pattern may match: of a truth value Python's and YAML's, of a list each item and
// the whole, of a map its keys with their values.
func (f Filter) candidates(t *Test) []string {
	v := t.Value(f.Attr)
	switch {
	case v == nil || v.Kind == pyyaml.Null:
		return []string{""}
	case v.Kind == pyyaml.Bool:
		return []string{pyyaml.Str(v), strings.ToLower(pyyaml.Str(v))}
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
