package definition

import (
	"path"
	"slices"

	"github.com/sluiceci/sluice/pkg/release"
)

// glob checks a pattern. Patterns of release are path.Match's, all others doublestar's; the former are a subset.
func (c *checker) glob(t Text) {
	if t.Value == "" || !validGlob(t.Value) {
		c.fail(t.At, "", "expected a glob, found %q", shorten(printable(t.Value), 60))
		return
	}
	if _, err := path.Match(t.Value, ""); err != nil {
		c.fail(t.At, "", "expected a glob, found %q", shorten(printable(t.Value), 60))
	}
}

func checkSettings(c *checker) {
	if s := &c.def.Settings; s.At.Line > 0 && !s.Map {
		c.fail(s.At, "", "expected a map of settings")
	}
	c.settingNames(&c.def.Settings)
	checkPresets(c)
	for _, e := range c.def.Definitions {
		if !settingName.MatchString(e.Name) {
			c.fail(e.At, "", "expected a name of letters, digits, - and _, found %q", shorten(printable(e.Name), 60))
		}
	}
}

// checkChanged checks the rules of changed paths.
func checkChanged(c *checker) {
	for _, rule := range c.def.Changed {
		for _, glob := range rule.Paths {
			if glob.Value == "" || !validGlob(glob.Value) {
				c.fail(glob.At, "", "expected a glob, found %q", shorten(printable(glob.Value), 60))
			}
		}
		for _, name := range rule.Jobs {
			if _, known := c.jobs[name.Value]; !known && !c.full() {
				c.fail(name.At, nearest(name.Value, keysOf(c.jobs)), "%q is no job", shorten(printable(name.Value), 60))
			}
		}
	}
}

func (c *checker) settingNames(s *Setting) {
	for i := range s.Keys {
		if name := s.Keys[i].Name; !settingKey.MatchString(name) {
			c.fail(s.Keys[i].At, "", "expected a setting's name of letters, digits, - and _, found %q", shorten(printable(name), 60))
		}
		c.settingNames(&s.Keys[i].Value)
	}
}

func checkPools(c *checker) {
	seen := map[string]bool{}
	for _, p := range c.def.Pools {
		if !jobName.MatchString(p.Name.Value) && p.Name.At.Line > 0 {
			c.fail(p.Name.At, "", "expected a pool's name of letters, digits, - and _, found %q", shorten(printable(p.Name.Value), 60))
		}
		if p.Name.Value == release.FetchPool {
			c.fail(p.Name.At, "choose another name", "pool %s is that of jobs that fetch what they leave", p.Name.Value)
		}
		if seen[p.Name.Value] && len(p.Match) == 0 {
			c.fail(p.At, "", "pool %q is given twice", p.Name.Value)
		}
		seen[p.Name.Value] = true
		c.variables(p.Variables)
	}
}

// poolNames lists the pools of a definition.
func (def *Definition) poolNames() []string {
	out := make([]string, len(def.Pools))
	for i, p := range def.Pools {
		out[i] = p.Name.Value
	}
	return out
}

func checkGate(c *checker) {
	valid := []string{"builds", "tests", "tests.stable"}
	valid = append(valid, prefixed("tests.", c.def.Tests.Names())...)
	valid = append(valid, prefixed("tests.", c.def.suiteNames())...)
	for _, t := range c.def.Gate.Require {
		if !slices.Contains(valid, t.Value) {
			c.fail(t.At, nearest(t.Value, valid), "the gate requires %q, expected one of %s", shorten(printable(t.Value), 60), enumerate(valid, 20))
		}
	}
}
