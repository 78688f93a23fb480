package definition

import (
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

func checkJob(c *checker, e Entry[Job]) {
	job := &e.Value
	if !jobName.MatchString(e.Name) {
		c.fail(e.At, "", "expected a job's name of letters, digits, - and _, found %q", shorten(printable(e.Name), 60))
	}
	c.matrix(&job.Matrix)
	c.sequence(job)
	c.needs(e.Name, job)
	c.places(e.Name, job)
	c.outputs(job)
	c.fetch(e.Name, job)
	c.condition(job.If, job.Matrix.keys())
	c.condition(job.Unless, job.Matrix.keys())
	for _, t := range job.texts() {
		c.template(t, job.Matrix.keys(), sequenceKeys(job))
	}
	c.commands(job.commands(), &job.Matrix, "the job")
	c.adjustments(e.Name, job)
	c.variables(job.Env)
	c.secrets(job.Secrets)
	c.tokens(job.IDTokens)
	if e := job.Environment; e.At.Line > 0 && !slices.Contains(c.def.Environments.Names(), e.Value) {
		c.fail(e.At, nearest(e.Value, c.def.Environments.Names()), "unknown environment %q%s", shorten(printable(e.Value), 60), amongEnvironments(c.def.Environments.Names()))
	}
	c.pool(job)
	for _, r := range job.Resources {
		if !settingName.MatchString(r.Name) {
			c.fail(r.At, "", "expected a resource's name of letters, digits, - and _, found %q", shorten(printable(r.Name), 60))
		}
	}
}

func (c *checker) pool(job *Job) {
	if p := job.Pool; p.Value != "" && len(c.def.Pools) > 0 && !slices.Contains(c.def.poolNames(), p.Value) {
		c.fail(p.At, nearest(p.Value, c.def.poolNames()), "unknown pool %q, expected one of %s", shorten(printable(p.Value), 60), enumerate(c.def.poolNames(), 20))
	} else if p.At.Line > 0 && !jobName.MatchString(p.Value) {
		c.fail(p.At, "", "expected a pool's name of letters, digits, - and _, found %q", shorten(printable(p.Value), 60))
	} else if p.Value == release.FetchPool {
		c.fail(p.At, "write fetch: URL", "pool %s is that of jobs that fetch what they leave", p.Value)
	}
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
	for _, e := range job.Cache {
		texts = append(append(texts, e.Path), e.Files...)
	}
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

func amongEnvironments(names []string) string {
	if len(names) == 0 {
		return ": the definition has no environments"
	}
	return ", expected one of " + enumerate(names, 20)
}
