package pages

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// colours turns the text of a log into markup: the colours and weights of ANSI become classes, every other escape and
// control character goes, and everything else is escaped. It remembers the colours from one line to the next.
type colours struct {
	fore, back       int // 0 is none, 1 to 16 a colour of the palette
	bold, dim, under bool
}

const maxLine = 16 << 10 // bytes of a line that are shown; the log itself has all of them

// line is a line as markup.
func (c *colours) line(text string) string {
	cut := len(text) > maxLine
	if cut {
		text = text[:maxLine]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	for text != "" {
		i := strings.IndexFunc(text, control)
		if i < 0 {
			i = len(text)
		}
		c.write(&b, text[:i])
		text = c.escape(text[i:])
	}
	if cut {
		b.WriteString(`<span class="cut"> … this line goes on; see the whole log</span>`)
	}
	return b.String()
}

// control reports what is not shown: control characters but for the tab, and what changes the direction of a text.
func control(r rune) bool {
	return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func (c *colours) write(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	class := c.class()
	if class == "" {
		b.WriteString(html.EscapeString(text))
		return
	}
	b.WriteString(`<span class="` + class + `">` + html.EscapeString(text) + `</span>`)
}

func (c *colours) class() string {
	var names []string
	if c.fore > 0 {
		names = append(names, "f"+strconv.Itoa(c.fore-1))
	}
	if c.back > 0 {
		names = append(names, "b"+strconv.Itoa(c.back-1))
	}
	for _, weight := range []struct {
		name string
		on   bool
	}{{"bold", c.bold}, {"dim", c.dim}, {"under", c.under}} {
		if weight.on {
			names = append(names, weight.name)
		}
	}
	return strings.Join(names, " ")
}

// escape takes a control character, or the escape sequence that it begins, off the front of a text.
func (c *colours) escape(text string) string {
	if text == "" {
		return ""
	}
	if text[0] != 0x1b {
		_, n := utf8.DecodeRuneInString(text)
		return text[n:]
	}
	rest := text[1:]
	switch {
	case strings.HasPrefix(rest, "["):
		return c.sequence(rest[1:])
	case strings.HasPrefix(rest, "]"): // a title or a link: up to BEL or ST
		if i := strings.IndexAny(rest, "\x07\x1b"); i >= 0 {
			return strings.TrimPrefix(rest[i+1:], `\`)
		}
		return ""
	default:
		return rest[min(1, len(rest)):]
	}
}

// sequence takes a CSI sequence; only those that end in "m" mean something here.
func (c *colours) sequence(text string) string {
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b >= 0x40 && b <= 0x7e:
			if b == 'm' {
				c.apply(strings.Split(text[:i], ";"))
			}
			return text[i+1:]
		case b < 0x20 || b > 0x3f || i > 64:
			return text[i:] // no sequence after all
		}
	}
	return ""
}

func (c *colours) apply(codes []string) {
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil && codes[i] != "" {
			return
		}
		if n == 38 || n == 48 {
			i += c.extended(n, codes[i+1:])
			continue
		}
		c.code(n)
	}
}

func (c *colours) code(n int) {
	switch {
	case n == 0:
		*c = colours{}
	case n == 1:
		c.bold = true
	case n == 2:
		c.dim = true
	case n == 4:
		c.under = true
	case n == 22:
		c.bold, c.dim = false, false
	case n == 24:
		c.under = false
	case n >= 30 && n <= 37:
		c.fore = n - 29
	case n == 39:
		c.fore = 0
	case n >= 40 && n <= 47:
		c.back = n - 39
	case n == 49:
		c.back = 0
	case n >= 90 && n <= 97:
		c.fore = n - 81
	case n >= 100 && n <= 107:
		c.back = n - 91
	}
}

// extended reads "5;n", a colour of 256 of which the first 16 are ours, or "2;r;g;b", which is none of ours. It returns
// how many codes it took.
func (c *colours) extended(kind int, codes []string) int {
	if len(codes) >= 4 && codes[0] == "2" {
		return 4
	}
	if len(codes) < 2 || codes[0] != "5" {
		return len(codes)
	}
	if n, err := strconv.Atoi(codes[1]); err == nil && n >= 0 && n < 16 {
		if kind == 38 {
			c.fore = n + 1
		} else {
			c.back = n + 1
		}
	}
	return 2
}
