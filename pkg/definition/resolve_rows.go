package definition

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// row is one combination of the values of a matrix.
type row struct {
	keys   []string
	values map[string]string
}

// expand makes the tasks of every job: the product of the axes, less what exclude removes, plus what include adds, with
// what adjustments change.
func (r *resolver) expand() {
	for _, j := range r.jobs {
		m := &j.Value.Matrix
		switch {
		case j.suite != nil:
			r.take(j)
		case m.At.Line == 0:
			r.add(j, row{})
		default:
			if !r.matrix(j, m) {
				return
			}
		}
	}
}

// matrix makes the tasks of a job with a matrix; with false there are too many.
func (r *resolver) matrix(j *job, m *Matrix) bool {
	axes := r.axes(m)
	if !r.affordable(j, axes) {
		return false
	}
	for _, one := range r.rows(j.Name, m, axes, func(one row, by string) {
		r.skip(taskName(j.Name, one), "matrix.exclude removes "+by)
	}) {
		r.add(j, one)
	}
	r.adjust(j, axes)
	if len(j.tasks) == 0 {
		r.fail(m.At, "", "the matrix of %s has no rows: the job would silently vanish", j.Name)
	}
	return true
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
	s, problem, hint := r.settings.lookup(path)
	if s == nil {
		r.fail(a.At, hint, "%s", problem)
		return nil
	}
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
	m := &j.Value.Matrix
	r.tasks += product(axes, maxTasks) + len(m.Include) + len(m.Adjustments)
	if r.tasks > maxTasks {
		r.fail(m.At, "", "the definition makes more than %d tasks, counted up to job %s", maxTasks, j.Name)
	}
	return r.tasks <= maxTasks
}

// product counts the combinations of axes, up to a little over a limit.
func product(axes []Axis, limit int) int {
	rows := 1
	for _, a := range axes {
		if rows *= len(a.Values); rows > limit {
			return limit + 1
		}
	}
	return rows
}

// rows lists the combinations of a matrix with the last axis turning fastest, less those that exclude removes, of which
// each is told, and then the rows of include.
func (r *resolver) rows(of string, m *Matrix, axes []Axis, excluded func(row, string)) []row {
	var out []row
	used := make([]bool, len(m.Exclude))
	for one, more := firstRow(axes); more && r.spend(m.At, 1+len(used)); more = one.next(axes) {
		made := one.row(axes)
		if at := excludedBy(m.Exclude, made.values); at >= 0 {
			used[at] = true
			excluded(made, rowText(m.Exclude[at]))
			continue
		}
		out = append(out, made)
	}
	for i, u := range used {
		if !u {
			r.warn("matrix.exclude of %s removes nothing by %s", of, rowText(m.Exclude[i]))
		}
	}
	for _, one := range m.Include {
		out = append(out, rowOf(one))
	}
	return out
}

// counter is a combination of axes as the place in each.
type counter []int

func firstRow(axes []Axis) (counter, bool) {
	for _, a := range axes {
		if len(a.Values) == 0 {
			return nil, false
		}
	}
	return make(counter, len(axes)), len(axes) > 0
}

func (c counter) next(axes []Axis) bool {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i]++; c[i] < len(axes[i].Values) {
			return true
		}
		c[i] = 0
	}
	return false
}

func (c counter) row(axes []Axis) row {
	out := row{make([]string, len(axes)), make(map[string]string, len(axes))}
	for i, a := range axes {
		out.keys[i], out.values[a.Name] = a.Name, a.Values[c[i]].Value
	}
	return out
}

func rowOf(given Map[Text]) row { return row{given.Names(), textMap(given)} }

func excludedBy(rows []Map[Text], values map[string]string) int {
	for i, row := range rows {
		if len(row) > 0 && fits(row, values) {
			return i
		}
	}
	return -1
}

// fits reports whether the values of a task match every glob.
func fits(globs Map[Text], values map[string]string) bool {
	for _, e := range globs {
		if ok, _ := doublestar.Match(e.Value.Value, values[e.Name]); !ok {
			return false
		}
	}
	return true
}

func rowText(row Map[Text]) string {
	parts := make([]string, len(row))
	for i, e := range row {
		parts[i] = e.Name + "=" + e.Value.Value
	}
	return strings.Join(parts, ", ")
}

func (r *resolver) add(j *job, one row) {
	j.tasks = append(j.tasks, &task{
		job: j, v: &j.Value, order: one.keys, values: one.values, name: taskName(j.Name, one), number: len(j.tasks),
	})
}

// taskName is a task's name for people: "wheel (3.12, linux-x86_64)".
func taskName(job string, one row) string {
	if len(one.keys) == 0 {
		return job
	}
	parts := make([]string, len(one.keys))
	for i, k := range one.keys {
		parts[i] = one.values[k]
	}
	return job + " (" + strings.Join(parts, ", ") + ")"
}
