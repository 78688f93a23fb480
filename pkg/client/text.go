package client

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text from outside one harmless line: no control characters, no escape sequences, no characters that turn
// the direction of what follows. A tab or a line's end becomes a space.
func Line(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == escape || r == csi || isString(r):
			n = sequence(s)
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case harmful(r):
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// LogLine makes a line of a log harmless. With colour, sequences that only colour text (SGR) stay, and the line ends
// uncoloured. Of a line that a progress bar wrote over and over, what a terminal would show last is kept.
func LogLine(s string, colour bool) string {
	s = strings.TrimRight(s, "\r\n")
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	if plain(s) {
		return s
	}
	var b strings.Builder
	coloured := false
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == escape || r == csi || isString(r):
			n = sequence(s)
			if colour && isSGR(s[:n]) {
				b.WriteString(s[:n])
				coloured = true
			}
		case r == '\t' || !harmful(r):
			b.WriteRune(r)
		}
		s = s[n:]
	}
	if coloured {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

const (
	escape = '\x1b'
	csi    = '\u009b'
)

// isString reports whether r is a one-character introducer of a string: DCS, SOS, OSC, PM, APC.
func isString(r rune) bool {
	return r == '\u0090' || r == '\u0098' || r == '\u009d' || r == '\u009e' || r == '\u009f'
}

// plain is the common case: printable ASCII only.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// harmful reports whether a terminal might do something else with r than show it.
func harmful(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// sequence is the length of the escape sequence that s begins with. One that has no end takes the rest.
func sequence(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == escape && n < len(s) {
		next := s[n]
		switch {
		case next == '[':
			return control(s, n+1)
		case strings.IndexByte("P]X^_", next) >= 0:
			return text(s, n+1)
		case next >= 0x20 && next <= 0x2f:
			return intermediate(s, n+1)
		case next >= 0x80 || next < 0x20:
			return n // what follows is judged by itself
		default:
			return n + 1
		}
	}
	if r == csi {
		return control(s, n)
	}
	if isString(r) {
		return text(s, n)
	}
	return n
}

// control is the end of a control sequence: parameters and intermediates, then one final byte.
func control(s string, from int) int {
	for i := from; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x7e {
			return i // broken: what follows is judged by itself
		}
	}
	return len(s)
}

// text is the end of a string: BEL or ST.
func text(s string, from int) int {
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == '\a':
			return i + 1
		case s[i] == escape && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		}
	}
	return len(s)
}

func intermediate(s string, from int) int {
	i := from
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		return i + 1
	}
	return i
}

// isSGR reports whether a sequence is ESC [ digits ; … m.
func isSGR(s string) bool {
	body, ok := strings.CutPrefix(s, "\x1b[")
	if !ok || !strings.HasSuffix(body, "m") {
		return false
	}
	return strings.Trim(body[:len(body)-1], "0123456789;:") == ""
}
