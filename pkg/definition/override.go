package definition

import (
	"strings"
)

// clone copies a tree of settings, so that overrides leave the definition as it is.
func (s Setting) clone() Setting {
	keys := make(Map[Setting], len(s.Keys))
	for i, e := range s.Keys {
		keys[i] = Entry[Setting]{Name: e.Name, At: e.At, Value: e.Value.clone()}
	}
	s.Keys = keys
	return s
}

// lookup finds a setting by its dotted path; what is missing, and the names that there are, when there is none.
func (s *Setting) lookup(path string) (found *Setting, missing string, valid []string) {
	at := s
	walked := ""
	for _, name := range strings.Split(path, ".") {
		next, ok := at.Keys.Get(name)
		if !ok {
			return nil, walked + name, prefixed(walked, at.Keys.Names())
		}
		at, walked = next, walked+name+"."
	}
	return at, "", nil
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n
	}
	return out
}

// override puts a value at a path. It never adds a key: what is not there cannot be overridden.
func (s *Setting) override(path string, value Setting) (problem, hint string) {
	at, missing, valid := s.lookup(path)
	if at == nil {
		return "unknown setting " + missing + unknownAmong(valid), nearest(missing, valid)
	}
	return at.replace(path, value)
}

func unknownAmong(valid []string) string {
	if len(valid) == 0 {
		return ": there is nothing below it"
	}
	return ", expected one of " + enumerate(valid, 20)
}

func (s *Setting) replace(path string, value Setting) (problem, hint string) {
	switch {
	case s.Map && !value.Map:
		return path + " is a map, which only a map can override", "name one of its keys: " + enumerate(prefixed(path+".", s.Keys.Names()), 5)
	case !s.Map && value.Map:
		return path + " is not a map; a map would add keys", ""
	case !s.Map:
		*s = value
		return "", ""
	}
	for _, e := range value.Keys {
		if problem, hint = s.override2(path, e); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

// override2 replaces one key of a map, saying paths from the root in problems.
func (s *Setting) override2(path string, e Entry[Setting]) (problem, hint string) {
	next, ok := s.Keys.Get(e.Name)
	if !ok {
		valid := prefixed(path+".", s.Keys.Names())
		return "unknown setting " + path + "." + e.Name + unknownAmong(valid), nearest(path+"."+e.Name, valid)
	}
	return next.replace(path+"."+e.Name, e.Value)
}

// presetOrder lists a preset and everything it extends, parents first; a cycle is told as the path that closes it.
func (def *Definition) presetOrder(name string, path []string, done map[string]bool) (order, cycle []string) {
	for i, p := range path {
		if p == name {
			return nil, append(append([]string(nil), path[i:]...), name)
		}
	}
	preset, ok := def.Presets.Get(name)
	if !ok || done[name] {
		return nil, nil
	}
	path = append(path, name)
	for _, parent := range preset.Extends {
		more, cycle := def.presetOrder(parent.Value, path, done)
		if cycle != nil {
			return nil, cycle
		}
		order = append(order, more...)
	}
	done[name] = true
	return append(order, name), nil
}

// parseSet reads one "a.b=VALUE" of a request; the value is YAML.
func parseSet(text string) (path string, value Setting, problems Errors) {
	path, raw, found := strings.Cut(text, "=")
	s := newSource("--set "+shorten(printable(text), 60), raw)
	if !found || path == "" {
		s.fail(Pos{}, "write --set tests.gpu=2", "expected PATH=VALUE, found %q", shorten(printable(text), 60))
		return path, value, s.problems
	}
	if strings.TrimSpace(raw) == "" {
		return path, Setting{Item: ""}, nil
	}
	body := parseText(s)
	if body == nil {
		return path, value, s.problems
	}
	d := &decoder{source: s}
	d.into(body, &value)
	return path, value, s.problems
}
