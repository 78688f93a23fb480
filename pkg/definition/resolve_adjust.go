package definition

// adjusted names a job as an adjustment changed it.
type adjusted struct {
	from *Job
	by   *Adjustment
}

// adjust changes the tasks that adjustments are for; where there is none, a whole row is added.
func (r *resolver) adjust(j *job, axes []Axis) {
	made := map[adjusted]*Job{}
	for i := range j.Value.Matrix.Adjustments {
		a := &j.Value.Matrix.Adjustments[i]
		if !r.spend(a.At, len(j.tasks)*globCost(a.With)) {
			return
		}
		found := r.adjustRows(j, a, made)
		switch {
		case found:
		case a.whole(axes):
			r.add(j, a.row(axes))
			r.adjustRows(j, a, made)
		default:
			r.warn("no row of the matrix of %s fits the adjustment with %s", j.Name, rowText(a.With))
		}
	}
}

// globCost is how many steps it takes to compare a row with globs.
func globCost(globs Map[Text]) int {
	cost := 0
	for _, e := range globs {
		cost += alternatives(e.Value.Value)
	}
	return cost
}

func (r *resolver) adjustRows(j *job, a *Adjustment, made map[adjusted]*Job) (found bool) {
	for _, t := range j.tasks {
		if !fits(a.With, t.values) {
			continue
		}
		found = true
		if a.Skip.At.Line > 0 {
			t.skipped = a.reason()
		}
		key := adjusted{t.v, a}
		if made[key] == nil {
			changed := t.v.over(&a.change, &r.merges)
			made[key] = &changed
		}
		t.v = made[key]
	}
	if r.merges < 0 {
		r.fail(a.At, "", "adjustments add more than %d entries to the jobs that they change", maxMerged)
	}
	return found
}

func (a *Adjustment) reason() string {
	if a.Skip.Text == "" {
		return "matrix.adjustments leave it out"
	}
	return "matrix.adjustments leave it out: " + a.Skip.Text
}

// whole reports whether an adjustment says every key of the matrix, and no other.
func (a *Adjustment) whole(axes []Axis) bool {
	for _, axis := range axes {
		if _, given := a.With.Get(axis.Name); !given {
			return false
		}
	}
	return len(a.With) == len(axes)
}

func (a *Adjustment) row(axes []Axis) row {
	out := row{values: textMap(a.With)}
	for _, axis := range axes {
		out.keys = append(out.keys, axis.Name)
	}
	return out
}

// variants lists the measurements of a sequence.
func (r *resolver) variants(name string, s *Sequence) []row {
	if s.At.Line == 0 {
		return nil
	}
	axes := r.axes(&s.Matrix)
	if product(axes, maxVariants)+len(s.Include) > maxVariants {
		r.fail(s.At, "", "the sequence of %s has more than %d measurements", name, maxVariants)
		return nil
	}
	out := r.rows(name, &s.Matrix, axes, func(row, string) {})
	if len(out) == 0 {
		r.fail(s.At, "", "the sequence of %s has no rows: the task would measure nothing", name)
	}
	return out
}
