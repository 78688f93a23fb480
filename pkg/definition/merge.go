package definition

import (
	"fmt"
	"reflect"
)

// add puts what an included file says into a definition. A name that both give is a problem; of settings, what is there
// already wins.
func (def *Definition) add(s *source, part *Definition) {
	to, from := reflect.ValueOf(def).Elem(), reflect.ValueOf(part).Elem()
	for _, k := range keysOfType(to.Type()) {
		a, b := to.Field(k.index), from.Field(k.index)
		switch {
		case k.top || k.name == "include" || b.IsZero():
		case k.name == "settings":
			def.Settings.under(part.Settings)
		case isMap(a.Type()):
			s.join(k.name, a, b)
		default:
			a.Set(reflect.AppendSlice(a, b))
		}
	}
	def.suites = append(def.suites, part.suites...)
}

// join appends the entries of one map to another.
func (s *source) join(what string, a, b reflect.Value) {
	places := make(map[string]Pos, a.Len())
	for i := range a.Len() {
		places[a.Index(i).Field(0).String()] = a.Index(i).Field(1).Interface().(Pos)
	}
	for i := range b.Len() {
		one := b.Index(i)
		name, at := one.Field(0).String(), one.Field(1).Interface().(Pos)
		if first, twice := places[name]; twice {
			s.fail(at, "rename one of them", "%s.%s is given twice, first in %s", what, shorten(printable(name), 60), s.line(first))
			continue
		}
		a.Set(reflect.Append(a, one))
	}
}

// line is a place for people: "ci/jobs.yaml:7".
func (s *source) line(at Pos) string { return fmt.Sprintf("%s:%d", s.fileOf(at), at.Line) }

// under puts another tree under this one: what this one says wins.
func (s *Setting) under(other Setting) {
	if s.At.Line == 0 {
		*s = other
		return
	}
	if !s.Map || !other.Map {
		return
	}
	for _, e := range other.Keys {
		if mine, ok := s.Keys.Get(e.Name); ok {
			mine.under(e.Value)
		} else {
			s.Keys = append(s.Keys, e)
		}
	}
}
