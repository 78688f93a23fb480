package definition

import (
	"path"
	"slices"
	"strings"
)

func checkJob(c *checker, e Entry[Job]) {
	job := &e.Value
	if !jobName.MatchString(e.Name) {
		c.fail(e.At, "", "expected a job's name of letters, digits, - and _, found %q", shorten(printable(e.Name), 60))
	}
	c.matrix(job)
	c.needs(e.Name, job)
	c.outputs(job)
	c.condition(job.If, job.Matrix.keys())
	c.condition(job.Unless, job.Matrix.keys())
	for _, t := range job.texts() {
		c.template(t, job.Matrix.keys())
	}
	c.variables(job.Env)
	c.secrets(job.Secrets)
	if p := job.Pool; p.Value != "" && len(c.def.Pools) > 0 && !slices.Contains(c.def.poolNames(), p.Value) {
		c.fail(p.At, nearest(p.Value, c.def.poolNames()), "unknown pool %q, expected one of %s", shorten(printable(p.Value), 60), enumerate(c.def.poolNames(), 20))
	} else if p.At.Line > 0 && !jobName.MatchString(p.Value) {
		c.fail(p.At, "", "expected a pool's name of letters, digits, - and _, found %q", shorten(printable(p.Value), 60))
	}
	for _, r := range job.Resources {
		if !settingName.MatchString(r.Name) {
			c.fail(r.At, "", "expected a resource's name of letters, digits, - and _, found %q", shorten(printable(r.Name), 60))
		}
	}
}

// texts lists every text of a job that is a template.
func (j *Job) texts() []Text {
	out := []Text{j.Run, j.Prepare, j.Directory, j.Image, j.Reports.JUnit, j.Reports.Results}
	out = append(out, j.Tags...)
	for _, e := range j.Env {
		out = append(out, e.Value)
	}
	for _, e := range j.Outputs {
		out = append(out, e.Value.Path, e.Value.StampIn)
	}
	return out
}

func (c *checker) matrix(job *Job) {
	for _, a := range job.Matrix.Axes {
		c.matrixKey(a.Name, a.At)
		if a.Ref != "" {
			c.reference(a)
		} else if a.Values != nil && len(a.Values) == 0 {
			c.fail(a.At, "", "the list of %s is empty: the job would silently vanish", a.Name)
		}
	}
	for _, row := range job.Matrix.Include {
		for _, e := range row {
			c.matrixKey(e.Name, e.At)
		}
	}
	keys := job.Matrix.keys()
	for _, row := range job.Matrix.Exclude {
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
		c.fail(at, "rename the key", "a matrix key cannot be %q: conditions and templates read something else by it", name)
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

func (c *checker) needs(name string, job *Job) {
	for _, t := range job.Needs.Jobs {
		c.need(name, t, t.Value)
	}
	for _, t := range job.Needs.Artifacts {
		of, kind, dotted := strings.Cut(t.Value, ".")
		if !dotted {
			c.fail(t.At, "write JOB.TYPE, for example jar.native", "expected an artifact as JOB.TYPE, found %q", shorten(printable(t.Value), 60))
			continue
		}
		if !c.need(name, t, of) {
			continue
		}
		if types := c.jobs[of].Outputs.Names(); !slices.Contains(types, kind) {
			c.fail(t.At, nearest(kind, types), "job %s has no output %q, it has: %s", of, shorten(printable(kind), 60), enumerate(types, 20))
		}
	}
}

func (c *checker) need(name string, at Text, needed string) bool {
	switch _, known := c.jobs[needed]; {
	case !known:
		c.fail(at.At, nearest(needed, keysOf(c.jobs)), "job %s needs %q, which is no job", name, shorten(printable(needed), 60))
		return false
	case !c.test[name] && c.test[needed]:
		c.fail(at.At, "tests run on the candidate, which the builds make", "build %s needs test %s; a build may not need a test", name, needed)
		return false
	}
	return true
}

func (c *checker) outputs(job *Job) {
	for _, e := range job.Outputs {
		if !jobName.MatchString(e.Name) {
			c.fail(e.At, "", "expected an output's type of letters, digits, - and _, found %q", shorten(printable(e.Name), 60))
		}
		if problem := unsafePath(e.Value.Path.Value); problem != "" && e.Value.Path.At.Line > 0 {
			c.fail(e.Value.Path.At, "", "output %s: %s", e.Name, problem)
		}
	}
	texts := []Text{job.Directory, job.Reports.JUnit, job.Reports.Results}
	for _, e := range job.Outputs {
		texts = append(texts, e.Value.StampIn)
	}
	for _, t := range texts {
		if problem := unsafePath(t.Value); problem != "" && t.At.Line > 0 {
			c.fail(t.At, "", "%s", problem)
		}
	}
}

// unsafePath says why a path or glob would not stay below the workspace, or "".
func unsafePath(p string) string {
	switch {
	case p == "":
		return "the path is empty"
	case path.IsAbs(p) || strings.Contains(p, `\`) || strings.Contains(p, "\x00"):
		return "expected a path below the workspace with forward slashes, found " + shorten(printable(p), 60)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "expected a path below the workspace, found .. in " + shorten(printable(p), 60)
	case !strings.Contains(p, openMark) && !validGlob(p):
		return "expected a glob, found " + shorten(printable(p), 60)
	}
	return ""
}
