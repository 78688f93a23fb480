package definition

import (
	"slices"
	"strings"
)

func (c *checker) matrix(m *Matrix) {
	for _, a := range m.Axes {
		c.matrixKey(a.Name, a.At)
		if a.Ref != "" {
			c.reference(a)
		} else if a.Values != nil && len(a.Values) == 0 {
			c.fail(a.At, "", "the list of %s is empty: the job would silently vanish", a.Name)
		}
		c.noReferences(a.Name, a.Values)
	}
	for _, row := range m.Include {
		for _, e := range row {
			c.matrixKey(e.Name, e.At)
		}
	}
	keys := m.keys()
	for _, row := range m.Exclude {
		for _, e := range row {
			if !slices.Contains(keys, e.Name) {
				c.fail(e.At, nearest(e.Name, keys), "exclude names %q, expected one of %s", shorten(printable(e.Name), 60), enumerate(keys, 20))
			}
			if !validGlob(e.Value.Value) {
				c.fail(e.Value.At, "", "expected a glob, found %q", shorten(printable(e.Value.Value), 60))
			}
		}
	}
}

func (c *checker) matrixKey(name string, at Pos) {
	if !identifier.MatchString(name) {
		c.fail(at, "", "expected a matrix key of letters, digits and _, found %q", shorten(printable(name), 60))
	}
	if slices.Contains(reservedNames(), name) {
		c.fail(at, "rename the key", "a matrix key cannot be %q: the name is reserved", name)
	}
}

// reference checks that $name exists.
func (c *checker) reference(a Axis) {
	if rest, ok := strings.CutPrefix(a.Ref, "settings."); ok {
		if found, problem, hint := c.def.Settings.lookup(rest); found == nil {
			c.fail(a.At, hint, "%s", problem)
		}
		return
	}
	list, ok := c.def.Definitions.Get(a.Ref)
	switch {
	case !ok:
		c.fail(a.At, nearest(a.Ref, c.def.Definitions.Names()), "unknown list $%s, expected one of definitions: %s",
			shorten(printable(a.Ref), 60), enumerate(c.def.Definitions.Names(), 20))
	case len(*list) == 0:
		c.fail(a.At, "", "the list $%s is empty: the job would silently vanish", a.Ref)
	}
}

// noReferences refuses $name inside a list, where it would be a value like any other.
func (c *checker) noReferences(of string, values []Text) {
	for _, v := range values {
		if name, is := strings.CutPrefix(v.Value, "$"); is && dottedName.FindString(name) == name && name != "" {
			c.fail(v.At, "write "+shorten(printable(of+": "+v.Value), 100)+" in a matrix, or list the values here",
				"%s stands for a whole list, and cannot be inside another", shorten(printable(v.Value), 60))
		}
	}
}

// maxVariants bounds the measurements of one task.
const maxVariants = 1_000

// sequence checks the keys of a sequence: each becomes a variable of the command.
func (c *checker) sequence(job *Job) {
	m := &job.Sequence.Matrix
	c.matrix(m)
	for _, k := range m.keys() {
		if slices.Contains(job.Matrix.keys(), k) {
			c.fail(m.At, "", "%s is a key of the matrix and of the sequence", k)
		}
		if strings.HasPrefix(k, "SLUICE_") {
			c.fail(m.At, "", "variables that begin with SLUICE_ are set by the platform, found %q", k)
		}
	}
}

// adjustments checks the rows that adjustments are for, and what they say like what a job says.
func (c *checker) adjustments(name string, job *Job) {
	keys := job.Matrix.keys()
	for i := range job.Matrix.Adjustments {
		a := &job.Matrix.Adjustments[i]
		for _, e := range a.With {
			if !slices.Contains(keys, e.Name) {
				c.fail(e.At, nearest(e.Name, keys), "an adjustment of %s is for %q, expected one of %s", name, shorten(printable(e.Name), 60), enumerate(keys, 20))
			}
			if !validGlob(e.Value.Value) {
				c.fail(e.Value.At, "", "expected a glob, found %q", shorten(printable(e.Value.Value), 60))
			}
		}
		for _, t := range a.change.texts() {
			c.template(t, keys, sequenceKeys(job))
		}
		c.commands(a.change.commands(), &job.Matrix, "the job")
		c.variables(a.change.Env)
		c.secrets(a.change.Secrets)
		c.tokens(a.change.IDTokens)
		c.pool(&a.change)
		c.outputs(&a.change)
		changed := job.over(&a.change, new(int))
		c.places(name, &changed)
	}
}

func sequenceKeys(job *Job) []string { return job.Sequence.keys() }
