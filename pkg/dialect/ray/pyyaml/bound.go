package pyyaml

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// The bounds of a text. They hold before anything recursive or multiplying is done with it.
const (
	MaxSize  = 1 << 20 // bytes
	maxDepth = 40      // maps and lists within each other
	maxKeys  = 2_000   // of one map
	maxNodes = 200_000 // of the whole tree, aliases expanded
)

// readable checks what can be said of the text without reading it as YAML.
func (r *reader) readable(text string) bool {
	if len(text) > MaxSize {
		r.fail(Pos{File: r.file}, "the file has %d bytes, expected at most %d", len(text), MaxSize)
		return false
	}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if at := strings.IndexFunc(line, func(c rune) bool { return c == utf8.RuneError || forbidden(c) }); at >= 0 {
			place := Pos{r.file, number, utf8.RuneCountInString(line[:at]) + 1}
			if !utf8.ValidString(line) {
				r.fail(place, "found bytes that are not UTF-8; save the file as UTF-8")
				return false
			}
			if c, _ := utf8.DecodeRuneInString(line[at:]); forbidden(c) {
				r.fail(place, "found the character U+%04X, which YAML does not allow", c)
				return false
			}
		}
	}
	return true
}

// forbidden are the control characters that PyYAML refuses.
func forbidden(c rune) bool {
	return c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f || c >= 0x80 && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff
}

// level is one level of block style: the column that it starts in, and the keys of its map so far.
type level struct{ column, keys int }

// shallow refuses texts that nest deeper than any test file, or have maps longer than any, before the parser sees
// them: it calls itself for each level and each key. The depth of block style is overestimated, so more of it is allowed.
func (r *reader) shallow(tokens token.Tokens) bool {
	flow, levels := 0, []level{}
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		}
		if flow == 0 {
			levels = nest(levels, t)
		}
		if flow > maxDepth || len(levels) > 4*maxDepth {
			r.fail(r.at(t), "found more than %d levels of nesting", maxDepth)
			return false
		}
		if n := len(levels); n > 1 && levels[n-2].keys > maxKeys {
			r.fail(r.at(t), "found a map with more than %d keys", maxKeys)
			return false
		}
	}
	return true
}

// nest keeps the levels that a token in block style is in: those that start in a column before its own.
func nest(levels []level, t *token.Token) []level {
	for len(levels) > 0 && levels[len(levels)-1].column > t.Position.Column {
		levels = levels[:len(levels)-1]
	}
	if len(levels) == 0 || levels[len(levels)-1].column < t.Position.Column {
		levels = append(levels, level{column: t.Position.Column})
	}
	if t.Type == token.MappingValueType && len(levels) > 1 {
		levels[len(levels)-2].keys++
	}
	return levels
}
