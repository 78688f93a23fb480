package pyre

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is how deep groups may stand in groups.
const maxDepth = 100

// maxRepeat is the largest number of repetitions.
const maxRepeat = 10_000

// flags are what (?…) sets.
type flags struct{ fold, dotAll, lines, ascii bool }

// parser reads an expression.
type parser struct {
	text   []rune
	at     int
	flags  flags
	groups int
	open   []int // groups that are not closed yet
	names  map[string]int
	depth  int
}

func (p *parser) all() (node, error) {
	root, err := p.alternatives()
	if err == nil && p.at < len(p.text) {
		err = p.wrong("unbalanced parenthesis")
	}
	return root, err
}

func (p *parser) wrong(format string, args ...any) error {
	return fmt.Errorf(format+" at position %d", append(args, p.at)...)
}

// take takes a text if it comes next.
func (p *parser) take(s string) bool {
	if strings.HasPrefix(string(p.text[p.at:min(len(p.text), p.at+len(s))]), s) {
		p.at += len([]rune(s))
		return true
	}
	return false
}

func (p *parser) peek() rune {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) done() bool { return p.at >= len(p.text) }

func (p *parser) alternatives() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.wrong("more than %d groups stand in each other", maxDepth)
	}
	defer func() { p.depth-- }()
	var all either
	for {
		one, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) sequence() (node, error) {
	var out sequence
	for !p.done() && p.peek() != '|' && p.peek() != ')' {
		n, err := p.item()
		if err != nil {
			return nil, err
		}
		if n != nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// item reads a part with its repetition; nil for what only sets flags.
func (p *parser) item() (node, error) {
	if _, _, found := p.repetition(); found {
		return nil, p.wrong("nothing to repeat")
	}
	n, err := p.atom()
	if err != nil || n == nil {
		return n, err
	}
	least, most, found := p.repetition()
	if !found {
		return n, nil
	}
	if _, nothing := n.(place); nothing {
		return nil, p.wrong("nothing to repeat")
	}
	if most >= 0 && most < least {
		return nil, p.wrong("min repeat greater than max repeat")
	}
	if least > maxRepeat || most > maxRepeat {
		return nil, p.wrong("more than %d repetitions", maxRepeat)
	}
	r := repeat{body: n, least: least, most: most}
	switch {
	case p.take("?"):
		r.lazy = true
	case p.take("+"):
		return atomic{r}, nil
	}
	if _, _, found := p.repetition(); found {
		return nil, p.wrong("multiple repeat")
	}
	return r, nil
}

// repetition reads *, +, ? or {…}; what is in braces and no repetition is plain text.
func (p *parser) repetition() (least, most int, found bool) {
	switch {
	case p.take("*"):
		return 0, -1, true
	case p.take("+"):
		return 1, -1, true
	case p.take("?"):
		return 0, 1, true
	case p.peek() != '{':
		return 0, 0, false
	}
	end := slices.Index(p.text[p.at:], '}')
	if end < 0 {
		return 0, 0, false
	}
	low, high, two := strings.Cut(string(p.text[p.at+1:p.at+end]), ",")
	if !two {
		high = low
	}
	least, ok := times(low, 0, two)
	most, ok2 := times(high, -1, two)
	if !ok || !ok2 {
		return 0, 0, false
	}
	p.at += end + 1
	return least, most, true
}

func times(digits string, missing int, may bool) (int, bool) {
	if digits == "" {
		return missing, may
	}
	n, err := strconv.ParseUint(digits, 10, 20)
	return int(n), err == nil
}

// atom reads one part without its repetition.
func (p *parser) atom() (node, error) {
	c := p.peek()
	p.at++
	switch c {
	case '(':
		return p.group()
	case '[':
		return p.class()
	case '\\':
		return p.escape()
	case '.':
		all := p.flags.dotAll
		return one{func(c rune) bool { return all || c != '\n' }}, nil
	case '^':
		if p.flags.lines {
			return place{func(m *machine, at int) bool { return at == 0 || m.text[at-1] == '\n' }}, nil
		}
		return place{func(_ *machine, at int) bool { return at == 0 }}, nil
	case '$':
		lines := p.flags.lines
		return place{func(m *machine, at int) bool {
			return at == len(m.text) || m.text[at] == '\n' && (lines || at == len(m.text)-1)
		}}, nil
	}
	return p.literal(c), nil
}

func (p *parser) literal(c rune) node {
	if p.flags.fold {
		want := lower(c)
		return one{func(c rune) bool { return lower(c) == want }}
	}
	return one{func(got rune) bool { return got == c }}
}
