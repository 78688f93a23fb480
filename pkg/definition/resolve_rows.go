package definition

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/release"
)

// expand makes the tasks of every job: the product of the axes, less what exclude removes, plus what include adds.
func (r *resolver) expand() {
	for _, j := range r.jobs {
		m := &j.Value.Matrix
		if m.At.Line == 0 {
			r.add(j, nil, nil)
			continue
		}
		axes := r.axes(m)
		if !r.affordable(j, axes) {
			return
		}
		if len(axes) > 0 {
			r.product(j, axes)
		}
		for _, row := range m.Include {
			r.include(j, row)
		}
		if len(j.tasks) == 0 {
			r.fail(m.At, "", "the matrix of %s has no rows: the job would silently vanish", j.Name)
		}
	}
}

// axes resolves references to lists.
func (r *resolver) axes(m *Matrix) []Axis {
	out := make([]Axis, 0, len(m.Axes))
	for _, a := range m.Axes {
		if rest, ok := strings.CutPrefix(a.Ref, "settings."); ok {
			a.Values = r.settingValues(a, rest)
		} else if a.Ref != "" {
			list, _ := r.def.Definitions.Get(a.Ref)
			a.Values = *list
		}
		out = append(out, a)
	}
	return out
}

// settingValues is a setting as the values of an axis: a list, or one value.
func (r *resolver) settingValues(a Axis, path string) []Text {
	s, _, _ := r.settings.lookup(path)
	list := []Setting{*s}
	if s.List != nil || s.Item == nil && !s.Map {
		list = s.List
	}
	var out []Text
	for _, one := range list {
		if one.Map || one.List != nil {
			r.fail(a.At, "", "settings.%s is not a list of plain values", path)
			return nil
		}
		out = append(out, Text{Value: one.Text, At: a.At})
	}
	if len(out) == 0 {
		r.fail(a.At, "", "settings.%s is empty: the job would silently vanish", path)
	}
	return out
}

// affordable counts the rows before they are made.
func (r *resolver) affordable(j *job, axes []Axis) bool {
	rows := 1
	for _, a := range axes {
		rows *= len(a.Values)
		if rows > maxTasks {
			break
		}
	}
	r.tasks += rows + len(j.Value.Matrix.Include)
	if r.tasks > maxTasks {
		r.fail(j.Value.Matrix.At, "", "the definition makes more than %d tasks, counted up to job %s", maxTasks, j.Name)
	}
	return r.tasks <= maxTasks
}

// product walks the rows with the last axis turning fastest.
func (r *resolver) product(j *job, axes []Axis) {
	keys := make([]string, len(axes))
	for i, a := range axes {
		if len(a.Values) == 0 {
			return
		}
		keys[i] = a.Name
	}
	used := make([]bool, len(j.Value.Matrix.Exclude))
	at := make([]int, len(axes))
	for r.spend(j.Value.Matrix.At, 1+len(used)) {
		values := make(map[string]string, len(axes))
		for i, a := range axes {
			values[a.Name] = a.Values[at[i]].Value
		}
		if row := excludedBy(j.Value.Matrix.Exclude, values); row >= 0 {
			used[row] = true
			r.skip(taskName(j.Name, keys, values), "matrix.exclude removes "+rowText(j.Value.Matrix.Exclude[row]))
		} else {
			r.add(j, keys, values)
		}
		i := len(axes) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(axes[i].Values) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			break
		}
	}
	for i, u := range used {
		if !u {
			r.warn("matrix.exclude of %s removes nothing by %s", j.Name, rowText(j.Value.Matrix.Exclude[i]))
		}
	}
}

func excludedBy(rows []Map[Text], values map[string]string) int {
	for i, row := range rows {
		all := len(row) > 0
		for _, e := range row {
			ok, _ := doublestar.Match(e.Value.Value, values[e.Name])
			all = all && ok
		}
		if all {
			return i
		}
	}
	return -1
}

func rowText(row Map[Text]) string {
	parts := make([]string, len(row))
	for i, e := range row {
		parts[i] = e.Name + "=" + e.Value.Value
	}
	return strings.Join(parts, ", ")
}

func (r *resolver) include(j *job, row Map[Text]) {
	values := map[string]string{}
	for _, e := range row {
		values[e.Name] = e.Value.Value
	}
	r.add(j, row.Names(), values)
}

func (r *resolver) add(j *job, keys []string, values map[string]string) {
	j.tasks = append(j.tasks, &task{job: j, order: keys, values: values, name: taskName(j.Name, keys, values), number: len(j.tasks)})
}

// taskName is a task's name for people: "wheel (3.12, linux-x86_64)".
func taskName(job string, keys []string, values map[string]string) string {
	if len(keys) == 0 {
		return job
	}
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = values[k]
	}
	return job + " (" + strings.Join(parts, ", ") + ")"
}

const longestID = 80

// identify gives every task an id that says what it is: "wheel-3_12-linux-x86_64". Where that is not enough, because
// two read the same or one is too long, letters derived from the whole row are added to each of them.
func (r *resolver) identify() {
	count := map[string]int{}
	for _, j := range r.jobs {
		for _, t := range j.tasks {
			t.id = release.TaskID(t.readable())
			count[strings.ToLower(string(t.id))]++
		}
	}
	r.ids = make(map[release.TaskID]*task, len(count))
	for _, j := range r.jobs {
		for _, t := range j.tasks {
			if count[strings.ToLower(string(t.id))] > 1 || len(t.id) > longestID {
				t.id = t.id[:min(len(t.id), longestID-9)] + "-" + release.TaskID(release.Derive(t.identity()...)[:8])
			}
			if _, twice := r.ids[t.id]; twice {
				r.fail(j.Value.Matrix.At, "remove one of the rows", "the matrix of %s makes %s twice", j.Name, t.name)
				return
			}
			r.ids[t.id] = t
		}
	}
}

func (t *task) readable() string {
	parts := []string{t.job.Name}
	for _, k := range t.order {
		parts = append(parts, t.values[k])
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.Join(parts, "-"))
}

func (t *task) identity() []string {
	out := []string{"task", t.job.Name}
	for _, k := range t.order {
		out = append(out, k, t.values[k])
	}
	return out
}
