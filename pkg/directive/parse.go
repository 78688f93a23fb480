package directive

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of a comment.
const (
	maxSize       = 64 << 10 // bytes
	maxLine       = 1000     // bytes of a directive
	maxDirectives = 50
)

// Parse reads the directives of a comment. The error is an Errors with everything that is wrong with them; the commands
// that could be read are returned beside it, to tell what was understood.
func Parse(text string) (Commands, error) {
	if len(text) > maxSize {
		return nil, Errors{{Line: 1, Column: 1, Message: fmt.Sprintf("the comment has %d bytes, at most %d are read", len(text), maxSize), Foreign: true}}
	}
	var r reader
	for i, l := range directives(text) {
		if i == maxDirectives {
			r.line = l
			r.fail(0, "say the rest in another comment", "there are more than %d directives", maxDirectives)
			break
		}
		r.read(l)
	}
	r.contradictions()
	if len(r.problems) > 0 {
		return r.commands, r.problems
	}
	return r.commands, nil
}

// reader reads one comment.
type reader struct {
	commands Commands
	problems Errors
	line     line
	rule     Rule
	rest     string // what follows the verb
	offset   int    // of rest in the line, in bytes
}

// fail notes a problem at an offset of the line.
func (r *reader) fail(offset int, hint, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		Line: r.line.number, Column: r.line.indent + utf8.RuneCountInString(r.line.text[:offset]) + 1,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// expected notes that a verb was used in another way than the table says.
func (r *reader) expected(offset int, format string, args ...any) {
	r.fail(offset, "expected "+r.rule.usage(), format, args...)
}

func (r *reader) read(l line) {
	r.line = l
	end := strings.IndexFunc(l.text, space)
	if end < 0 {
		end = len(l.text)
	}
	if !r.readable() {
		return
	}
	word := l.text[1:end]
	rule, known := Find(Verb(strings.ToLower(word)))
	if !known {
		r.unknown(word)
		return
	}
	r.rule = rule
	r.rest = strings.TrimLeftFunc(l.text[end:], space)
	r.offset = len(l.text) - len(r.rest)
	before := len(r.problems)
	c := Command{Verb: rule.Verb, Line: l.number, Column: l.indent + 1}
	rule.read(r, &c)
	if len(r.problems) == before {
		r.commands = append(r.commands, c)
	}
}

// readable checks the letters of a line: what cannot be seen cannot be meant.
func (r *reader) readable() bool {
	if len(r.line.text) > maxLine {
		r.fail(0, "", "the line has %d bytes, at most %d are read", len(r.line.text), maxLine)
		return false
	}
	for i, c := range r.line.text {
		width := utf8.RuneLen(c)
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(r.line.text[i:], "\uFFFD"):
			r.fail(i, "write it in UTF-8", "byte 0x%02x is no text", r.line.text[i])
			return false
		case width > 0 && (unicode.IsControl(c) && c != '\t' || unicode.Is(unicode.Cf, c)):
			r.fail(i, "remove it", "character U+%04X cannot be seen", c)
			return false
		}
	}
	return true
}

func (r *reader) unknown(word string) {
	verb, near := nearest(strings.ToLower(word))
	hint := fmt.Sprintf("the nearest is /%s; /help lists all", verb)
	if near {
		hint = fmt.Sprintf("did you mean /%s?", verb)
	}
	r.fail(0, hint, "unknown directive /%s", word)
	r.problems[len(r.problems)-1].Foreign = !near
}

// word is a word of a line and where it begins.
type word struct {
	text   string
	offset int
}

// words splits what follows the verb. A word in quotes may hold spaces.
func (r *reader) words() (out []word, ok bool) {
	for at := 0; at < len(r.rest); {
		rest := strings.TrimLeftFunc(r.rest[at:], space)
		at = len(r.rest) - len(rest)
		switch {
		case rest == "":
		case rest[0] == '"' || rest[0] == '\'':
			end := strings.IndexByte(rest[1:], rest[0])
			if end < 0 {
				r.fail(r.offset+at, "close it", "a quote is opened here and never closed")
				return nil, false
			}
			out = append(out, word{rest[1 : end+1], r.offset + at})
			at += end + 2
			if at < len(r.rest) && !space(first(r.rest[at:])) {
				r.fail(r.offset+at, "put a space between them, or the quotes around all of it", "something follows the closing quote")
				return nil, false
			}
		default:
			end := strings.IndexFunc(rest, space)
			if end < 0 {
				end = len(rest)
			}
			if i := strings.IndexAny(rest[:end], `"'`); i >= 0 {
				r.fail(r.offset+at+i, "put the quotes around the whole word", "a quote stands within a word")
				return nil, false
			}
			out = append(out, word{rest[:end], r.offset + at})
			at += end
		}
	}
	return out, true
}

func first(s string) rune { c, _ := utf8.DecodeRuneInString(s); return c }

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)
	pathPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+|\[[A-Za-z0-9_.-]+\]|\["[^"=\s]+"\]|\['[^'=\s]+'\])*$`)
)

func (r *reader) nothing(*Command) {
	if r.rest != "" {
		r.expected(r.offset, "/%s takes nothing", r.rule.Verb)
	}
}

// all reads the word "all", or nothing.
func (r *reader) all(c *Command) {
	if c.Text = strings.Join(strings.FieldsFunc(r.rest, space), " "); c.Text != "" && c.Text != All {
		r.expected(r.offset, "/%s takes nothing, or the word %s", r.rule.Verb, All)
	}
}

func (r *reader) text(c *Command) { c.Text = strings.Join(strings.FieldsFunc(r.rest, space), " ") }

func (r *reader) globs(c *Command) {
	found, ok := r.words()
	if ok && len(found) == 0 {
		r.expected(len(r.line.text), "/%s names no task", r.rule.Verb)
	}
	for _, w := range found {
		if w.text == "" {
			r.expected(w.offset, "a glob is empty")
			continue
		}
		c.Names = append(c.Names, w.text)
	}
}

func (r *reader) names(c *Command) {
	found, ok := r.words()
	if ok && len(found) == 0 {
		r.expected(len(r.line.text), "/%s names nothing", r.rule.Verb)
	}
	for _, w := range found {
		r.name(c, w)
	}
}

func (r *reader) name(c *Command, w word) {
	if !namePattern.MatchString(w.text) {
		r.expected(w.offset, "%q is no name: letters, digits, _ . and - are", w.text)
		return
	}
	c.Names = append(c.Names, w.text)
}

func (r *reader) environment(c *Command) {
	r.names(c)
	if len(c.Names) > 1 {
		r.expected(r.offset, "/env takes one name, found %d", len(c.Names))
	}
}

func (r *reader) test(c *Command) {
	found, _ := r.words()
	named := false
	for _, w := range found {
		path, value, set := strings.Cut(w.text, "=")
		switch {
		case set && pathPattern.MatchString(path):
			c.Set = append(c.Set, Setting{path, value})
		case named:
			r.name(c, w)
		case w.text == "":
			r.expected(w.offset, "the job is empty")
		default:
			c.Job, named = w.text, true
		}
	}
}

// setting reads "PATH: VALUE" or "PATH=VALUE"; the value is the rest of the line, as YAML.
func (r *reader) setting(c *Command) {
	end := strings.IndexFunc(r.rest, func(c rune) bool { return c == ':' || c == '=' })
	if end < 0 {
		r.expected(r.offset, "there is no \":\" after the setting's path")
		return
	}
	path, value := strings.TrimRightFunc(r.rest[:end], space), strings.TrimFunc(r.rest[end+1:], space)
	switch {
	case !pathPattern.MatchString(path):
		r.expected(r.offset, "%q is no path of a setting, such as tests.gpu", clip(path, 60))
	case value == "":
		r.expected(len(r.line.text), "there is no value for %s", path)
	default:
		c.Set = append(c.Set, Setting{path, value})
	}
}

// contradictions finds directives that cannot be meant together.
func (r *reader) contradictions() {
	seen := map[Verb]Command{}
	for _, c := range r.commands {
		r.line = line{number: c.Line, indent: c.Column - 1}
		for _, other := range []Verb{Env, Hold, Resume} {
			if before, said := seen[other]; said && contradicts(c.Verb, other) {
				r.fail(0, "say one of them", "/%s contradicts /%s in line %d", c.Verb, other, before.Line)
			}
		}
		seen[c.Verb] = c
	}
}

func contradicts(a, b Verb) bool {
	return a == Env && b == Env || a == Hold && b == Resume || a == Resume && b == Hold
}

func clip(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}
