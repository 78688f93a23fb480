package definition

import (
	"encoding/json"
	"strconv"
	"strings"
)

// step is one step of a path of settings: a key of a map, or the index of a list.
type step struct {
	name  string
	index int // of a list; -1 for a key
}

// splitPath reads a path such as `tests.gpu[0]` or `a["b.c"].d`; problem says where it cannot be read.
func splitPath(path string) (steps []step, problem string) {
	rest := path
	for first := true; rest != "" || first; first = false {
		var one step
		var ok bool
		if strings.HasPrefix(rest, "[") {
			one, rest, ok = cutBracket(rest[1:])
		} else {
			if !first && rest[0] == '.' {
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			one, rest, ok = step{rest[:end], -1}, rest[end:], end > 0
		}
		if !ok || len(steps) > maxDepth {
			return nil, `expected a path such as tests.gpu, tests.gpu[0] or a["b.c"], found ` + strconv.Quote(shorten(printable(path), 60))
		}
		steps = append(steps, one)
	}
	return steps, ""
}

// cutBracket reads what follows an opening bracket: an index, or a name in quotes.
func cutBracket(text string) (one step, rest string, ok bool) {
	if text == "" {
		return one, "", false
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		name, rest, found := strings.Cut(text[1:], string(quote)+"]")
		return step{name, -1}, rest, found && name != ""
	}
	digits, rest, found := strings.Cut(text, "]")
	index, err := strconv.Atoi(digits)
	return step{"", index}, rest, found && err == nil && index >= 0 && digits[0] != '+'
}

// joinPath is a path and one more key, in brackets where the key is no plain name.
func joinPath(path, name string) string {
	switch {
	case !settingName.MatchString(name):
		quoted, _ := json.Marshal(name)
		return path + "[" + string(quoted) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

func indexPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// lookup finds a setting by its path, or says what is not there, with the nearest path that is.
func (s *Setting) lookup(path string) (found *Setting, problem, hint string) {
	steps, problem := splitPath(path)
	if problem != "" {
		return nil, problem, ""
	}
	at, walked := s, ""
	for _, one := range steps {
		next, problem, hint := at.child(walked, one)
		if next == nil {
			return nil, problem, hint
		}
		if at, walked = next, joinPath(walked, one.name); one.index >= 0 {
			walked = indexPath(strings.TrimSuffix(walked, `[""]`), one.index)
		}
	}
	return at, "", ""
}

// child takes one step down from the setting at a path.
func (s *Setting) child(walked string, one step) (next *Setting, problem, hint string) {
	if one.index >= 0 {
		switch {
		case s.List == nil:
			return nil, "unknown setting " + indexPath(walked, one.index) + ": " + orRoot(walked) + " is not a list", ""
		case one.index >= len(s.List):
			return nil, "unknown setting " + indexPath(walked, one.index) + ": the list has " + strconv.Itoa(len(s.List)) + " values, counted from 0", ""
		}
		return &s.List[one.index], "", ""
	}
	if next, ok := s.Keys.Get(one.name); ok {
		return next, "", ""
	}
	wrong, valid := joinPath(walked, one.name), make([]string, len(s.Keys))
	for i, e := range s.Keys {
		valid[i] = joinPath(walked, e.Name)
	}
	return nil, "unknown setting " + wrong + unknownAmong(valid), nearest(wrong, valid)
}

func orRoot(path string) string {
	if path == "" {
		return "settings"
	}
	return path
}

func unknownAmong(valid []string) string {
	if len(valid) == 0 {
		return ": there is nothing below it"
	}
	return ", expected one of " + enumerate(valid, 20)
}
