package definition

import "reflect"

// overlay puts what one value says over another: maps are merged name by name, structs key by key, everything else is
// replaced. What is not said, the zero value, changes nothing. The budget counts the entries that are copied; below zero
// nothing more is done.
func overlay(base, over reflect.Value, budget *int) {
	if over.IsZero() || *budget < 0 {
		return
	}
	t := base.Type()
	switch {
	case t.Kind() == reflect.Struct && (len(keysOfType(t)) > 0 || t == reflect.TypeFor[Retries]()):
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				overlay(base.Field(i), over.Field(i), budget)
			}
		}
	case isMap(t) && base.Len() > 0:
		overlayMap(base, over, budget)
	default:
		base.Set(over)
	}
}

// isMap reports whether a type is a Map.
func isMap(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
		return false
	}
	e := t.Elem()
	return e.NumField() == 3 && e.Field(0).Name == "Name" && e.Field(1).Name == "At" && e.Field(2).Name == "Value"
}

func overlayMap(base, over reflect.Value, budget *int) {
	if *budget -= base.Len() + over.Len(); *budget < 0 {
		return
	}
	merged := reflect.MakeSlice(base.Type(), base.Len(), base.Len()+over.Len())
	reflect.Copy(merged, base)
	places := make(map[string]int, base.Len())
	for i := range base.Len() {
		places[base.Index(i).Field(0).String()] = i
	}
	for i := range over.Len() {
		one := over.Index(i)
		if at, there := places[one.Field(0).String()]; there {
			overlay(merged.Index(at).Field(2), one.Field(2), budget)
			merged.Index(at).Field(1).Set(one.Field(1))
		} else {
			merged = reflect.Append(merged, one)
		}
	}
	base.Set(merged)
}

// over is a job with what another says put over it.
func (j Job) over(change *Job, budget *int) Job {
	overlay(reflect.ValueOf(&j).Elem(), reflect.ValueOf(change).Elem(), budget)
	return j
}
