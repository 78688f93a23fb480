package definition

import (
	"slices"
	"strings"
)

// maxMerged bounds the entries that templates are copied into jobs with.
const maxMerged = 500_000

// maxSpread bounds the needs that needs of a type alone become.
const maxSpread = 50_000

// extension puts templates under the jobs that extend them.
type extension struct {
	*source
	def    *Definition
	done   map[string]*Job
	budget int
	failed bool
}

// extend makes every job whole, and reports whether that was possible within bounds: templates under it, and needs of a type of artifact spread over the builds that make it.
func (def *Definition) extend(s *source) (bounded bool) {
	x := &extension{source: s, def: def, done: map[string]*Job{}, budget: maxMerged}
	for _, e := range def.Templates {
		x.template(e.Name, nil)
	}
	for _, list := range []Map[Job]{def.Builds, def.Tests} {
		for i := range list {
			if job := &list[i].Value; len(job.Extends) > 0 {
				at := job.At
				*job = x.under(job, nil)
				job.At = at
			}
		}
	}
	if x.budget < 0 {
		s.fail(Pos{}, "", "templates add more than %d entries to the jobs that extend them", maxMerged)
	}
	types, budget := def.outputTypes(), maxSpread
	for _, list := range []Map[Job]{def.Builds, def.Tests} {
		for i := range list {
			list[i].Value.Needs.spread(list[i].Name, types, &budget)
		}
	}
	if budget < 0 {
		s.fail(Pos{}, "name the job: JOB.TYPE", "needs of a type of artifact, whatever makes it, become more than %d needs", maxSpread)
	}
	return budget >= 0 && x.budget >= 0
}

// under is a job with its templates under it; path is the templates on the way to it.
func (x *extension) under(job *Job, path []string) Job {
	var base Job
	for _, name := range job.Extends {
		t := x.template(name.Value, path)
		switch {
		case t == nil && !x.failed:
			x.fail(name.At, nearest(name.Value, x.def.Templates.Names()), "unknown template %q%s", shorten(printable(name.Value), 60), oneOf("templates", x.def.Templates.Names()))
		case t != nil:
			base = base.over(t, &x.budget)
		}
		x.failed = false
	}
	return base.over(job, &x.budget)
}

func oneOf(what string, names []string) string {
	if len(names) == 0 {
		return ": the definition has no " + what
	}
	return ", expected one of " + enumerate(names, 20)
}

// template is a template with those that it extends under it, or nil.
func (x *extension) template(name string, path []string) *Job {
	if known, ok := x.done[name]; ok {
		x.failed = known == nil
		return known
	}
	t, ok := x.def.Templates.Get(name)
	if !ok {
		return nil
	}
	if i := slices.Index(path, name); i >= 0 {
		x.fail(t.At, "", "templates extend each other in a circle: %s", strings.Join(append(slices.Clone(path[i:]), name), " → "))
		for _, one := range path[i:] {
			x.done[one] = nil
		}
		x.failed = true
		return nil
	}
	made := x.under((*Job)(t), append(slices.Clone(path), name))
	if known, said := x.done[name]; said {
		x.failed = known == nil
		return known
	}
	x.done[name] = &made
	return &made
}
