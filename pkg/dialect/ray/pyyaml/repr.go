package pyyaml

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

const reprLimit = 400 // characters; a message is read by a person

// Repr is a value as Python prints it: 'a', True, None, [1, 2.5]. What is long is cut.
func Repr(n *Node) string {
	var b strings.Builder
	repr(&b, n)
	if text := []rune(b.String()); len(text) > reprLimit {
		return string(text[:reprLimit]) + "…"
	}
	return b.String()
}

func repr(b *strings.Builder, n *Node) {
	if b.Len() > 4*reprLimit {
		return
	}
	switch n.Kind {
	case String:
		b.WriteString(ReprString(n.Text))
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			separate(b, i)
			repr(b, item)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, e := range n.Entries {
			separate(b, i)
			repr(b, e.Key)
			b.WriteString(": ")
			repr(b, e.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(Str(n))
	}
}

func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// Str is a scalar as Python's str() prints it; a string is itself.
func Str(n *Node) string {
	switch n.Kind {
	case Null:
		return "None"
	case Bool:
		if n.Bool {
			return "True"
		}
		return "False"
	case Int:
		if n.Big != nil {
			return n.Big.String()
		}
		return strconv.FormatInt(n.Int, 10)
	case Float:
		return floatText(n.Float)
	case Time:
		return "datetime(" + ReprString(n.Text) + ")"
	case String:
		return n.Text
	default:
		return Repr(n)
	}
}

func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// ReprString is a string as Python prints it, in single quotes unless only those are within.
func ReprString(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
