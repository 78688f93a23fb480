package definition

import (
	"reflect"
	"slices"
	"sort"
	"strings"
)

// key is one key of a struct, as its tags say. The decoder, the schema and the reference all read these.
type key struct {
	name     string
	doc      string
	fallback string // the default, for people
	example  string
	required bool
	unless   []string // keys of which any makes this one not required
	top      bool     // it has its place in the definition itself, not in what it includes
	include  string   // of a map of jobs: whether it may include files, "yes" or "no", and so has no job of that name
	index    int
	shape    shape
}

// shape is what the value of a key may be: for people, and as JSON Schema.
type shape struct {
	name   string
	schema schemaNode
	of     reflect.Type // the struct that describes it further, or nil
}

type schemaNode map[string]any

// keysOfType reads the keys of a struct from its tags.
func keysOfType(t reflect.Type) []key {
	var out []key
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("key")
		if name == "" {
			continue
		}
		var unless []string
		if others, some := strings.CutPrefix(f.Tag.Get("required"), "unless "); some {
			unless = strings.Fields(others)
		}
		out = append(out, key{
			name: name, doc: f.Tag.Get("doc"), fallback: f.Tag.Get("default"), example: f.Tag.Get("example"),
			required: f.Tag.Get("required") != "", unless: unless,
			top: f.Tag.Get("part") == "no", include: f.Tag.Get("include"), index: i,
		})
	}
	return out
}

// missing reports whether a required key is not among the entries of a map.
func (k key) missing(found []entry) bool {
	return k.required && !slices.ContainsFunc(found, func(e entry) bool { return e.name == k.name || slices.Contains(k.unless, e.name) })
}

// shapeOf is the shape of an element, or of a struct with keys.
func shapeOf(t reflect.Type) shape {
	if e, ok := reflect.New(t).Interface().(element); ok {
		return e.shape()
	}
	return shape{name: strings.ToLower(t.Name()), schema: schemaNode{"$ref": "#/$defs/" + strings.ToLower(t.Name())}, of: t}
}

func lookup(keys []key, name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

func names(keys []key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

func keysOf[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// enumerate joins at most n names.
func enumerate(names []string, n int) string {
	if len(names) > n {
		return strings.Join(names[:n], ", ") + " …"
	}
	return strings.Join(names, ", ")
}

// nearest is the hint that names the valid name closest to a wrong one, or "".
func nearest(wrong string, valid []string) string {
	if len(wrong) > 100 || len(wrong) < 3 {
		return ""
	}
	best, distance := "", 1+max(1, len(wrong)/3)
	for _, v := range valid {
		if d := edits(strings.ToLower(wrong), strings.ToLower(v), distance); d < distance {
			best, distance = v, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// edits counts the insertions, deletions, replacements and swaps of neighbours that make b of a, up to a limit.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
