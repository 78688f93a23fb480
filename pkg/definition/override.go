package definition

import (
	"fmt"
	"slices"
	"strings"
)

// clone copies a tree of settings, so that overrides leave the definition as it is.
func (s Setting) clone() Setting {
	keys := make(Map[Setting], len(s.Keys))
	for i, e := range s.Keys {
		keys[i] = Entry[Setting]{Name: e.Name, At: e.At, Value: e.Value.clone()}
	}
	s.Keys = keys
	s.List = slices.Clone(s.List)
	for i := range s.List {
		s.List[i] = s.List[i].clone()
	}
	return s
}

// cause is who gave a setting its value: a preset or one --set of the request; the zero cause is the definition.
type cause struct {
	preset string
	set    int // from 1
	text   string
}

// by notes in a value, and in all that it holds, who gave it.
func (s *Setting) by(c cause) {
	s.cause = c
	for i := range s.Keys {
		s.Keys[i].Value.by(c)
	}
	for i := range s.List {
		s.List[i].by(c)
	}
}

// override puts a value at a path. It never adds a key: what is not there cannot be overridden.
func (s *Setting) override(path string, value Setting, c cause) (problem, hint string) {
	at, problem, hint := s.lookup(path)
	if at == nil {
		return problem, hint
	}
	value = value.clone() // one preset may be applied twice
	value.by(c)
	return at.replace(path, value)
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
		next, problem, hint := s.child(path, step{e.Name, -1})
		if next != nil {
			problem, hint = next.replace(joinPath(path, e.Name), e.Value)
		}
		if problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n
	}
	return out
}

// maxOverrides bounds what presets that extend each other may multiply to.
const maxOverrides = 100_000

// presetSet is one override of a preset, or of one that it extends.
type presetSet struct {
	preset string
	Entry[Setting]
}

// presetSets lists the overrides of a preset in the order in which they are applied: those of the presets that it
// extends stand where extends does. Parse has made sure that there is no circle. The budget counts what was looked at;
// with ok false it was too much.
func (def *Definition) presetSets(name string, sets []presetSet, budget *int) (out []presetSet, ok bool) {
	preset, known := def.presets[name]
	if !known {
		return sets, true
	}
	if *budget -= 1 + len(preset.Set); *budget < 0 {
		return sets, false
	}
	for i := 0; i <= len(preset.Set); i++ {
		if i == preset.before {
			for _, parent := range preset.Extends {
				if sets, ok = def.presetSets(parent.Value, sets, budget); !ok {
					return sets, false
				}
			}
		}
		if i < len(preset.Set) {
			sets = append(sets, presetSet{name, preset.Set[i]})
		}
	}
	return sets, true
}

// presetCycle is the path of presets that extend each other in a circle, or nil.
func (def *Definition) presetCycle(name string, path []string, done map[string]bool) (cycle []string) {
	if i := slices.Index(path, name); i >= 0 {
		return append(slices.Clone(path[i:]), name)
	}
	preset, ok := def.presets[name]
	if !ok || done[name] {
		return nil
	}
	path = append(path, name)
	for _, parent := range preset.Extends {
		if cycle := def.presetCycle(parent.Value, path, done); cycle != nil {
			return cycle
		}
	}
	done[name] = true
	return nil
}

// parseSet reads one "a.b=VALUE" of a request; the value is YAML.
func parseSet(text string) (path string, value Setting, problems Errors) {
	path, raw, found := cutSet(text)
	s := newSource(Flag("--set", text), raw)
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

// cutSet splits at the first = that is not within a bracket of the path.
func cutSet(text string) (path, value string, found bool) {
	quoted := false
	for i, r := range text {
		switch {
		case strings.HasPrefix(text[i:], `["`), strings.HasPrefix(text[i:], `['`):
			quoted = true
		case strings.HasPrefix(text[i:], `"]`), strings.HasPrefix(text[i:], `']`):
			quoted = false
		case r == '=' && !quoted:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

func (c cause) String() string {
	switch {
	case c.preset != "":
		return "preset " + c.preset
	case c.set > 0:
		return fmt.Sprintf("--set %d: %s", c.set, c.text)
	}
	return ""
}
