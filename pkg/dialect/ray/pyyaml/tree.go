package pyyaml

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node makes a value of a part of the tree; once something failed it makes nulls.
func (r *reader) node(n ast.Node, depth int) *Node {
	if depth > 3*maxDepth {
		r.fail(r.at(n.GetToken()), "found more than %d levels of nesting", maxDepth)
	}
	if r.failed != nil {
		return &Node{size: 1}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n, n.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		return r.list(n, depth)
	case *ast.AnchorNode:
		out := r.node(n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = out // a name that is given again means the later one from here on
		return out
	case *ast.AliasNode:
		return r.alias(n)
	case *ast.TagNode:
		return r.tagged(n, depth)
	default:
		return r.scalar(n)
	}
}

func (r *reader) alias(n *ast.AliasNode) *Node {
	name := n.Value.GetToken().Value
	target, ok := r.anchors[name]
	if !ok {
		r.fail(r.at(n.GetToken()), "found undefined alias '%s'", oneLine(name))
		return &Node{size: 1}
	}
	return target
}

func (r *reader) scalar(n ast.Node) *Node {
	at := r.at(n.GetToken())
	switch n := n.(type) {
	case *ast.LiteralNode:
		return NewString(n.Value.Value, at)
	case *ast.StringNode:
		if n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType {
			return NewString(n.Value, at)
		}
		return plain(n.Value, at)
	case *ast.NullNode:
		return &Node{Kind: Null, At: at, size: 1}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.MergeKeyNode:
		return plain(n.GetToken().Value, at)
	default:
		r.fail(at, "cannot read YAML: found %s where a value belongs", n.Type())
		return &Node{size: 1}
	}
}

// tagged knows the tags of YAML's own types; PyYAML's safe loader refuses all others.
func (r *reader) tagged(n *ast.TagNode, depth int) *Node {
	tag := n.Start.Value
	kinds := map[string]Kind{
		"!!str": String, "!!int": Int, "!!float": Float, "!!bool": Bool, "!!null": Null, "!!map": Map, "!!seq": List,
	}
	kind, known := kinds[tag]
	if !known {
		r.fail(r.at(n.Start), "could not determine a constructor for the tag %s", ReprString(oneLine(tag)))
		return &Node{size: 1}
	}
	if n.Value == nil {
		return NewString("", r.at(n.Start))
	}
	out := *r.node(n.Value, depth+1)
	if kind == String && out.Kind < List {
		return NewString(out.Text, out.At)
	}
	if out.Kind == String {
		out = *plain(out.Text, out.At)
	}
	if kind == Float && out.Kind == Int {
		out.Kind, out.Float = Float, float64(out.Int)
	}
	if out.Kind != kind && r.failed == nil {
		r.fail(out.At, "found %s, which the tag %s does not fit", Repr(&out), tag)
	}
	return &out
}

func (r *reader) list(n *ast.SequenceNode, depth int) *Node {
	out := &Node{Kind: List, At: r.at(n.GetToken()), size: 1}
	for _, item := range n.Values {
		one := r.node(item, depth+1)
		out.Items = append(out.Items, one)
		r.grow(out, one.size)
	}
	return out
}

// grow counts what a node expands to, so that aliases of aliases cannot multiply without bound.
func (r *reader) grow(n *Node, by int) {
	n.size = min(n.size+by, 2*maxNodes)
	if n.size > maxNodes {
		r.fail(n.At, "the file expands to more than %d values", maxNodes)
	}
}

// mapping reads a map as PyYAML does: a key that is given twice has its last value, merged keys give way to the map's own.
func (r *reader) mapping(n ast.Node, values []*ast.MappingValueNode, depth int) *Node {
	out := &Node{Kind: Map, At: r.mapAt(n, values), size: 1}
	if len(values) > maxKeys {
		r.fail(out.At, "found a map with more than %d keys", maxKeys)
	}
	var merged []Entry
	index := map[string]int{}
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, r.merged(v.Value, depth+1)...)
			continue
		}
		e := Entry{Key: r.key(v.Key, depth+1), Value: r.node(v.Value, depth+1)}
		r.put(out, index, e, true)
	}
	for _, e := range merged {
		r.put(out, index, e, false)
	}
	return out
}

// put adds an entry. One whose key is there replaces it when it is the map's own, and is left out when it is merged.
func (r *reader) put(n *Node, index map[string]int, e Entry, own bool) {
	if r.failed != nil {
		return
	}
	hash := e.Key.Text
	if v, ok := e.Key.number(); ok {
		hash = "\x00" + floatText(v)
	}
	i, there := index[hash]
	if there && !same(n.Entries[i].Key, e.Key) {
		there = false
		for j := range n.Entries {
			if same(n.Entries[j].Key, e.Key) {
				i, there = j, true
			}
		}
	}
	switch {
	case !there:
		index[hash] = len(n.Entries)
		n.Entries = append(n.Entries, e)
		r.grow(n, 1+e.Value.size)
	case own:
		r.warn(e.Key.At, "key %s is given twice, first in line %d; the last one counts", Repr(e.Key), n.Entries[i].Key.At.Line)
		if e.Key.Kind != n.Entries[i].Key.Kind {
			e.Key = n.Entries[i].Key // as a Python dict: {True: 1} with 1 set stays {True: …}
		}
		n.Entries[i] = e
		r.grow(n, e.Value.size)
	}
}

// mapAt is the place of a map: of one in block style, that of its first key.
func (r *reader) mapAt(n ast.Node, values []*ast.MappingValueNode) Pos {
	if m, ok := n.(*ast.MappingNode); ok && (m.IsFlowStyle || len(values) == 0) {
		return r.at(n.GetToken())
	}
	return r.at(values[0].Key.GetToken())
}

func (r *reader) key(k ast.MapKeyNode, depth int) *Node {
	n, ok := k.(ast.Node)
	if !ok {
		return NewString(k.GetToken().Value, r.at(k.GetToken()))
	}
	if explicit, ok := n.(*ast.MappingKeyNode); ok {
		n = explicit.Value
	}
	out := r.node(n, depth)
	if out.Kind >= List {
		r.fail(out.At, "found unhashable key: a key is a string, a number or another scalar")
	}
	return out
}

// merged lists what a "<<" brings: of several maps the first one's values count.
func (r *reader) merged(n ast.Node, depth int) []Entry {
	value := r.node(n, depth)
	switch value.Kind {
	case Map:
		return value.Entries
	case List:
		var out []Entry
		for _, one := range value.Items {
			if one.Kind != Map {
				r.fail(one.At, "expected a mapping for merging, but found %s", Repr(one))
				return nil
			}
			out = append(out, one.Entries...)
		}
		return out
	default:
		r.fail(value.At, "expected a mapping or list of mappings for merging, but found %s", Repr(value))
		return nil
	}
}
