package definition

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// decoder turns the tree of a text into Go values and notes everything that does not fit, never stopping at the
// first.
type decoder struct {
	*source
	anchors map[string]ast.Node
	visited int
	depth   int
	refused bool      // the bound on visited nodes was reached and said
	part    bool      // the text is included by another
	include string    // of the key whose map comes next
	lifted  []Include // from below tests
	loose   bool      // nothing is required here: a template
	options *Options
}

// element is a value that reads itself from a node and tells its own shape. What is not an element is a struct whose
// fields have a "key" tag.
type element interface {
	decode(d *decoder, n ast.Node)
	shape() shape
}

func (d *decoder) fail(n ast.Node, hint, format string, args ...any) {
	d.source.fail(d.at(n), hint, format, args...)
}

// at is the place of a node; of a map in block style, that of its first key.
func (d *decoder) at(n ast.Node) Pos {
	switch n := n.(type) {
	case nil:
		return d.pos(1, 1)
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return d.position(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return d.position(n.Key.GetToken())
	}
	return d.position(n.GetToken())
}

// into decodes a node into v, a pointer to an element or to a struct with keys.
func (d *decoder) into(n ast.Node, v any) {
	n, ok := d.enter(n)
	if !ok {
		return
	}
	defer func() { d.depth-- }()
	if e, ok := v.(element); ok {
		e.decode(d, n)
		return
	}
	d.object(n, reflect.ValueOf(v).Elem())
}

// enter resolves anchors, aliases and tags, and counts, so that aliases of aliases cannot multiply without bound.
func (d *decoder) enter(n ast.Node) (ast.Node, bool) {
	d.visited++
	d.depth++
	if d.refused || d.visited > maxNodes || d.depth > 3*maxDepth {
		if !d.refused {
			d.refused = true
			d.fail(n, "", "the definition expands to more than %d values, or contains itself", maxNodes)
		}
		d.depth--
		return nil, false
	}
	plain, ok := d.resolve(n)
	if !ok || d.full() {
		d.depth--
		return nil, false
	}
	return plain, true
}

func (d *decoder) resolve(n ast.Node) (ast.Node, bool) {
	for range maxDepth {
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			name := node.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.fail(n, nearest(name, keysOf(d.anchors)), "unknown alias *%s", name)
				return nil, false
			}
			n = target
		case *ast.TagNode:
			d.fail(n, "remove the tag", "YAML tags such as %q have no meaning here", shorten(node.Start.Value, 40))
			return nil, false
		default:
			return n, true
		}
	}
	d.fail(n, "", "an alias refers to itself")
	return nil, false
}

// entry is one key of a map with its value, merge keys expanded.
type entry struct {
	name  string
	at    Pos
	value ast.Node
}

// entries lists a map's entries in order; a key given twice is a problem, a merged key gives way to the map's own.
func (d *decoder) entries(n ast.Node, what string) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.fail(n, "", "expected %s, found %s", what, describe(n))
		return nil, false
	}
	if len(values) > maxKeys {
		d.fail(n, "", "found a map with more than %d keys", maxKeys)
		return nil, false
	}
	var own, merged []entry
	seen := map[string]Pos{}
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, d.merged(v.Value)...)
			continue
		}
		e := entry{name: keyText(v.Key), at: d.position(v.Key.GetToken()), value: v.Value}
		if first, twice := seen[e.name]; twice {
			d.source.fail(e.at, "", "key %q is given twice, first in line %d", shorten(printable(e.name), 60), first.Line)
			continue
		}
		seen[e.name] = e.at
		own = append(own, e)
	}
	for _, e := range merged {
		if _, given := seen[e.name]; !given {
			seen[e.name] = e.at
			own = append(own, e)
		}
	}
	return own, true
}

func (d *decoder) merged(n ast.Node) []entry {
	n, ok := d.enter(n)
	if !ok {
		return nil
	}
	defer func() { d.depth-- }()
	list, isList := n.(*ast.SequenceNode)
	if !isList {
		found, _ := d.entries(n, "a map to merge")
		d.visited += len(found)
		return found
	}
	var out []entry
	for _, one := range list.Values {
		out = append(out, d.merged(one)...)
	}
	return out
}

// keyText is a key as written.
func keyText(key ast.MapKeyNode) string {
	if node, ok := key.(ast.Node); ok {
		if text, ok := scalarText(node); ok {
			return text
		}
	}
	return key.GetToken().Value
}

// object decodes a map into a struct by its fields' "key" tags. An unknown key is a problem.
func (d *decoder) object(n ast.Node, v reflect.Value) {
	keys := keysOfType(v.Type())
	found, ok := d.entries(n, "a map with "+enumerate(names(keys), 6))
	if !ok {
		return
	}
	d.fields(n, found, keys, v)
	for _, k := range keys {
		if k.missing(found) && !d.partial(k) {
			d.fail(n, "for example "+k.name+": "+k.example, "key %q is missing", k.name)
		}
	}
}

// fields decodes entries into the fields of a struct.
func (d *decoder) fields(n ast.Node, found []entry, keys []key, v reflect.Value) {
	if at := v.FieldByName("At"); at.IsValid() {
		at.Set(reflect.ValueOf(d.at(n)))
	}
	for _, e := range found {
		k, known := lookup(keys, e.name)
		if !known {
			d.source.fail(e.at, nearest(e.name, names(keys)), "unknown key %q, expected one of %s",
				shorten(printable(e.name), 60), strings.Join(names(keys), ", "))
			continue
		}
		if k.top && d.part {
			d.source.fail(e.at, "write it in the definition itself", "key %q has no place in a file that is included", k.name)
			continue
		}
		d.include = k.include
		d.into(e.value, v.Field(k.index).Addr().Interface())
	}
}

// partial reports whether a required key may be missing: in a template, or in a file that is included.
func (d *decoder) partial(k key) bool { return d.loose || k.top && d.part }
