package definition

import (
	"slices"
	"sort"
	"strings"
)

// rowIndex finds the rows of a job that agree with a row of another, by the values of the keys that both have. Rows
// that include adds may have keys of their own, so there is one variant for each set of shared keys.
type rowIndex struct{ variants []*variant }

type variant struct {
	shared []string
	rows   map[string][]*task
}

// agreeing lists the tasks of j whose matrix agrees with t's on every key that both have, but for those that where
// decides.
func (j *job) agreeing(t *task, where []string) (found []*task, steps int) {
	keys := t.order
	if len(where) > 0 {
		keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(where, k) })
	}
	signature := strings.Join(keys, "\x00")
	index, ok := j.rows[signature]
	if !ok {
		index = j.indexFor(keys)
		if j.rows == nil {
			j.rows = map[string]*rowIndex{}
		}
		j.rows[signature] = index
		steps += len(j.tasks)
	}
	for _, v := range index.variants {
		found = append(found, v.rows[joinValues(v.shared, t.values)]...)
	}
	if len(index.variants) > 1 {
		sort.SliceStable(found, func(a, b int) bool { return found[a].number < found[b].number })
	}
	return found, steps + len(index.variants) + len(found)
}

func (j *job) indexFor(keys []string) *rowIndex {
	index, known := &rowIndex{}, map[string]*variant{}
	for _, u := range j.tasks {
		var shared []string
		for _, k := range keys {
			if _, both := u.values[k]; both {
				shared = append(shared, k)
			}
		}
		name := strings.Join(shared, "\x00")
		v, ok := known[name]
		if !ok {
			v = &variant{shared: shared, rows: map[string][]*task{}}
			known[name] = v
			index.variants = append(index.variants, v)
		}
		value := joinValues(shared, u.values)
		v.rows[value] = append(v.rows[value], u)
	}
	return index
}

func joinValues(keys []string, values map[string]string) string {
	switch len(keys) {
	case 0:
		return ""
	case 1:
		return values[keys[0]]
	}
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = values[k]
	}
	return strings.Join(parts, "\x00")
}

// link resolves the needs of every task, jobs that are needed first, so that what is left out takes along what
// cannot be made without it.
func (r *resolver) link() {
	for _, j := range r.inOrder() {
		for _, t := range j.tasks {
			for i := range j.Value.Needs.List {
				r.need(t, &j.Value.Needs.List[i])
			}
			if t.ready != nil {
				r.linkReady(t)
			}
			if r.edges > maxEdges {
				r.fail(j.At, "give both jobs a common matrix key", "the tasks have more than %d needs together", maxEdges)
				return
			}
			t.level = levelOf(t)
		}
	}
}

func (r *resolver) need(t *task, n *Need) {
	of, kind := n.of()
	matches, steps := r.byName[of].agreeing(t, n.whereNames())
	r.edges += steps
	if len(n.Where) > 0 {
		matches = slices.DeleteFunc(slices.Clone(matches), func(u *task) bool { return !fits(n.Where, u.values) })
	}
	optional := n.Optional.Value
	if len(matches) == 0 {
		r.lonely(t, n, of)
		return
	}
	present := slices.DeleteFunc(slices.Clone(matches), func(u *task) bool { return u.skipped != "" })
	if len(present) == 0 {
		if t.skipped == "" && !optional {
			t.skipped = "it needs " + matches[0].name + ", which is left out: " + shorten(matches[0].skipped, 200)
		}
		return
	}
	t.after(present)
	if len(r.byName[of].Value.Outputs) > 0 {
		t.inputs = append(t.inputs, input{job: of, kind: kind, from: present})
	}
}

// lonely says that a need agrees with no task, unless it is optional.
func (r *resolver) lonely(t *task, n *Need, of string) {
	switch {
	case n.Optional.Value:
	case len(n.Where) > 0:
		r.fail(n.At, "", "%s needs %s where %s, but there is no such task", t.name, of, rowText(n.Where))
	default:
		r.fail(n.At, "remove the row by exclude, or make the matrices agree",
			"%s needs %s, but no task of %s agrees with its matrix", t.name, of, of)
	}
}

// after adds tasks to what t needs, each once.
func (t *task) after(tasks []*task) {
	if len(t.needs) == 0 {
		t.needs = slices.Clone(tasks)
		return
	}
	seen := make(map[*task]bool, len(t.needs))
	for _, u := range t.needs {
		seen[u] = true
	}
	for _, u := range tasks {
		if !seen[u] {
			t.needs = append(t.needs, u)
		}
	}
}

// levelOf is how many tasks of its own kind come before a task, one after the other, and itself.
func levelOf(t *task) int {
	level := 1
	for _, u := range t.needs {
		if u.kind() == t.kind() {
			level = max(level, u.level+1)
		}
	}
	return level
}

// inOrder lists the jobs so that what is needed comes first. Parse has made sure that there is no circle.
func (r *resolver) inOrder() []*job {
	var out []*job
	seen := map[*job]bool{}
	var visit func(j *job)
	visit = func(j *job) {
		if seen[j] {
			return
		}
		seen[j] = true
		for _, name := range j.Value.needed() {
			visit(r.byName[name])
		}
		out = append(out, j)
	}
	for _, j := range r.jobs {
		visit(j)
	}
	return out
}
