package ray

import (
	"regexp"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Pattern is a regular expression of Python's that a whole text must match. What Go's engine, which takes linear time, does
// not know is added where it is used in practice: lookaheads at the start of an alternative, lookbehinds at its end.
type Pattern struct {
	text         string
	alternatives []alternative
}

type alternative struct {
	whole *regexp.Regexp
	looks []look
}

// look is a condition on the start or the end of the text.
type look struct {
	expression *regexp.Regexp
	negative   bool
}

const maxPattern = 1_000 // bytes

// CompilePattern reads a regular expression.
func CompilePattern(text string) (*Pattern, error) {
	if len(text) > maxPattern {
		return nil, fault.New(fault.Invalid, "cannot use the regular expression %.40q…: it has %d bytes, expected at most %d", text, len(text), maxPattern)
	}
	p := &Pattern{text: text}
	flags, rest := cutFlags(text)
	pieces := []string{rest}
	if strings.Contains(rest, "(?=") || strings.Contains(rest, "(?!") || strings.Contains(rest, "(?<") {
		pieces = splitAlternatives(rest)
	}
	for _, piece := range pieces {
		a, err := compileAlternative(flags, piece)
		if err != nil {
			return nil, fault.New(fault.Invalid, "cannot use the regular expression %q: %w; lookaheads are known at the start of an alternative, "+
				"lookbehinds at its end, back references are not", text, err)
		}
		p.alternatives = append(p.alternatives, a)
	}
	return p, nil
}

// Match reports whether the whole text matches.
func (p *Pattern) Match(s string) bool {
	for _, a := range p.alternatives {
		if a.match(s) {
			return true
		}
	}
	return false
}

func (a alternative) match(s string) bool {
	for _, l := range a.looks {
		if l.expression.MatchString(s) == l.negative {
			return false
		}
	}
	return a.whole.MatchString(s)
}

var leadingFlags = regexp.MustCompile(`^\(\?[ims]+\)`)

func cutFlags(s string) (flags, rest string) {
	flags = leadingFlags.FindString(s)
	return flags, s[len(flags):]
}

func compileAlternative(flags, piece string) (a alternative, err error) {
	for {
		inner, negative, rest := cutLook(piece)
		if inner == "" {
			break
		}
		e, err := compile(flags, `\A(?:`+inner+`)`)
		if err != nil {
			return a, err
		}
		a.looks, piece = append(a.looks, look{e, negative}), rest
	}
	for {
		inner, negative, rest := cutLookBehind(piece)
		if inner == "" {
			break
		}
		e, err := compile(flags, `(?:`+inner+`)\z`)
		if err != nil {
			return a, err
		}
		a.looks, piece = append(a.looks, look{e, negative}), rest
	}
	a.whole, err = compile(flags, `\A(?:`+piece+`)\z`)
	return a, err
}

// compile knows that Python's \Z is Go's \z.
func compile(flags, expression string) (*regexp.Regexp, error) {
	return regexp.Compile(flags + strings.ReplaceAll(expression, `\Z`, `\z`))
}

// cutLook takes a lookahead from the start of an alternative.
func cutLook(s string) (inner string, negative bool, rest string) {
	if !strings.HasPrefix(s, "(?=") && !strings.HasPrefix(s, "(?!") {
		return "", false, s
	}
	end := closing(s)
	if end < 0 {
		return "", false, s
	}
	return s[3:end], s[2] == '!', s[end+1:]
}

// cutLookBehind takes a lookbehind from the end of an alternative.
func cutLookBehind(s string) (inner string, negative bool, rest string) {
	for _, mark := range []string{"(?<=", "(?<!"} {
		if at := strings.LastIndex(s, mark); at >= 0 && closing(s[at:]) == len(s)-at-1 {
			return s[at+4 : len(s)-1], mark == "(?<!", s[:at]
		}
	}
	return "", false, s
}

// walk calls see with each byte that is neither escaped nor in a class, and the depth of groups before it.
func walk(s string, see func(i, depth int) bool) {
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
			continue
		case class:
			class = s[i] != ']' || s[i-1] == '[' || strings.HasSuffix(s[:i], "[^")
			continue
		case s[i] == '[':
			class = true
			continue
		}
		if s[i] == ')' {
			depth--
		}
		if !see(i, depth) {
			return
		}
		if s[i] == '(' {
			depth++
		}
	}
}

// closing returns where the group that s begins with ends, -1 when it does not.
func closing(s string) int {
	at := -1
	walk(s, func(i, depth int) bool {
		if s[i] == ')' && depth == 0 {
			at = i
		}
		return at < 0
	})
	return at
}

func splitAlternatives(s string) []string {
	var out []string
	start := 0
	walk(s, func(i, depth int) bool {
		if s[i] == '|' && depth == 0 {
			out = append(out, s[start:i])
			start = i + 1
		}
		return true
	})
	return append(out, s[start:])
}
