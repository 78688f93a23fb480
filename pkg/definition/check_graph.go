package definition

import (
	"slices"
	"strings"
)

// needed lists the jobs that a job needs, each once.
func (j *Job) needed() []string {
	var out []string
	seen := make(map[string]bool, len(j.Needs.List))
	for i := range j.Needs.List {
		if of, _ := j.Needs.List[i].of(); !seen[of] {
			seen[of] = true
			out = append(out, of)
		}
	}
	return out
}

// cycles walks the needs of jobs. The walk is a loop, since a text can make the chain of needs as long as it likes.
type cycles struct {
	*checker
	state map[string]int // of a job: not seen, on the path, done
	path  []cycleStep
}

type cycleStep struct {
	name  string
	needs []string
	next  int // which of its needs comes next
}

const (
	onPath = 1
	walked = 2
)

// checkCycles says each circle of needs once, as the path that closes it.
func checkCycles(c *checker) {
	w := &cycles{checker: c, state: map[string]int{}}
	for _, e := range c.all() {
		if w.state[e.Name] == 0 {
			w.enter(e.Name)
		}
		for len(w.path) > 0 {
			w.step()
		}
	}
}

func (w *cycles) enter(name string) {
	w.state[name] = onPath
	w.path = append(w.path, cycleStep{name: name, needs: w.jobs[name].needed()})
}

// step follows the next need of the job at the end of the path, or leaves it.
func (w *cycles) step() {
	top := &w.path[len(w.path)-1]
	needs := top.needs
	if top.next == len(needs) {
		w.state[top.name] = walked
		w.path = w.path[:len(w.path)-1]
		return
	}
	next := needs[top.next]
	top.next++
	switch {
	case w.jobs[next] == nil || w.state[next] == walked:
	case w.state[next] == onPath:
		w.tell(top.name, next)
	default:
		w.enter(next)
	}
}

func (w *cycles) tell(last, first string) {
	var names []string
	for _, s := range w.path {
		if len(names) > 0 || s.name == first {
			names = append(names, s.name)
		}
	}
	at := w.jobs[last].At
	for _, n := range w.jobs[last].Needs.List {
		if of, _ := n.of(); of == first {
			at = n.text().At
		}
	}
	w.fail(at, "", "jobs need each other in a circle: %s", strings.Join(append(names, first), " → "))
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
		c.options(e)
		c.condition(t.If, nil)
		c.condition(t.Unless, nil)
		for _, o := range t.Options {
			c.template(o.Value, nil, nil)
		}
	}
}

// options checks what is said of a target against what there is to say of its kind.
func (c *checker) options(e Entry[Target]) {
	kind := e.Value.kind(e.Name)
	table, known := c.def.targets[kind]
	if !known {
		return
	}
	names := make([]string, len(table))
	for i, o := range table {
		names[i] = o.Name
		value, given := e.Value.Options.Get(o.Name)
		switch {
		case !given && o.Required:
			c.fail(e.At, "for example "+o.Name+": $"+strings.ToUpper(o.Name), "target %s of kind %s needs the option %q", e.Name, kind, o.Name)
		case given && o.Secret && !strings.HasPrefix(value.Value, "$"):
			c.fail(value.At, "name the secret: $"+strings.ToUpper(e.Name+"_"+o.Name), "the option %s of target %s is a secret: its value never stands in a definition", o.Name, e.Name)
		}
	}
	for _, o := range e.Value.Options {
		if !slices.Contains(names, o.Name) {
			c.fail(o.At, nearest(o.Name, names), "targets of kind %s have no option %q, expected one of %s", kind, shorten(printable(o.Name), 60), enumerate(names, 20))
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
