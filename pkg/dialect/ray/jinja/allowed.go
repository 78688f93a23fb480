package jinja

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// allowed has the filters and methods that there are; nothing changes them once they are made.
var allowed = sync.OnceValue(func() *exec.Environment {
	return &exec.Environment{Filters: filters(), Methods: methods()}
})

// filters are those whose results are no larger than what they are given.
func filters() *exec.FilterSet {
	out := map[string]exec.FilterFunction{}
	for _, name := range []string{
		"abs", "capitalize", "count", "d", "default", "first", "float", "int", "last", "length", "list", "lower", "max", "min",
		"reverse", "round", "sort", "string", "sum", "title", "tojson", "trim", "unique", "upper",
	} {
		if f, ok := builtins.Filters.Get(name); ok {
			out[name] = f
		}
	}
	return exec.NewFilterSet(out)
}

// methods are those of strings and maps that read; what pads or replaces could make much of little.
func methods() exec.Methods {
	str, dict := map[string]exec.Method[string]{}, map[string]exec.Method[map[string]any]{}
	for _, name := range []string{"endswith", "isdigit", "lower", "lstrip", "rstrip", "split", "startswith", "strip", "title", "upper"} {
		if m, ok := builtins.Methods.Str.Get(name); ok {
			str[name] = m
		}
	}
	if keys, ok := builtins.Methods.Dict.Get("keys"); ok {
		dict["keys"] = keys
	}
	dict["get"], dict["items"] = get, items
	return exec.Methods{
		Str: exec.NewMethodSet(str), Dict: exec.NewMethodSet(dict), Bool: exec.NewMethodSet(map[string]exec.Method[bool]{}),
		Int: exec.NewMethodSet(map[string]exec.Method[int]{}), Float: exec.NewMethodSet(map[string]exec.Method[float64]{}),
		List: exec.NewMethodSet(map[string]exec.Method[[]any]{}),
	}
}

// get is a Python dict's: the value of a key, or a default.
func get(self map[string]any, _ *exec.Value, p *exec.VarArgs) (any, error) {
	if len(p.Args) == 0 || len(p.Args) > 2 {
		return nil, &Error{Message: "get() takes a key and perhaps a default"}
	}
	if v, ok := self[p.Args[0].String()]; ok {
		return v, nil
	}
	if len(p.Args) == 2 {
		return p.Args[1].Interface(), nil
	}
	return nil, nil
}

// items lists a map's keys with their values, by key: the library's own leaves the keys out.
func items(self map[string]any, _ *exec.Value, _ *exec.VarArgs) (any, error) {
	out := []any{}
	for _, key := range slices.Sorted(maps.Keys(self)) {
		out = append(out, []any{key, self[key]})
	}
	return out, nil
}

// size is about how many bytes a value takes when it is written; it stops counting soon after limit.
func size(v any, limit int) int {
	return sizeOf(reflect.ValueOf(v), limit)
}

func sizeOf(v reflect.Value, limit int) int {
	if v.IsValid() && v.CanInterface() {
		if wrapped, ok := v.Interface().(*exec.Value); ok && wrapped != nil {
			return sizeOf(wrapped.Val, limit)
		}
	}
	total := 8
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			total += sizeOf(v.Elem(), limit)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && total <= limit; i++ {
			total += sizeOf(v.Index(i), limit-total)
		}
	case reflect.Map:
		for it := v.MapRange(); total <= limit && it.Next(); {
			total += sizeOf(it.Key(), limit-total) + sizeOf(it.Value(), limit-total)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && total <= limit; i++ {
			total += sizeOf(v.Field(i), limit-total)
		}
	}
	return total
}
