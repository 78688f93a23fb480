package definition

import "strings"

// checker has what the checks of a whole definition share.
type checker struct {
	def  *Definition
	jobs map[string]*Job
	test map[string]bool // names of tests
	*source
	conditions *conditions
	matrixKeys []string // of all jobs
	parameters []string // as templates name them
}

// check notes everything that is wrong with a decoded definition beyond its form.
func check(def *Definition, s *source) {
	c := &checker{def: def, source: s, jobs: map[string]*Job{}, test: map[string]bool{}}
	c.index()
	c.matrixKeys = def.matrixKeys()
	c.parameters = prefixed("change.parameters.", def.parameterNames())
	c.conditions = newConditions(&def.Settings, c.matrixKeys)
	checkTop(c)
	checkTriggers(c)
	for _, e := range def.Definitions {
		c.noReferences(e.Name, e.Value)
	}
	checkSettings(c)
	checkPools(c)
	checkProviders(c)
	checkSuites(c)
	checkChanged(c)
	for _, e := range c.all() {
		if c.full() {
			return
		}
		checkJob(c, e)
	}
	checkCycles(c)
	checkGate(c)
	checkPublish(c)
}

func (c *checker) index() {
	for tests, list := range []Map[Job]{c.def.Builds, c.def.Tests} {
		for i := range list {
			if _, twice := c.jobs[list[i].Name]; twice {
				c.fail(list[i].At, "rename one of them", "job %q is both a build and a test", list[i].Name)
				continue
			}
			c.jobs[list[i].Name] = &list[i].Value
			c.test[list[i].Name] = tests == 1
		}
	}
}

// all lists every job, builds first.
func (c *checker) all() []Entry[Job] {
	return append(append([]Entry[Job](nil), c.def.Builds...), c.def.Tests...)
}

// matrixKeys lists the key of every matrix once, except those that mean something else already.
func (def *Definition) matrixKeys() []string {
	keys := map[string]bool{}
	for _, list := range []Map[Job]{def.Builds, def.Tests} {
		for _, e := range list {
			for _, k := range e.Value.Matrix.keys() {
				keys[k] = identifier.MatchString(k)
			}
		}
	}
	for _, r := range reservedNames() {
		delete(keys, r)
	}
	var out []string
	for _, k := range keysOf(keys) {
		if keys[k] {
			out = append(out, k)
		}
	}
	return out
}

// keys lists the names of the axes, and those that only included rows have.
func (m *Matrix) keys() []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, a := range m.Axes {
		add(a.Name)
	}
	for _, row := range m.Include {
		for _, e := range row {
			add(e.Name)
		}
	}
	return out
}

func checkTop(c *checker) {
	def := c.def
	if v := def.Project; v.At.Line > 0 && !projectName.MatchString(v.Value) {
		c.fail(v.At, "", "expected a project name of letters, digits, dots and dashes, found %q", shorten(printable(v.Value), 60))
	}
	if v := def.Release.Branch; v.At.Line > 0 && v.Value == "" {
		c.fail(v.At, "", "release.branch is empty")
	}
	if def.Release.Approvals.Value < 0 {
		c.fail(def.Release.Approvals.At, "", "expected a number of people from 0, found %d", def.Release.Approvals.Value)
	}
	for _, glob := range append(append([]Text(nil), def.Release.Also...), def.Release.Tags...) {
		c.glob(glob)
	}
	for _, t := range []Trigger{def.Triggers.Push, def.Triggers.PullRequest, def.Triggers.Tag} {
		for _, glob := range append(append([]Text(nil), t.Branches...), t.Tags...) {
			c.glob(glob)
		}
	}
	for _, e := range def.Environments {
		c.variables(e.Value.Vars)
		c.secrets(e.Value.Secrets)
	}
	for _, budget := range []Int{def.RetryBudget, def.Release.RetryBudget} {
		if budget.Value < 0 {
			c.fail(budget.At, "", "expected a number of retries from 0, found %d", budget.Value)
		}
	}
	if len(def.Builds) == 0 && len(def.Tests) == 0 && len(def.suites) == 0 {
		c.fail(c.pos(1, 1), "add builds: {wheel: {run: make wheel, outputs: {wheel: \"dist/*.whl\"}}}", "the definition has no jobs")
	}
}

func (c *checker) variables(vars Map[Text]) {
	for _, e := range vars {
		if !identifier.MatchString(e.Name) {
			c.fail(e.At, "", "expected a variable's name of letters, digits and _, found %q", shorten(printable(e.Name), 60))
		}
		if strings.HasPrefix(e.Name, "SLUICE_") {
			c.fail(e.At, "", "variables that begin with SLUICE_ are set by the platform, found %q", e.Name)
		}
	}
}

func (c *checker) tokens(tokens Map[IDToken]) {
	for _, e := range tokens {
		if !identifier.MatchString(e.Name) {
			c.fail(e.At, "", "expected the name of a variable, of letters, digits and _")
		}
		for _, aud := range e.Value.Aud {
			if aud.Value == "" {
				c.fail(aud.At, "", "expected who is to believe the token, such as a URL")
			}
		}
	}
}

func (c *checker) secrets(names []Text) {
	for _, t := range names {
		if !identifier.MatchString(t.Value) {
			c.fail(t.At, "name the secret; its value never stands in a definition",
				"expected a secret's name of letters, digits and _")
		}
	}
}
