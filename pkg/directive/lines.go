package directive

import (
	"strings"
	"unicode"
)

// line is a line of a comment that begins with a slash and a word.
type line struct {
	number int    // from 1
	indent int    // characters before the slash
	text   string // from the slash to the end, without trailing space
	opens  bool   // an HTML comment that a later line closes
}

// directives finds the lines of a comment that are directives. Code, quotes and HTML comments are passed over, as a
// forge shows them: a line in them is talked about, and not said.
func directives(text string) []line {
	var out []line
	fence, hidden := "", false
	number := 0
	for raw := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		number++
		raw = strings.TrimRightFunc(raw, space)
		bare := strings.TrimLeft(raw, " ")
		indent := len(raw) - len(bare)
		switch {
		case fence != "":
			if closes(bare, fence) && indent < 4 {
				fence = ""
			}
			continue
		case hidden:
			hidden = opens(raw, true)
			continue
		case indent >= 4:
			continue
		}
		if fence = fenceOf(bare); fence != "" {
			continue
		}
		hidden = opens(bare, false)
		if directive(bare) {
			out = append(out, line{number, indent, bare, hidden})
		}
	}
	return out
}

// space is what parts the words of a directive.
func space(r rune) bool { return unicode.IsSpace(r) }

// fenceOf is the run of backticks or tildes that opens a block of code, or "".
func fenceOf(s string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(s, mark)
		if n := len(s) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, mark)) {
			return s[:n]
		}
	}
	return ""
}

// closes reports whether a line ends the block of code that a fence began.
func closes(s, fence string) bool {
	return len(s) >= len(fence) && strings.Trim(s, fence[:1]) == ""
}

// opens reports whether an HTML comment is open at the end of a line.
func opens(s string, inside bool) bool {
	for {
		mark := "<!--"
		if inside {
			mark = "-->"
		}
		_, rest, found := strings.Cut(s, mark)
		if !found {
			return inside
		}
		s, inside = rest, !inside
	}
}

// directive reports whether a line says something to a program: a slash and a word of letters. A path, or a slash in
// front of anything else, is talk.
func directive(s string) bool {
	word, found := strings.CutPrefix(s, "/")
	if !found {
		return false
	}
	if i := strings.IndexFunc(word, space); i >= 0 {
		word = word[:i]
	}
	word = strings.TrimRight(word, ":,;!?")
	for i, r := range word {
		// What cannot be seen within a word is for Parse to tell.
		if !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r) && r != '-' && r != '_' && !unicode.Is(unicode.Cf, r)) {
			return false
		}
	}
	return word != ""
}

// Strip keeps of a comment only its directives, each in its place: what is stored for ever holds no more of what a person
// wrote than is needed. Parse says the same of both.
func Strip(text string) string {
	if len(text) > maxSize {
		return text
	}
	var b strings.Builder
	at, open := 1, false
	for _, l := range directives(text) {
		for ; at < l.number; at++ {
			b.WriteByte('\n')
			if open { // what closed the comment was talk
				b.WriteString("-->")
				open = false
			}
		}
		open = l.opens
		b.WriteString(strings.Repeat(" ", l.indent) + l.text)
	}
	return b.String()
}
