package pyre

import (
	"slices"
	"strings"
)

// group reads what follows an opening parenthesis.
func (p *parser) group() (node, error) {
	kept := p.flags
	if !p.take("?") {
		return p.capture("")
	}
	switch {
	case p.take("P<"):
		name, err := p.name('>')
		if err != nil {
			return nil, err
		}
		return p.capture(name)
	case p.take("P="):
		name, err := p.name(')')
		number, known := p.names[name]
		if err == nil && !known {
			err = p.wrong("unknown group name %q", name)
		}
		return again{number, p.flags.fold}, err
	case p.take("#"):
		end := slices.Index(p.text[p.at:], ')')
		if end < 0 {
			return nil, p.wrong("missing ), unterminated comment")
		}
		p.at += end + 1
		return nil, nil
	}
	for _, form := range []struct {
		mark string
		make func(node) (node, error)
	}{
		{":", func(n node) (node, error) { return sequence{n}, nil }},
		{">", func(n node) (node, error) { return atomic{n}, nil }},
		{"=", func(n node) (node, error) { return look{body: n}, nil }},
		{"!", func(n node) (node, error) { return look{body: n, absent: true}, nil }},
		{"<=", func(n node) (node, error) { return p.behind(look{body: n, behind: true}) }},
		{"<!", func(n node) (node, error) { return p.behind(look{body: n, behind: true, absent: true}) }},
	} {
		if p.take(form.mark) {
			n, err := p.body(kept)
			if err != nil {
				return nil, err
			}
			return form.make(n)
		}
	}
	return p.setFlags(kept)
}

// behind holds a lookbehind to what Python allows: a body that always has one length.
func (p *parser) behind(n look) (node, error) {
	if least, most := n.body.width(); least != most {
		return nil, p.wrong("look-behind requires fixed-width pattern")
	}
	return n, nil
}

// body reads up to the closing parenthesis; flags that are set inside end there.
func (p *parser) body(outer flags) (node, error) {
	at := p.at
	n, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		p.at = at - 1
		return nil, p.wrong("missing ), unterminated subpattern")
	}
	p.flags = outer
	return n, nil
}

func (p *parser) capture(name string) (node, error) {
	p.groups++
	number := p.groups
	if _, twice := p.names[name]; name != "" && twice {
		return nil, p.wrong("redefinition of group name %q", name)
	}
	if name != "" {
		p.names[name] = number
	}
	p.open = append(p.open, number)
	n, err := p.body(p.flags)
	p.open = p.open[:len(p.open)-1]
	return group{number, n}, err
}

func (p *parser) name(end rune) (string, error) {
	length := slices.Index(p.text[p.at:], end)
	if length <= 0 {
		return "", p.wrong("missing group name")
	}
	name := string(p.text[p.at : p.at+length])
	for i, c := range name {
		if !word(c) || i == 0 && c >= '0' && c <= '9' {
			return "", p.wrong("bad character in group name %q", name)
		}
	}
	p.at += length + 1
	return name, nil
}

// setFlags reads (?i), which holds for the whole expression and must begin it, and (?i:…), which holds inside.
func (p *parser) setFlags(outer flags) (node, error) {
	begins, on := p.at == len("(?"), true
	for !p.done() {
		c := p.peek()
		p.at++
		switch {
		case c == ')' && (begins || p.flags == outer):
			return nil, nil
		case c == ')':
			return nil, p.wrong("global flags not at the start of the expression")
		case c == ':':
			return p.body(outer)
		case c == '-' && on:
			on = false
		case !p.flag(c, on):
			return nil, p.wrong("unknown extension or flag %q", c)
		}
	}
	return nil, p.wrong("missing ), unterminated subpattern")
}

func (p *parser) flag(c rune, on bool) bool {
	if !strings.ContainsRune("imsua", c) {
		return false
	}
	switch c {
	case 'i':
		p.flags.fold = on
	case 'm':
		p.flags.lines = on
	case 's':
		p.flags.dotAll = on
	case 'a':
		p.flags.ascii = on
	}
	return true
}
