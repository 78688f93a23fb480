// Package pyre matches regular expressions of Python's as Python's module re does, lookarounds and back references included.
// Matching goes back and tries again, as Python's does; what it may cost is bounded by a budget of steps, so that no expression
// takes for ever and the same expression gives the same answer on every machine.
package pyre

import (
	"errors"
	"fmt"
)

// MaxSize is how many bytes an expression may have.
const MaxSize = 1_000

// ErrBudget is the answer when the budget is spent.
var ErrBudget = errors.New("the regular expression takes too many steps; write it without repetitions in repetitions")

// Budget is how many steps matches may still take. It is shared by all that are given it.
type Budget struct{ Steps int }

// Expression is a regular expression.
type Expression struct {
	root   node
	groups int
}

// Compile reads a regular expression.
func Compile(text string) (*Expression, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, expected at most %d", len(text), MaxSize)
	}
	p := &parser{text: []rune(text), names: map[string]int{}}
	root, err := p.all()
	if err != nil {
		return nil, err
	}
	return &Expression{root: root, groups: p.groups}, nil
}

// Full reports whether the whole of a text matches.
func (e *Expression) Full(text string, b *Budget) (bool, error) {
	return e.match(text, b, func(m *machine, at int) bool { return at == len(m.text) })
}

// Start reports whether the start of a text matches.
func (e *Expression) Start(text string, b *Budget) (bool, error) {
	return e.match(text, b, func(*machine, int) bool { return true })
}

func (e *Expression) match(text string, b *Budget, end func(*machine, int) bool) (bool, error) {
	m := &machine{text: []rune(text), budget: b, groups: make([]span, e.groups+1)}
	ok := e.root.match(m, 0, func(at int) bool { return end(m, at) })
	if m.spent {
		return false, ErrBudget
	}
	return ok, nil
}

// machine is the state of one match.
type machine struct {
	text   []rune
	groups []span
	budget *Budget
	spent  bool
}

// span is what a group has matched; an end of zero and a start of zero is an empty match, set tells it from none.
type span struct {
	from, to int
	set      bool
}

// step takes one step of the budget; false ends the match.
func (m *machine) step() bool {
	if m.budget.Steps <= 0 {
		m.spent = true
		return false
	}
	m.budget.Steps--
	return true
}

// next is what must match after a node, from a place of the text on.
type next func(at int) bool

// node is a part of an expression.
type node interface {
	// match tries to match from a place on, with what comes after it.
	match(m *machine, at int, then next) bool
	// width is how many characters it matches at least and at most; -1 is without a bound.
	width() (least, most int)
}
