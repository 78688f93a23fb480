// Package pyyaml reads YAML as PyYAML's safe loader reads it: YAML 1.1, where "yes" is a boolean, 010 is eight and 1e3 is
// a string. Every value keeps its place in the text, so that whatever is wrong with it can be said with line and column.
//
// A text is hostile until it is read: its size, its depth, the length of its maps and what its aliases expand to are bounded.
package pyyaml

import "math/big"

// Pos is a place in a file; lines and columns count from 1, columns in characters.
type Pos struct {
	File         string
	Line, Column int
}

// Kind is what PyYAML makes of a value.
type Kind int

// The kinds of value.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Time
	List
	Map
)

// Node is a value. Nodes are never changed once they are made; two places may share one.
type Node struct {
	Kind    Kind
	At      Pos
	Bool    bool
	Int     int64
	Big     *big.Int // of an Int that int64 does not hold
	Float   float64
	Text    string // of a String its value; of other scalars what was written
	Items   []*Node
	Entries []Entry // in the order of the text, merge keys expanded, no key twice

	size int // of the tree below and with this node, aliases expanded
}

// Entry is one key of a map with its value.
type Entry struct {
	Key   *Node
	Value *Node
}

// Get returns the value of a string key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key.Kind == String && e.Key.Text == key {
			return e.Value
		}
	}
	return nil
}

// Has reports whether a map has a string key.
func (n *Node) Has(key string) bool { return n.Get(key) != nil }

// With returns a map that has key set to value; the place of a key that is there already stays.
func (n *Node) With(key string, value *Node) *Node {
	out := *n
	out.Entries = append([]Entry(nil), n.Entries...)
	for i, e := range out.Entries {
		if e.Key.Kind == String && e.Key.Text == key {
			out.Entries[i].Value = value
			return &out
		}
	}
	out.Entries = append(out.Entries, Entry{NewString(key, value.At), value})
	return &out
}

// Without returns a map that lacks a key.
func (n *Node) Without(key string) *Node {
	out := *n
	out.Entries = nil
	for _, e := range n.Entries {
		if e.Key.Kind != String || e.Key.Text != key {
			out.Entries = append(out.Entries, e)
		}
	}
	return &out
}

// NewString makes a string that stands at a place.
func NewString(text string, at Pos) *Node { return &Node{Kind: String, Text: text, At: at, size: 1} }

// same reports whether two keys are one in a Python dict: 1, 1.0 and True are.
func same(a, b *Node) bool {
	x, numberA := a.number()
	y, numberB := b.number()
	if numberA && numberB {
		return x == y
	}
	return a.Kind == b.Kind && a.Text == b.Text
}

func (n *Node) number() (float64, bool) {
	switch n.Kind {
	case Bool:
		if n.Bool {
			return 1, true
		}
		return 0, true
	case Int:
		return float64(n.Int), n.Big == nil
	case Float:
		return n.Float, true
	default:
		return 0, false
	}
}
