package pyre

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// escape reads what follows a backslash outside of brackets.
func (p *parser) escape() (node, error) {
	if p.done() {
		return nil, p.wrong("bad escape (end of pattern)")
	}
	c := p.peek()
	if is := p.kind(c); is != nil {
		p.at++
		return one{is}, nil
	}
	switch {
	case c == 'A':
		p.at++
		return place{func(_ *machine, at int) bool { return at == 0 }}, nil
	case c == 'Z':
		p.at++
		return place{func(m *machine, at int) bool { return at == len(m.text) }}, nil
	case c == 'b':
		p.at++
		return place{edge}, nil
	case c == 'B':
		p.at++
		return place{func(m *machine, at int) bool { return !edge(m, at) }}, nil
	case c >= '1' && c <= '9':
		return p.reference()
	}
	literal, err := p.character()
	if err != nil {
		return nil, err
	}
	return p.literal(literal), nil
}

// reference reads the number of a group.
func (p *parser) reference() (node, error) {
	end := p.at
	for end < len(p.text) && end < p.at+2 && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	number, _ := strconv.Atoi(string(p.text[p.at:end]))
	if number > p.groups {
		return nil, p.wrong("invalid group reference %d", number)
	}
	if slices.Contains(p.open, number) {
		return nil, p.wrong("cannot refer to an open group")
	}
	p.at = end
	return again{number, p.flags.fold}, nil
}

// kind is the set of characters that an escape such as \d names; nil for any other.
func (p *parser) kind(c rune) func(rune) bool {
	var is func(rune) bool
	switch unicode.ToLower(c) {
	case 'd':
		is = unicode.IsDigit
	case 'w':
		is = word
	case 's':
		is = func(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }
	default:
		return nil
	}
	if p.flags.ascii {
		all := is
		is = func(c rune) bool { return c < 0x80 && all(c) }
	}
	if unicode.IsUpper(c) {
		positive := is
		return func(c rune) bool { return !positive(c) }
	}
	return is
}

// character reads an escape of one character.
func (p *parser) character() (rune, error) {
	c := p.peek()
	p.at++
	if i := strings.IndexRune("ntrfva", c); i >= 0 {
		return rune("\n\t\r\f\v\a"[i]), nil
	}
	for mark, digits := range map[rune]int{'x': 2, 'u': 4, 'U': 8} {
		if c == mark {
			return p.hex(digits)
		}
	}
	switch {
	case c == '0':
		return 0, nil
	case c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c)):
		return 0, p.wrong("bad escape \\%c", c)
	}
	return c, nil
}

func (p *parser) hex(digits int) (rune, error) {
	end := p.at + digits
	if end > len(p.text) {
		return 0, p.wrong("incomplete escape")
	}
	n, err := strconv.ParseUint(string(p.text[p.at:end]), 16, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, p.wrong("incomplete escape")
	}
	p.at = end
	return rune(n), nil
}

// class reads a set of characters in brackets.
func (p *parser) class() (node, error) {
	start := p.at - 1
	negative := p.take("^")
	var parts []func(rune) bool
	for first := true; ; first = false {
		if p.done() {
			p.at = start
			return nil, p.wrong("unterminated character set")
		}
		if p.peek() == ']' && !first {
			p.at++
			break
		}
		part, err := p.classPart()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	fold := p.flags.fold
	return one{func(c rune) bool {
		in := within(parts, c) || fold && (within(parts, unicode.ToLower(c)) || within(parts, unicode.ToUpper(c)))
		return in != negative
	}}, nil
}

func within(parts []func(rune) bool, c rune) bool {
	return slices.ContainsFunc(parts, func(part func(rune) bool) bool { return part(c) })
}

// classPart reads a character, a range, or an escape that names a set.
func (p *parser) classPart() (func(rune) bool, error) {
	low, set, err := p.classCharacter()
	if err != nil || set != nil {
		return set, err
	}
	if p.peek() != '-' || p.at+1 >= len(p.text) || p.text[p.at+1] == ']' {
		return func(c rune) bool { return c == low }, nil
	}
	p.at++
	high, set, err := p.classCharacter()
	if err == nil && (set != nil || high < low) {
		err = p.wrong("bad character range")
	}
	return func(c rune) bool { return c >= low && c <= high }, err
}

func (p *parser) classCharacter() (rune, func(rune) bool, error) {
	c := p.peek()
	p.at++
	if c != '\\' {
		return c, nil, nil
	}
	if p.done() {
		return 0, nil, p.wrong("bad escape (end of pattern)")
	}
	if is := p.kind(p.peek()); is != nil {
		p.at++
		return 0, is, nil
	}
	if p.peek() == 'b' {
		p.at++
		return '\b', nil, nil
	}
	c, err := p.character()
	return c, nil, err
}
