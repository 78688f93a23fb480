package definition

import (
	"path"
	"slices"
	"strings"
)

// environments reads the files of variables that environments name, under the variables that they state.
func (l *loading) environments(def *Definition, s *source, from where) {
	for i := range def.Environments {
		env := &def.Environments[i].Value
		var vars Map[Text]
		for _, file := range env.Files {
			if problem := unsafePath(file.Value); problem != "" || strings.ContainsAny(file.Value, "*?[{") {
				s.fail(file.At, "", "expected the path of a file below the root of the repository, found %q", shorten(printable(file.Value), 60))
				continue
			}
			name := path.Clean(file.Value)
			if text, ok := l.read(s, file.At, from, name); ok {
				part := newSource(from.name(name), string(text))
				part.problems = s.problems
				vars = vars.set(readEnv(part))
				s.problems = part.problems
			}
		}
		if len(vars) > 0 {
			env.Vars = vars.set(env.Vars)
		}
	}
}

// set is a map with the entries of another put over its own.
func (m Map[T]) set(over Map[T]) Map[T] {
	places := make(map[string]int, len(m))
	for i, e := range m {
		places[e.Name] = i
	}
	out := slices.Clone(m)
	for _, e := range over {
		if at, there := places[e.Name]; there {
			out[at] = e
			continue
		}
		places[e.Name] = len(out)
		out = append(out, e)
	}
	return out
}

// readEnv reads lines of KEY=VALUE. Blank lines and lines that begin with # are left out, as is the word export. A value
// may stand in single quotes, where every letter means itself, or in double quotes, where \n, \t, \" and \\ do not;
// without quotes it ends before " #". No value refers to another.
func readEnv(s *source) Map[Text] {
	if !readable(s) {
		return nil
	}
	var out Map[Text]
	places := map[string]int{}
	for i, line := range s.lines {
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' || s.full() {
			continue
		}
		at := s.pos(i+1, 1+len(line)-len(strings.TrimLeft(line, " ")))
		key, value, found := strings.Cut(strings.TrimPrefix(text, "export "), "=")
		key = strings.TrimSpace(key)
		if !found || !identifier.MatchString(key) {
			s.fail(at, "", "expected KEY=VALUE, a comment or a blank line, found %q", shorten(printable(text), 60))
			continue
		}
		value, ok := unquote(strings.TrimSpace(value))
		if !ok {
			s.fail(at, "", "the quote of %s is not closed, or something follows it", key)
			continue
		}
		if _, again := places[key]; !again {
			places[key] = len(out)
			out = append(out, Entry[Text]{Name: key})
		}
		out[places[key]] = Entry[Text]{Name: key, At: at, Value: Text{Value: value, At: at}}
		if len(out) > maxKeys {
			s.fail(at, "", "found more than %d variables", maxKeys)
			return nil
		}
	}
	return out
}

// unquote reads the value of a line.
func unquote(text string) (string, bool) {
	switch {
	case strings.HasPrefix(text, "'"):
		value, rest, closed := strings.Cut(text[1:], "'")
		return value, closed && comment(rest)
	case strings.HasPrefix(text, `"`):
		return unescape(text[1:])
	}
	value, _, _ := strings.Cut(text, " #")
	return strings.TrimSpace(value), true
}

func unescape(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), comment(text[i+1:])
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(map[byte]string{'n': "\n", 't': "\t", '"': `"`, '\\': `\`, '$': "$"}[text[i]])
			if !strings.ContainsRune(`nt"\$`, rune(text[i])) {
				b.WriteString(`\` + text[i:i+1])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

func comment(rest string) bool {
	rest = strings.TrimSpace(rest)
	return rest == "" || rest[0] == '#'
}
