package schedule

import (
	"container/heap"
	"math"
)

// account is what somebody has of a pool: a project, an owner in it, or a run. Whoever has the least, measured by
// weight, is next; among equals it is who was served longest ago.
type account struct {
	key      accountKey
	held     int32   // what its attempts weigh together
	weight   float64 // zero: only when nobody else wants anything
	turn     uint64  // of its pool, when it was served last
	born     uint64
	branches []*branch
}

// load is what it would have, measured by its weight, with one more.
func (a *account) load() float64 {
	switch {
	case a.key.level == runs:
		return 0
	case a.weight <= 0:
		return math.Inf(1)
	default:
		return float64(a.held+1) / a.weight
	}
}

func (a *account) before(b *account) bool {
	if x, y := a.load(), b.load(); x != y {
		return x < y
	}
	if a.turn != b.turn {
		return a.turn < b.turn
	}
	return a.born < b.born
}

// moved puts an account where it belongs, wherever it stands.
func (a *account) moved() {
	for _, b := range a.branches {
		if b.index >= 0 {
			heap.Fix(&b.up.parts, b.index)
		}
	}
}

// branch is where an account stands in the order of a shape: projects, below each its owners, below each its runs. A
// branch with nothing in it stands nowhere.
type branch struct {
	account *account
	up      *branch // nil for the root
	parts   branches
	lane    *lane // of a run
	index   int   // in up.parts; -1 when it stands nowhere
}

// below returns the branch of an account in another.
func (b *branch) below(a *account) *branch {
	for _, known := range a.branches {
		if known.up == b {
			return known
		}
	}
	n := &branch{account: a, up: b, index: -1}
	a.branches = append(a.branches, n)
	return n
}

// stand takes a branch that has something in it into the order.
func (b *branch) stand() {
	for ; b.up != nil && b.index < 0; b = b.up {
		heap.Push(&b.up.parts, b)
	}
}

// leave takes an empty branch out of the order, and those above it that are empty then.
func (b *branch) leave() {
	for ; b.up != nil && b.index >= 0 && len(b.parts) == 0; b = b.up {
		heap.Remove(&b.up.parts, b.index)
	}
}

func (b *branch) root() *branch {
	for b.up != nil {
		b = b.up
	}
	return b
}

// first is the lane whose turn it is.
func (b *branch) first() *lane {
	for b.lane == nil {
		b = b.parts[0]
	}
	return b.lane
}

// before compares who is next in two orders: by project, owner and run, and of the same run by age.
func (b *branch) before(o *branch) bool {
	for b.lane == nil {
		b, o = b.parts[0], o.parts[0]
		if b.account != o.account {
			return b.account.before(o.account)
		}
	}
	return b.lane.tasks[0].seq < o.lane.tasks[0].seq
}

type branches []*branch

func (h branches) Len() int           { return len(h) }
func (h branches) Less(i, j int) bool { return h[i].account.before(h[j].account) }
func (h branches) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *branches) Push(x any) {
	b := x.(*branch)
	b.index = len(*h)
	*h = append(*h, b)
}

func (h *branches) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	out.index = -1
	return out
}
