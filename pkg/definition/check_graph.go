package definition

import (
	"slices"
	"strings"
)

// needed lists the jobs that a job needs, each once.
func (j *Job) needed() []string {
	var out []string
	for _, t := range j.Needs.Jobs {
		out = append(out, t.Value)
	}
	for _, t := range j.Needs.Artifacts {
		of, _, _ := strings.Cut(t.Value, ".")
		if !slices.Contains(out, of) {
			out = append(out, of)
		}
	}
	return out
}

// checkCycles says each circle of needs once, as the path that closes it. The walk is a loop, since a hostile text
// can make the chain of needs as long as it likes.
func checkCycles(c *checker) {
	const (
		open = 1
		done = 2
	)
	type step struct {
		name string
		next int
	}
	state := map[string]int{}
	for _, e := range c.all() {
		if state[e.Name] != 0 {
			continue
		}
		path := []step{{name: e.Name}}
		state[e.Name] = open
		for len(path) > 0 {
			top := &path[len(path)-1]
			needs := c.jobs[top.name].needed()
			if top.next == len(needs) {
				state[top.name] = done
				path = path[:len(path)-1]
				continue
			}
			next := needs[top.next]
			top.next++
			if c.jobs[next] == nil || state[next] == done {
				continue
			}
			if state[next] == open {
				names := []string{}
				for _, s := range path {
					names = append(names, s.name)
				}
				from := slices.Index(names, next)
				c.fail(c.jobs[top.name].At, "", "jobs need each other in a circle: %s", strings.Join(append(names[from:], next), " → "))
				continue
			}
			state[next] = open
			path = append(path, step{name: next})
		}
	}
}

// outputTypes maps every type of output of the builds to the jobs that make it.
func (def *Definition) outputTypes() map[string][]string {
	out := map[string][]string{}
	for _, e := range def.Builds {
		for _, o := range e.Value.Outputs {
			out[o.Name] = append(out[o.Name], e.Name)
		}
	}
	return out
}

func checkPublish(c *checker) {
	types := c.def.outputTypes()
	valid := keysOf(types)
	for kind, jobs := range types {
		for _, job := range jobs {
			valid = append(valid, job+"."+kind)
		}
	}
	slices.Sort(valid)
	for _, e := range c.def.Publish {
		t := e.Value
		if !jobName.MatchString(e.Name) {
			c.fail(e.At, "", "expected a target's name of letters, digits, - and _, found %q", shorten(printable(e.Name), 60))
		}
		if t.Kind.At.Line == 0 && !slices.Contains(targetKinds(), e.Name) {
			c.fail(e.At, "add kind: KIND", "%q is no kind of target, so target %s needs one of %s",
				shorten(printable(e.Name), 40), e.Name, orList(targetKinds()))
		}
		if len(t.Artifacts) == 0 {
			c.fail(e.At, "for example artifacts: [wheel]", "target %s publishes nothing: artifacts is missing or empty", e.Name)
		}
		for _, a := range t.Artifacts {
			if !slices.Contains(valid, a.Value) {
				c.fail(a.At, nearest(a.Value, valid), "target %s takes %q, which no build makes; there are %s", e.Name, shorten(printable(a.Value), 60), enumerate(valid, 20))
			}
		}
		c.condition(t.If, nil)
		c.condition(t.Unless, nil)
		for _, o := range t.Options {
			c.template(o.Value, nil)
		}
	}
}

// kind is what the target is, by default its name.
func (t *Target) kind(name string) string {
	if t.Kind.Value != "" {
		return t.Kind.Value
	}
	return name
}
