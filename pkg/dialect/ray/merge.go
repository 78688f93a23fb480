package ray

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// cannotMerge is a map that would have to be merged over something that is none.
type cannotMerge struct {
	at    pyyaml.Pos
	key   string
	under *pyyaml.Node
}

func (c *cannotMerge) Error() string {
	return fmt.Sprintf("cannot merge the map %s over %s: write a map at both places, or a value", c.key, pyyaml.Repr(c.under))
}

// merge lays a map over another: maps merge, key by key, everything else replaces. Neither of the two is changed.
func merge(under, over *pyyaml.Node) (*pyyaml.Node, error) {
	out := under
	for _, e := range over.Entries {
		if e.Key.Kind != pyyaml.String {
			continue // the schema refuses it where it stands
		}
		value := e.Value
		below := under.Get(e.Key.Text)
		if below != nil && value.Kind == pyyaml.Map {
			if below.Kind != pyyaml.Map {
				return nil, &cannotMerge{e.Key.At, e.Key.Text, below}
			}
			merged, err := merge(below, value)
			if err != nil {
				return nil, err
			}
			merged.At = below.At
			value = merged
		}
		out = out.With(e.Key.Text, value)
	}
	if out == under {
		same := *under
		out = &same
	}
	return out, nil
}

// lookup returns the value at a path of keys, or nil.
func lookup(n *pyyaml.Node, path ...string) *pyyaml.Node {
	for _, key := range path {
		if n = n.Get(key); n == nil {
			return nil
		}
	}
	return n
}

// place is where a value stands, or the nearest map that it is missing from.
func place(n *pyyaml.Node, path ...string) pyyaml.Pos {
	at := n.At
	for _, key := range path {
		if n = n.Get(key); n == nil {
			return at
		}
		at = n.At
	}
	return at
}
