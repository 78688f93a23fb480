package pyre

import (
	"unicode"
)

// one matches one character.
type one struct {
	is func(rune) bool
}

func (n one) fits(m *machine, at int) bool { return at < len(m.text) && n.is(m.text[at]) }

func (n one) match(m *machine, at int, then next) bool {
	return m.step() && n.fits(m, at) && then(at+1)
}

func (one) width() (least, most int) { return 1, 1 }

// place matches no character, at some places.
type place struct {
	is func(m *machine, at int) bool
}

func (n place) match(m *machine, at int, then next) bool { return m.step() && n.is(m, at) && then(at) }
func (place) width() (least, most int)                   { return 0, 0 }

// sequence matches one node after the other.
type sequence []node

func (n sequence) match(m *machine, at int, then next) bool {
	if len(n) == 0 {
		return then(at)
	}
	return n[0].match(m, at, func(at int) bool { return n[1:].match(m, at, then) })
}

func (n sequence) width() (least, most int) {
	for _, one := range n {
		l, h := one.width()
		least = bounded(least, l)
		most = bounded(most, h)
	}
	return least, most
}

// maxWidth keeps widths of repetitions in repetitions from overflowing.
const maxWidth = 1 << 20

// bounded adds widths; -1 has no bound.
func bounded(a, b int) int {
	if a < 0 || b < 0 || a+b > maxWidth {
		return -1
	}
	return a + b
}

// either matches one of several nodes; the first that fits is tried first.
type either []node

func (n either) match(m *machine, at int, then next) bool {
	for _, one := range n {
		if !m.step() {
			return false
		}
		if one.match(m, at, then) {
			return true
		}
	}
	return false
}

func (n either) width() (least, most int) {
	for i, one := range n {
		l, h := one.width()
		if i == 0 || l < least {
			least = l
		}
		if h < 0 || most >= 0 && h > most {
			most = h
		}
	}
	return least, most
}

// group remembers what its body matches.
type group struct {
	number int
	body   node
}

func (n group) match(m *machine, at int, then next) bool {
	before := m.groups[n.number]
	ok := n.body.match(m, at, func(end int) bool {
		inner := m.groups[n.number]
		m.groups[n.number] = span{at, end, true}
		if then(end) {
			return true
		}
		m.groups[n.number] = inner
		return false
	})
	if !ok {
		m.groups[n.number] = before
	}
	return ok
}

func (n group) width() (least, most int) { return n.body.width() }

// again matches what a group has matched.
type again struct {
	number int
	fold   bool
}

func (n again) match(m *machine, at int, then next) bool {
	g := m.groups[n.number]
	if !m.step() || !g.set || at+g.to-g.from > len(m.text) {
		return false
	}
	for i := range g.to - g.from {
		a, b := m.text[g.from+i], m.text[at+i]
		if a != b && (!n.fold || lower(a) != lower(b)) {
			return false
		}
	}
	return then(at + g.to - g.from)
}

func (again) width() (least, most int) { return 0, -1 }

// look is a condition on what comes, or what was.
type look struct {
	body           node
	behind, absent bool
}

func (n look) match(m *machine, at int, then next) bool {
	from := at
	if n.behind {
		width, _ := n.body.width()
		from = at - width
	}
	kept := append([]span(nil), m.groups...)
	found := from >= 0 && m.step() && n.body.match(m, from, func(end int) bool { return !n.behind || end == at })
	if m.spent {
		return false
	}
	if n.absent {
		copy(m.groups, kept)
		return !found && then(at)
	}
	if found && then(at) {
		return true
	}
	copy(m.groups, kept)
	return false
}

func (look) width() (least, most int) { return 0, 0 }

// atomic matches its body once, the first way that fits.
type atomic struct{ body node }

func (n atomic) match(m *machine, at int, then next) bool {
	end, kept := -1, append([]span(nil), m.groups...)
	if n.body.match(m, at, func(to int) bool { end = to; return true }) && then(end) {
		return true
	}
	copy(m.groups, kept)
	return false
}

func (n atomic) width() (least, most int) { return n.body.width() }

// repeat matches its body several times.
type repeat struct {
	body        node
	least, most int // most is -1 without a bound
	lazy        bool
}

func (n repeat) match(m *machine, at int, then next) bool {
	if single, ok := n.body.(one); ok {
		return n.run(m, single, at, then)
	}
	return n.from(m, at, 0, then)
}

// run repeats what matches one character.
func (n repeat) run(m *machine, single one, at int, then next) bool {
	limit := len(m.text) - at
	if n.most >= 0 {
		limit = min(limit, n.most)
	}
	if n.lazy {
		for i := 0; m.step(); i++ {
			if i >= n.least && then(at+i) {
				return true
			}
			if i >= limit || !single.fits(m, at+i) {
				return false
			}
		}
		return false
	}
	count := 0
	for count < limit && m.step() && single.fits(m, at+count) {
		count++
	}
	for ; count >= n.least && m.step(); count-- {
		if then(at + count) {
			return true
		}
	}
	return false
}

// from repeats the body after it has matched so often.
func (n repeat) from(m *machine, at, times int, then next) bool {
	more := func() bool {
		if n.most >= 0 && times >= n.most {
			return false
		}
		return n.body.match(m, at, func(end int) bool {
			if end == at && times >= n.least {
				return false // nothing was matched: it would go on for ever
			}
			return n.from(m, end, times+1, then)
		})
	}
	switch {
	case !m.step():
		return false
	case times < n.least:
		return more()
	case n.lazy:
		return then(at) || more()
	default:
		return more() || then(at)
	}
}

func (n repeat) width() (least, most int) {
	l, h := n.body.width()
	most = -1
	if n.most >= 0 && h >= 0 && n.most*h <= maxWidth {
		most = n.most * h
	}
	return l * n.least, most
}

func lower(c rune) rune { return unicode.ToLower(unicode.ToUpper(c)) }

func word(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c) }

func wordAt(m *machine, at int) bool { return at >= 0 && at < len(m.text) && word(m.text[at]) }

// edge is a place between a character of a word and another.
func edge(m *machine, at int) bool { return wordAt(m, at-1) != wordAt(m, at) }
